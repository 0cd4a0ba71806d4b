//! Sampled accesses by what they did and whose line they got.

use perfdata::DataSrc;
use perfdata::data_src::{Operation, Snoop};
use serde::Serialize;

/// Samples of all events that were looked at, as their data sources have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AccessTotals {
    /// Those that read memory.
    pub loads: u64,
    /// Others, which write it.
    pub stores: u64,
    /// Those whose access was locked.
    pub locked: u64,
    /// Loads whose line another core of the same node had modified.
    pub hitm_local: u64,
    /// Loads whose line a core of another node had modified.
    pub hitm_remote: u64,
}

impl AccessTotals {
    pub(crate) fn add(&mut self, source: DataSrc) {
        self.locked += u64::from(source.is_locked());
        let operation = source.operation();
        if !operation.contains(Operation::LOAD) {
            self.stores += u64::from(operation.contains(Operation::STORE));
            return;
        }
        self.loads += 1;
        if source.snoop().contains(Snoop::HITM) {
            let count = if source.is_of_another_node() {
                &mut self.hitm_remote
            } else {
                &mut self.hitm_local
            };
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_are_told_apart() {
        // Operation at 0, level at 5, snoop at 19, lock at 24, as perf_event.h has it.
        let (load, store, third, remote) = (2, 4, 1 << 6 << 5, 1 << 11 << 5);
        let (hitm, locked) = (1 << 4 << 19, 2 << 24);
        let mut totals = AccessTotals::default();
        for word in [
            load,
            load | third | hitm,
            load | remote | hitm,
            store,
            store | load,
            store | locked,
            0,
        ] {
            totals.add(DataSrc(word));
        }
        let expected =
            AccessTotals { loads: 4, stores: 2, locked: 1, hitm_local: 1, hitm_remote: 1 };
        assert_eq!(totals, expected);
    }
}
