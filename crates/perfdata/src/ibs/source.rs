//! Where a load's data came from: IBS_OP_DATA2.

use super::access::field;
use super::{IbsCaps, IbsErrata, IbsOp};

/// Data source of a load that missed the second-level cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IbsSource {
    /// Another cache of the core's complex (CCX), or its L3; before Zen 4,
    /// any cache of the node.
    NearCache,
    /// A cache of another complex of the node (Zen 4).
    OtherComplex,
    /// A cache of another node.
    FarCache,
    Dram,
    /// Long-latency memory modules (Zen 4).
    PersistentMemory,
    /// Memory behind an extension such as CXL (Zen 4).
    ExtensionMemory,
    /// Memory of another kind of processor (Zen 4).
    PeerMemory,
    /// Devices, configuration space, the interrupt controller.
    Io,
    /// A code that the manuals reserve.
    Reserved(u8),
}

impl IbsOp {
    /// IBS_OP_DATA2 bits 2:0, with [`IbsCaps::ZEN4`] bits 7:6 above them:
    /// what served the load. None: not told, as for stores, for loads that
    /// hit L1 or L2, for uncacheable memory, and where `quirks` forbid.
    pub fn source(&self, quirks: IbsErrata) -> Option<IbsSource> {
        if !self.has_source() || quirks.spoil_source(self) {
            return None;
        }
        let low = field(self.data2, 0, 3);
        let code = match self.caps.contains(IbsCaps::ZEN4) {
            true => field(self.data2, 6, 2) << 3 | low,
            false => low,
        };
        let [code, ..] = code.to_le_bytes();
        if self.caps.contains(IbsCaps::ZEN4) { extended(code) } else { early(code) }
    }

    /// IBS_OP_DATA2 bit 4: another node's memory; None when the source is
    /// no memory, or not told.
    pub fn remote_node(&self, quirks: IbsErrata) -> Option<bool> {
        let memory = matches!(
            self.source(quirks)?,
            IbsSource::Dram | IbsSource::PersistentMemory | IbsSource::ExtensionMemory
        );
        memory.then(|| field(self.data2, 4, 1) == 1)
    }

    /// IBS_OP_DATA2 bit 5, clear for "modified": another cache held the line
    /// modified. None when no cache served the load, or not told.
    pub fn modified_elsewhere(&self, quirks: IbsErrata) -> Option<bool> {
        let told = match self.source(quirks)? {
            IbsSource::NearCache => true,
            IbsSource::OtherComplex | IbsSource::FarCache => self.caps.contains(IbsCaps::ZEN4),
            _ => false,
        };
        (told && !quirks.cache_state).then(|| field(self.data2, 5, 1) == 0)
    }

    fn has_source(&self) -> bool {
        self.ld_op() && self.dc_miss() && self.l2_miss() && !self.dc_uc_mem_acc()
    }
}

fn early(code: u8) -> Option<IbsSource> {
    Some(match code {
        0 => return None,
        2 => IbsSource::NearCache,
        3 => IbsSource::Dram,
        4 => IbsSource::FarCache,
        7 => IbsSource::Io,
        other => IbsSource::Reserved(other),
    })
}

fn extended(code: u8) -> Option<IbsSource> {
    Some(match code {
        0 => return None,
        1 => IbsSource::NearCache,
        2 => IbsSource::OtherComplex,
        3 => IbsSource::Dram,
        5 => IbsSource::FarCache,
        6 => IbsSource::PersistentMemory,
        7 => IbsSource::Io,
        8 => IbsSource::ExtensionMemory,
        12 => IbsSource::PeerMemory,
        other => IbsSource::Reserved(other),
    })
}
