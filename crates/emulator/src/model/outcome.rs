//! What came of an access.

use super::{AccessCosts, MissReason, Shape};

/// What happened, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Events(pub u64);
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
    // Of no access: no outcome has them.
    pub const ALLOCATION: Events = Events(1 << 62);
    pub const RELEASE: Events = Events(1 << 63);

    #[inline(always)]
    pub fn meet(self, other: Events) -> bool {
        self.0 & other.0 != 0
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum LineSource {
    #[default]
    First,
    Second,
    Third,
    /// Another thread's cache, which had modified it.
    Modified,
    Memory,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TranslationSource {
    /// No TLB is modelled.
    #[default]
    Unknown,
    First,
    Second,
    Walk,
}

/// What came of an access; of its lines and pages the worst. One word, so
/// that it stays in a register: events in bits 0 to 15, then what served and
/// translated, whether another cache had it, in bits 32 to 43 why levels missed.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessOutcome(u64);

const SERVED: u32 = 16;
const TRANSLATED: u32 = 20;
const ELSEWHERE: u64 = 1 << 24;
const CAUSES: u32 = 32;
/// Bits of the three causes.
const ALL_CAUSES: u64 = 0xfff << CAUSES;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CacheLevel {
    First = 1,
    Second = 2,
    Third = 3,
}

impl AccessOutcome {
    #[inline(always)]
    pub const fn new(
        events: Events,
        served: LineSource,
        translated: TranslationSource,
    ) -> AccessOutcome {
        AccessOutcome(events.0 | (served as u64) << SERVED | (translated as u64) << TRANSLATED)
    }

    #[inline(always)]
    pub fn events(self) -> Events {
        Events(self.0 & 0xffff)
    }

    #[inline(always)]
    pub fn served(self) -> LineSource {
        match self.0 >> SERVED & 15 {
            0 => LineSource::First,
            1 => LineSource::Second,
            2 => LineSource::Third,
            3 => LineSource::Modified,
            _ => LineSource::Memory,
        }
    }

    #[inline(always)]
    pub fn translated(self) -> TranslationSource {
        match self.0 >> TRANSLATED & 15 {
            0 => TranslationSource::Unknown,
            1 => TranslationSource::First,
            2 => TranslationSource::Second,
            _ => TranslationSource::Walk,
        }
    }

    /// Whether another thread's caches had it, unmodified.
    #[inline(always)]
    pub fn elsewhere(self) -> bool {
        self.0 & ELSEWHERE != 0
    }

    /// Whether the first level lacked the line, or anything else happened: if
    /// not, the program has had access to it lately.
    #[inline(always)]
    pub fn is_new(self) -> bool {
        self.events() != Events::NONE || self.served() != LineSource::First
    }

    #[inline(always)]
    #[must_use]
    pub fn and_elsewhere(self, elsewhere: bool) -> AccessOutcome {
        AccessOutcome(self.0 | if elsewhere { ELSEWHERE } else { 0 })
    }

    #[inline(always)]
    #[must_use]
    pub fn with_cause(self, level: CacheLevel, cause: MissReason) -> AccessOutcome {
        AccessOutcome(self.0 | (cause as u64) << (CAUSES + 4 * (level as u32 - 1)))
    }

    /// Why levels missed: four bits each, the first level's lowest, of a
    /// [`MissReason`] each; of several lines that of the first that missed.
    #[inline(always)]
    pub fn causes(self) -> u64 {
        (self.0 & ALL_CAUSES) >> CAUSES
    }

    #[inline(always)]
    #[must_use]
    pub fn and(self, events: Events) -> AccessOutcome {
        AccessOutcome(self.0 | events.0)
    }

    #[inline(always)]
    #[must_use]
    pub fn without(self, events: Events) -> AccessOutcome {
        AccessOutcome(self.0 & !events.0)
    }

    /// Both of what came of a line and of its page, or of two lines.
    #[inline(always)]
    #[must_use]
    pub fn join(self, other: AccessOutcome) -> AccessOutcome {
        if other.0 == 0 {
            return self;
        }
        const PLAIN: u64 = 0xffff | ELSEWHERE;
        let most = |shift: u32| (self.0 & 15 << shift).max(other.0 & 15 << shift);
        let joined = (self.0 | other.0) & PLAIN | most(SERVED) | most(TRANSLATED);
        if (self.0 | other.0) & ALL_CAUSES == 0 {
            return AccessOutcome(joined);
        }
        AccessOutcome(joined | first_causes(self.0, other.0))
    }

    /// Modelled time in cycles.
    #[inline(always)]
    pub fn latency(self, shape: &Shape) -> u64 {
        let AccessCosts { lines, pages, blocked } = &shape.costs;
        let of = |costs: &[u64], shift: u32| {
            usize::try_from(self.0 >> shift & 15).ok().and_then(|at| costs.get(at)).copied()
        };
        let line = of(lines, SERVED).unwrap_or(0);
        let page = of(pages, TRANSLATED).unwrap_or(0);
        line + page + if self.events().meet(Events::BLOCKED) { *blocked } else { 0 }
    }

    /// As `union perf_mem_data_src` has it: operation, level (both forms),
    /// snoop, lock, TLB, blocks.
    pub fn source(self, operation: u64, locked: bool) -> u64 {
        const HIT: u64 = 2;
        let (level, number) = match self.served() {
            LineSource::First => (1 << 3, 1),
            LineSource::Second => (1 << 5, 2),
            LineSource::Third | LineSource::Modified => (1 << 6, 3),
            LineSource::Memory => (1 << 7, 13),
        };
        let snoop = match self.served() {
            LineSource::Modified => 1 << 4,
            _ if self.elsewhere() => 1 << 2,
            LineSource::First | LineSource::Second => 1 << 1,
            LineSource::Third | LineSource::Memory => 1 << 3,
        };
        let page = match self.translated() {
            TranslationSource::Unknown => 1,
            TranslationSource::First => 1 << 1 | 1 << 3,
            TranslationSource::Second => 1 << 1 | 1 << 4,
            TranslationSource::Walk => 1 << 2 | 1 << 4,
        };
        let block = if self.events().meet(Events::BLOCKED) { 2 } else { 1 };
        operation
            | (HIT | level) << 5
            | snoop << 19
            | (1 + u64::from(locked)) << 24
            | page << 26
            | number << 33
            | block << 40
    }
}

/// The causes of two lines: of each level the first one's, where it has one.
#[cold]
fn first_causes(one: u64, other: u64) -> u64 {
    [CAUSES, CAUSES + 4, CAUSES + 8].into_iter().fold(0, |causes, shift| {
        let of = |line: u64| line & 15 << shift;
        causes | if of(one) != 0 { of(one) } else { of(other) }
    })
}

/// `mem_op` of [`AccessOutcome::source`]: reads.
pub const LOADS: u64 = 1 << 1;
pub const STORES: u64 = 1 << 2;

impl core::fmt::Debug for AccessOutcome {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Outcome")
            .field("events", &self.events())
            .field("served", &self.served())
            .field("translated", &self.translated())
            .field("elsewhere", &self.elsewhere())
            .finish()
    }
}
