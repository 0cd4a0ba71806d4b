//! Where accesses got their data from: other nodes' memory, and after which
//! translation.

use crate::share_interval::ratio;
use perfdata::DataSrc;
use perfdata::data_src::{Level, TlbOutcome};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AccessSources {
    /// Samples that say which level served them.
    served: u64,
    /// Of these, served by memory or a cache of another node.
    remote: u64,
    /// Samples that say what became of their translation.
    translated: u64,
    /// Of these, which no TLB had.
    walked: u64,
}

impl AccessSources {
    pub(crate) fn add(&mut self, source: DataSrc) {
        if source.level() != Level::NotAvailable {
            self.served += 1;
            self.remote += u64::from(source.is_of_another_node());
        }
        let tlb = source.tlb();
        if !tlb.is_empty() {
            self.translated += 1;
            // Intel's and AMD's kernels say "missed the second level" of one that
            // a walk gave (pebs_set_tlb_lock(), arch/x86/events/intel/ds.c;
            // perf_ibs_get_tlb_lvl(), arch/x86/events/amd/ibs.c), others the walker.
            let missed = TlbOutcome::MISS | TlbOutcome::L2;
            let is_walked =
                tlb.intersects(TlbOutcome::WALK | TlbOutcome::OS) || tlb.contains(missed);
            self.walked += u64::from(is_walked);
        }
    }

    /// The share of samples whose data came from another node, 0 to 1; None: no
    /// sample says.
    pub(crate) fn remote_share(&self) -> Option<f64> {
        (self.served > 0).then(|| ratio(self.remote, self.served))
    }

    /// The share that waited for a walk of the page tables, 0 to 1; None: no
    /// sample says.
    pub(crate) fn walk_share(&self) -> Option<f64> {
        (self.translated > 0).then(|| ratio(self.walked, self.translated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `mem_lvl_num`, `mem_remote` and `mem_hops`.
    fn source(level: u64, remote: u64, hops: u64) -> DataSrc {
        DataSrc(level << 33 | remote << 37 | hops << 43)
    }

    #[test]
    fn what_is_not_told_counts_for_nothing() {
        let mut sources = AccessSources::default();
        sources.add(DataSrc(0));
        sources.add(DataSrc::NOT_AVAILABLE);
        assert_eq!((sources.remote_share(), sources.walk_share()), (None, None));
    }

    #[test]
    fn another_node_is_remote_and_another_core_is_not() {
        let mut sources = AccessSources::default();
        // The L3, another core's cache, memory here, on the next node and the next socket.
        for it in [source(3, 0, 0), source(11, 0, 1), source(13, 0, 0)] {
            sources.add(it);
        }
        assert_eq!(sources.remote_share(), Some(0.0));
        sources.add(source(13, 1, 2));
        sources.add(source(13, 1, 0));
        // PERF_MEM_LVL_REM_RAM1 of older kernels.
        sources.add(DataSrc(1 << (5 + 8)));
        assert_eq!(sources.remote_share(), Some(0.5));
    }

    #[test]
    fn walks_are_told_by_the_tlb() {
        let mut sources = AccessSources::default();
        let tlb = |bits: u64| DataSrc(bits << 26);
        // L1 hit, one of both hit, L1 miss, L2 miss, walker hit, and none.
        let told = [0b1010, 0b1_1010, 0b1100, 0b1_0100, 0b10_0010, 0];
        told.into_iter().for_each(|bits| sources.add(tlb(bits)));
        assert_eq!(sources.walk_share(), Some(2.0 / 5.0));
    }
}
