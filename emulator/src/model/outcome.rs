//! What came of an access.

use super::{Costs, Shape};

/// What happened, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(pub u64);

#[allow(missing_docs, reason = "named as the variants of crate::event::Event")]
impl Events {
    pub const NONE: Events = Events(0);
    pub const L1_MISS: Events = Events(1);
    pub const L2_MISS: Events = Events(2);
    pub const L3_MISS: Events = Events(4);
    pub const DTLB_LOAD_MISS: Events = Events(8);
    pub const DTLB_STORE_MISS: Events = Events(16);
    pub const PAGE_WALK: Events = Events(32);
    pub const SPLIT_LOAD: Events = Events(64);
    pub const SPLIT_STORE: Events = Events(128);
    pub const BLOCKED: Events = Events(256);
    pub const HIT_MODIFIED: Events = Events(512);

    /// Whether any is in both.
    #[inline(always)]
    pub fn meet(self, other: Events) -> bool {
        self.0 & other.0 != 0
    }

    #[inline(always)]
    pub(super) fn add(&mut self, other: Events) {
        self.0 |= other.0;
    }
}

/// What had the line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Served {
    /// First level.
    #[default]
    First,
    /// Second level.
    Second,
    /// Third level.
    Third,
    /// Another thread's cache, which had modified it.
    Modified,
    /// Memory.
    Memory,
}

/// What had the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Translated {
    /// No TLB is modelled.
    #[default]
    Unknown,
    /// First-level TLB.
    First,
    /// Second-level TLB.
    Second,
    /// The page tables.
    Walk,
}

/// What came of an access; of its lines and pages the worst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What happened.
    pub events: Events,
    /// What had the line.
    pub served: Served,
    /// Whether another thread's caches had it, unmodified.
    pub elsewhere: bool,
    /// What had the page.
    pub translated: Translated,
}

impl Outcome {
    #[inline(always)]
    pub(super) fn join(&mut self, other: Outcome) {
        self.events.add(other.events);
        self.served = self.served.max(other.served);
        self.elsewhere |= other.elsewhere;
        self.translated = self.translated.max(other.translated);
    }

    /// Modelled time in cycles.
    #[inline(always)]
    pub fn latency(&self, shape: &Shape) -> u64 {
        let Costs { l1, l2, l3, memory, modified, stlb, walk, blocked } = shape.costs;
        let line = match self.served {
            Served::First => l1,
            Served::Second => l2,
            Served::Third => l3,
            Served::Modified => modified,
            Served::Memory => memory,
        };
        let page = match self.translated {
            Translated::Unknown | Translated::First => 0,
            Translated::Second => stlb,
            Translated::Walk => walk,
        };
        line + page + if self.events.meet(Events::BLOCKED) { blocked } else { 0 }
    }

    /// As `union perf_mem_data_src` has it: operation, level (both forms),
    /// snoop, lock, TLB, blocks.
    pub fn source(&self, operation: Operation, locked: bool) -> u64 {
        const HIT: u64 = 2;
        let (level, number) = match self.served {
            Served::First => (1 << 3, 1),
            Served::Second => (1 << 5, 2),
            Served::Third | Served::Modified => (1 << 6, 3),
            Served::Memory => (1 << 7, 13),
        };
        let snoop = match self.served {
            Served::Modified => 1 << 4,
            _ if self.elsewhere => 1 << 2,
            Served::First | Served::Second => 1 << 1,
            Served::Third | Served::Memory => 1 << 3,
        };
        let page = match self.translated {
            Translated::Unknown => 1,
            Translated::First => 1 << 1 | 1 << 3,
            Translated::Second => 1 << 1 | 1 << 4,
            Translated::Walk => 1 << 2 | 1 << 4,
        };
        let block = if self.events.meet(Events::BLOCKED) { 2 } else { 1 };
        operation as u64
            | (HIT | level) << 5
            | snoop << 19
            | (1 + u64::from(locked)) << 24
            | page << 26
            | number << 33
            | block << 40
    }
}

/// What an instruction does at the address, as `mem_op` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Operation {
    /// Reads.
    Load = 1 << 1,
    /// Writes.
    Store = 1 << 2,
    /// Fetches.
    Fetch = 1 << 4,
}
