//! The registers as the word that says where an access found its data.

use super::{IbsCaps, IbsErrata, IbsOp, IbsSource};
use crate::DataSrc;

const NO_SNOOP: u64 = 1 << 19;
const MODIFIED: u64 = 1 << 23;
const NO_LOCK: u64 = 1 << 24;
const LOCKED: u64 = 1 << 25;
const NO_TLB: u64 = 1 << 26;
const REMOTE: u64 = 1 << 37;
const OTHER_CORE: u64 = 1 << 43;
const OTHER_NODE: u64 = 2 << 43;
/// `mem_lvl` and `mem_lvl_num` that say nothing.
const NO_LEVEL: u64 = 1 << 5 | 15 << 33;

/// A hit in a level: its deprecated bit and its number.
const fn hit(deprecated: u64, number: u64) -> u64 {
    (2 | deprecated) << 5 | number << 33
}

impl IbsOp {
    /// The word that kernels from 6.1 on put into PERF_SAMPLE_DATA_SRC for
    /// these registers (perf_ibs_parse_data_src(),
    /// arch/x86/events/amd/ibs.c), for recordings that lack it.
    pub fn data_src(&self, quirks: IbsErrata) -> DataSrc {
        let operation = match (self.ld_op(), self.st_op()) {
            (true, _) => 1 << 1,
            (false, true) => 1 << 2,
            (false, false) => return DataSrc::NOT_AVAILABLE,
        };
        let snoop = match self.modified_elsewhere(quirks) {
            Some(true) => MODIFIED,
            Some(false) | None => NO_SNOOP,
        };
        let lock = if self.dc_locked_op() { LOCKED } else { NO_LOCK };
        DataSrc(operation | self.level(quirks) | snoop | lock | self.tlb())
    }

    fn level(&self, quirks: IbsErrata) -> u64 {
        if self.dc_uc_mem_acc() {
            return hit(1 << 13, 8);
        }
        if !self.dc_miss() {
            return hit(1 << 3, 1);
        }
        if !quirks.spoil_source(self) && !self.l2_miss() {
            return hit(1 << 5, 2);
        }
        let is_remote = self.remote_node(quirks) == Some(true);
        let far = if is_remote { REMOTE | OTHER_NODE } else { 0 };
        match self.source(quirks) {
            Some(IbsSource::NearCache) if self.caps.contains(IbsCaps::ZEN4) => hit(1 << 6, 3),
            // The L3, or another cache of the node.
            Some(IbsSource::NearCache) => hit(1 << 6 | 1 << 10, 11) | OTHER_CORE,
            Some(IbsSource::OtherComplex) => hit(1 << 10, 11) | REMOTE | OTHER_CORE,
            Some(IbsSource::FarCache) => hit(1 << 11, 11) | REMOTE | OTHER_NODE,
            Some(IbsSource::Dram) if is_remote => hit(1 << 8, 13) | far,
            Some(IbsSource::Dram) => hit(1 << 7, 13),
            Some(IbsSource::PersistentMemory) => 14 << 33 | far,
            Some(IbsSource::ExtensionMemory) => 9 << 33 | far,
            Some(IbsSource::Io) => hit(1 << 12, 10),
            _ if self.dc_miss_no_mab_alloc() => hit(1 << 4, 12),
            Some(IbsSource::PeerMemory | IbsSource::Reserved(_)) | None => NO_LEVEL,
        }
    }

    fn tlb(&self) -> u64 {
        // Bits: hit 1, miss 2, first level 3, second level 4.
        match (self.lin_addr_valid(), self.dc_l1_tlb_miss(), self.dc_l2_tlb_miss()) {
            (false, ..) => NO_TLB,
            (true, false, _) => (1 << 1 | 1 << 3) << 26,
            (true, true, false) => (1 << 1 | 1 << 4) << 26,
            (true, true, true) => (1 << 2 | 1 << 4) << 26,
        }
    }
}
