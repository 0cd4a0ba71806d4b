//! A fully associative LRU cache written in the plainest way: a list of all lines
//! that ever came, the one used last in front.

use std::collections::BTreeSet;

use crate::model::{AccessOutcome, CacheLevel, MissReason, ShadowShape};

const CAUSES: [MissReason; 6] = [
    MissReason::Unknown,
    MissReason::Cold,
    MissReason::Sharing,
    MissReason::Conflict,
    MissReason::Edge,
    MissReason::Capacity,
];

/// All lines of a level by their last use.
pub(super) struct Stack {
    shape: ShadowShape,
    lines: Vec<u64>,
    taken: BTreeSet<u64>,
}

impl Stack {
    pub(super) fn new(shape: ShadowShape) -> Stack {
        Stack { shape, lines: Vec::new(), taken: BTreeSet::new() }
    }

    pub(super) fn touch(&mut self, line: u64) -> MissReason {
        if self.shape.lines == 0 {
            return MissReason::Unknown;
        }
        let depth = self.lines.iter().position(|&here| here == line);
        if let Some(depth) = depth {
            self.lines.remove(depth);
        }
        self.lines.insert(0, line);
        let taken = self.taken.remove(&line);
        let Some(depth) = depth else { return MissReason::Cold };
        let depth = u64::try_from(depth).unwrap();
        match depth {
            _ if taken => MissReason::Sharing,
            _ if depth < self.shape.lines => MissReason::Conflict,
            _ if depth < self.shape.lines + self.shape.more => MissReason::Edge,
            _ => MissReason::Capacity,
        }
    }

    pub(super) fn take(&mut self, line: u64) {
        self.taken.insert(line);
    }
}

/// An outcome with the causes of one line, or of another where that has none.
pub(super) fn with_causes(outcome: AccessOutcome, one: u64, other: u64) -> AccessOutcome {
    [CacheLevel::First, CacheLevel::Second, CacheLevel::Third].into_iter().fold(
        outcome,
        |outcome, level| {
            let of =
                |causes: u64| usize::try_from(causes >> (4 * (level as u32 - 1)) & 15).unwrap();
            let cause = if of(one) == 0 { of(other) } else { of(one) };
            outcome.with_cause(level, CAUSES[cause])
        },
    )
}
