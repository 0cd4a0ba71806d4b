//! What registers of IBS answer to a filter's questions.

use super::{IbsCondition, SourceCondition};
use crate::ibs::{IbsErrata, IbsOp, IbsSource};

impl IbsOp {
    /// Whether the condition holds; None: the registers do not tell.
    pub fn holds(&self, condition: IbsCondition, quirks: IbsErrata) -> Option<bool> {
        Some(match condition {
            IbsCondition::LdOp => self.ld_op(),
            IbsCondition::StOp => self.st_op(),
            IbsCondition::DcMiss => self.dc_miss() && !self.dc_uc_mem_acc(),
            IbsCondition::L2Miss if !self.dc_miss() || self.dc_uc_mem_acc() => false,
            IbsCondition::L2Miss if quirks.spoil_source(self) => return None,
            IbsCondition::L2Miss => self.l2_miss(),
            IbsCondition::DcL1TlbMiss => self.dc_l1_tlb_miss(),
            IbsCondition::DcL2TlbMiss => self.dc_l2_tlb_miss(),
            IbsCondition::DcMisAcc => self.dc_mis_acc(),
            IbsCondition::LinAddrValid => self.lin_addr_valid(),
            IbsCondition::BrnRet => self.brn_ret(),
            IbsCondition::BrnMisp => self.brn_misp(),
        })
    }

    /// Whether the access was served so; None: the registers do not tell.
    /// Before Zen 4 the L3 cache and other caches of the node are one source,
    /// which is no L3 miss here.
    pub fn served(&self, condition: SourceCondition, quirks: IbsErrata) -> Option<bool> {
        if !self.ld_op() && !self.st_op() {
            return Some(false);
        }
        let l1_miss = self.dc_miss() && !self.dc_uc_mem_acc();
        let l2_miss = match quirks.spoil_source(self) {
            true if l1_miss => None,
            _ => Some(l1_miss && self.l2_miss()),
        };
        match condition {
            SourceCondition::L1Miss => Some(l1_miss),
            SourceCondition::L2Miss => l2_miss,
            _ if l2_miss? => self.served_from_afar(condition, quirks),
            _ => Some(false),
        }
    }

    /// Of an access that missed the second-level cache.
    fn served_from_afar(&self, condition: SourceCondition, quirks: IbsErrata) -> Option<bool> {
        let source = self.source(quirks)?;
        let cache = match source {
            IbsSource::NearCache | IbsSource::OtherComplex | IbsSource::FarCache => true,
            IbsSource::Reserved(_) => return None,
            _ => false,
        };
        match condition {
            SourceCondition::Hitm if cache => self.modified_elsewhere(quirks),
            SourceCondition::Hitm => Some(false),
            SourceCondition::RemoteDram if source == IbsSource::PeerMemory => Some(true),
            SourceCondition::RemoteDram => Some(self.remote_node(quirks) == Some(true)),
            _ => Some(!matches!(source, IbsSource::NearCache | IbsSource::Io)),
        }
    }
}
