//! What lies where in the maps, in words of 64 bits: crates/recorder/kernel/layout.h.

use super::{InKernel, SiteTables};

/// perf's numbers of the registers of a slot, in its order.
pub(crate) const REGISTERS: [u32; 17] = [0, 1, 2, 3, 4, 5, 6, 7, 9, 16, 17, 18, 19, 20, 21, 22, 23];

/// `struct slot`.
pub(super) mod slot {
    use super::REGISTERS;

    pub(in crate::in_kernel) const EPOCH: usize = 0;
    pub(in crate::in_kernel) const IP: usize = 1;
    pub(in crate::in_kernel) const WHO: usize = 2;
    pub(in crate::in_kernel) const COUNT: usize = 4;
    pub(in crate::in_kernel) const PERIOD: usize = 5;
    pub(in crate::in_kernel) const FIRST: usize = 6;
    pub(in crate::in_kernel) const LAST: usize = 7;
    pub(in crate::in_kernel) const LOWEST: usize = 8;
    pub(in crate::in_kernel) const HIGHEST: usize = 9;
    pub(in crate::in_kernel) const PROCESS: usize = 10;
    pub(in crate::in_kernel) const ADDRESS: usize = 12;
    pub(in crate::in_kernel) const BITS: usize = 14;
    pub(in crate::in_kernel) const TAKEN: usize = BITS + 2 * REGISTERS.len() + 1;
    pub(in crate::in_kernel) const WORDS: usize =
        TAKEN + perfdata::aggregate::RESERVOIR * taken::WORDS;

    /// `struct taken`.
    pub(in crate::in_kernel) mod taken {
        pub(in crate::in_kernel) const TIME: usize = 0;
        pub(in crate::in_kernel) const TASK: usize = 1;
        pub(in crate::in_kernel) const ADDRESS: usize = 2;
        pub(in crate::in_kernel) const PERIOD: usize = 3;
        pub(in crate::in_kernel) const WEIGHT: usize = 4;
        pub(in crate::in_kernel) const DATA_SRC: usize = 5;
        pub(in crate::in_kernel) const REGISTERS: usize = 6;
        pub(in crate::in_kernel) const WORDS: usize = REGISTERS + super::REGISTERS.len();
    }
}

/// `struct cpu`.
pub(super) mod cpu {
    pub(in crate::in_kernel) const BUSY: usize = 0;
    pub(in crate::in_kernel) const ROW: usize = 1;
    pub(in crate::in_kernel) const RANDOM: usize = 2;
    /// Hits of a tracepoint, sampled or not.
    #[cfg(test)]
    pub(in crate::in_kernel) const HITS: usize = 4;
    pub(in crate::in_kernel) const COUNTS: usize = 8;
    /// `struct counts`: epoch, hits seen, slots used, hits by reason.
    pub(in crate::in_kernel) const COUNTS_WORDS: usize = 16;
    pub(in crate::in_kernel) const SEEN: usize = 1;
    pub(in crate::in_kernel) const USED: usize = 2;
    pub(in crate::in_kernel) const COUNTS_REASON: usize = 3;
    pub(in crate::in_kernel) const WORDS: usize = COUNTS + 2 * COUNTS_WORDS;
    /// The row of a CPU without tables.
    pub(in crate::in_kernel) const NO_ROW: u64 = u64::MAX;
}

/// `struct control`.
pub(super) mod control {
    pub(in crate::in_kernel) const EPOCH: usize = 0;
    pub(in crate::in_kernel) const SLOTS: usize = 1;
    pub(in crate::in_kernel) const ROWS: usize = 2;
    pub(in crate::in_kernel) const CPUS: usize = 3;
    /// Not 0: hits of tracepoints do not count.
    pub(in crate::in_kernel) const HALTED: usize = 4;
    pub(in crate::in_kernel) const WORDS: usize = 5;
}

/// Words of `struct stride`.
pub(super) const STRIDES: usize = 65;

/// `struct chain`.
pub(super) mod chain {
    pub(in crate::in_kernel) const KERNEL: usize = 0;
    pub(in crate::in_kernel) const USER: usize = 1;
    pub(in crate::in_kernel) const FRAMES: usize = 2;
    pub(in crate::in_kernel) const WORDS: usize = FRAMES + 127;
}

/// Words of `struct gathered`.
const GATHERED: usize = 4 + 2 * 127;

/// `enum why`, as the ledger calls them; of the last ones, what was asked for.
pub(super) const NO_ROOM: &str = "no_room";
pub(super) const SCRUBBED: &str = "scrubbed";
pub(super) const REASONS: [&str; 11] = [
    NO_ROOM, SCRUBBED, "pid", "tid", "cgroup", "comm", "ip", "address", "weight", "data_src",
    "one_in",
];

/// Bytes that all tables take where nobody says how large they are to be.
const DEFAULT_TABLE_BYTES: usize = 256 << 20;
/// Sites that are left to each CPU, however many there are.
const MIN_SITES: usize = 512;

/// Sites of a table on a machine of so many CPUs, a power of two.
pub(super) fn fitting_sites(cpus: usize, callers: bool) -> u32 {
    let site = 2 * 8 * (slot::WORDS + if callers { chain::WORDS } else { 0 });
    let fitting = (DEFAULT_TABLE_BYTES / site / cpus.max(1)).max(MIN_SITES);
    let power =
        u32::try_from(fitting).map_or(SiteTables::DEFAULT_SITES, |sites| 1 << sites.ilog2());
    power.min(SiteTables::DEFAULT_SITES)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableSizes {
    /// Slots of one table; 0 slots have a map of one.
    pub(super) slots: u32,
    /// CPUs that have tables.
    pub(super) rows: u32,
    /// CPUs that the programs can find: the highest number plus one.
    pub(super) cpus: u32,
    pub(super) strides: bool,
    pub(super) callers: bool,
}

impl TableSizes {
    /// For `rows` CPUs whose numbers are below `cpus`.
    pub(super) fn of(in_kernel: &InKernel, rows: u32, cpus: u32) -> TableSizes {
        let tables = in_kernel.tables();
        TableSizes {
            slots: tables.map_or(0, |tables| tables.sites),
            rows,
            cpus,
            strides: tables.is_some_and(|tables| tables.strides),
            callers: tables.is_some_and(|tables| tables.callers),
        }
    }

    /// All slots: two tables a row.
    pub(super) fn all_slots(self) -> u64 {
        u64::from(self.slots) * 2 * u64::from(self.rows)
    }

    /// Bytes of all maps.
    pub(super) fn bytes(self) -> u64 {
        let pages = |values: u64, words: usize| {
            (values.max(1) * 8).saturating_mul(words as u64).next_multiple_of(4096)
        };
        let strides = if self.strides { self.all_slots() } else { 1 };
        let (chains, gathering) =
            if self.callers { (self.all_slots(), self.cpus.into()) } else { (1, 1) };
        pages(self.all_slots(), slot::WORDS)
            .saturating_add(pages(strides, STRIDES))
            .saturating_add(pages(chains, chain::WORDS))
            .saturating_add(pages(gathering, GATHERED))
            .saturating_add(pages(self.cpus.into(), cpu::WORDS))
            .saturating_add(pages(1, control::WORDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cpus_have_smaller_tables() {
        let sites =
            |callers| [0, 1, 28, 30, 64, 128, 1024].map(|cpus| fitting_sites(cpus, callers));
        assert_eq!(sites(false), [4096, 4096, 4096, 2048, 1024, 512, 512]);
        assert_eq!(sites(true), [4096, 4096, 2048, 2048, 512, 512, 512]);
    }
}
