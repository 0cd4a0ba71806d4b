//! Which samples of an event are of its type: what an event type keeps of
//! what the hardware samples.
//!
//! Where a CPU has no event for a type, more is sampled and the filter keeps
//! the samples that are meant. It travels in the stream as the value of
//! [`SampleFilter::KEY`] in the event's note, so that whoever reads the stream
//! counts the same ones.

mod answers;
mod condition;
mod ibs_answers;
mod source;
mod text;

pub use answers::{FieldAnswers, NoIbsOp};
pub use condition::{Condition, IbsCondition, PrivilegeMode, SourceCondition};

use crate::instruction_class::InstructionClass;

/// A conjunction of clauses; a clause holds when one of its conditions does.
/// All conditions of a clause are of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampleFilter {
    /// A bit a condition. Sorted, each once, 0 at the end: equal filters are
    /// equal values. Classes, which are the dearest to tell, come last.
    clauses: [u64; SampleFilter::CLAUSES],
}

/// Why a text is no filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error(
        "filter term `{term}`: kind `{kind}` is not known here, only class, ibs, mode and src \
         are; a newer hardmeter may know it"
    )]
    Kind { kind: String, term: String },
    #[error("filter term `{kind}:{name}`: `{name}` is not known here, only {known}")]
    Name { kind: String, name: String, known: String },
    #[error("filter `{text}` has more than {limit} terms")]
    TooMany { text: String, limit: usize },
}

/// What a filter says of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is meant.
    Keep,
    /// It is not.
    Drop,
    /// It depends on a condition that cannot be told, the first of them
    /// given.
    Undecided(Condition),
}

impl SampleFilter {
    /// The key of the pair that carries a filter in an event's note.
    pub const KEY: &'static str = "filter";
    /// Terms that a filter has at most.
    pub const CLAUSES: usize = 6;
    /// Keeps everything.
    pub const ALL: SampleFilter = SampleFilter { clauses: [0; SampleFilter::CLAUSES] };

    /// Keeps samples whose instruction is of this class.
    pub const fn class(class: InstructionClass) -> SampleFilter {
        SampleFilter::one(Condition::Class(class).bit())
    }

    /// Keeps samples of one of these IBS conditions; everything if there are
    /// none.
    pub const fn ibs(alternatives: &[IbsCondition]) -> SampleFilter {
        let mut bits = 0;
        let mut index = 0;
        while index < alternatives.len() {
            bits |= Condition::Ibs(alternatives[index]).bit();
            index += 1;
        }
        SampleFilter::one(bits)
    }

    /// Keeps samples of this privilege level.
    pub const fn mode(mode: PrivilegeMode) -> SampleFilter {
        SampleFilter::one(Condition::Mode(mode).bit())
    }

    /// Keeps samples whose data was served so.
    pub const fn source(source: SourceCondition) -> SampleFilter {
        SampleFilter::one(Condition::Source(source).bit())
    }

    /// Keeps what both keep; None when that takes more than
    /// [`SampleFilter::CLAUSES`] terms.
    pub const fn and(self, other: SampleFilter) -> Option<SampleFilter> {
        let mut both = self;
        let mut index = 0;
        while index < other.clauses.len() && other.clauses[index] != 0 {
            both = match both.with(other.clauses[index]) {
                Some(more) => more,
                None => return None,
            };
            index += 1;
        }
        Some(both)
    }

    /// Whether everything is kept.
    pub const fn is_all(&self) -> bool {
        self.clauses[0] == 0
    }

    /// The filter in two: all that is not about classes of instructions, and
    /// all that is. Both together keep what this one keeps.
    pub fn split(&self) -> (SampleFilter, SampleFilter) {
        let (mut fields, mut classes) = (SampleFilter::ALL, SampleFilter::ALL);
        for &clause in self.clauses.iter().take_while(|&&clause| clause != 0) {
            let is_class = clause & condition::CLASSES != 0;
            let part = if is_class { &mut classes } else { &mut fields };
            // A part has no more clauses than the whole.
            *part = part.with(clause).unwrap_or(*part);
        }
        (fields, classes)
    }

    /// Whether some condition of the filter is like this.
    pub fn asks(&self, like: impl Fn(Condition) -> bool) -> bool {
        self.clauses().flatten().any(like)
    }

    /// Whether some sample of this privilege level may be kept.
    pub fn may_keep(&self, mode: PrivilegeMode) -> bool {
        let verdict = self.judge(|condition| match condition {
            Condition::Mode(kept) => Some(kept == mode),
            _ => None,
        });
        verdict != Verdict::Drop
    }

    /// Judges a sample by the answers of `holds`; None: cannot be told. A
    /// sample is undecided only when the answer would change the verdict.
    /// Asks for classes last, and only when all else holds.
    #[inline]
    pub fn judge(&self, mut holds: impl FnMut(Condition) -> Option<bool>) -> Verdict {
        let mut undecided = None;
        for clause in self.clauses() {
            let mut unknown = None;
            let mut met = false;
            for condition in clause {
                match holds(condition) {
                    Some(true) => {
                        met = true;
                        break;
                    }
                    Some(false) => {}
                    None => unknown = unknown.or(Some(condition)),
                }
            }
            match unknown {
                _ if met => {}
                None => return Verdict::Drop,
                unknown => undecided = undecided.or(unknown),
            }
        }
        undecided.map_or(Verdict::Keep, Verdict::Undecided)
    }

    fn clauses(&self) -> impl Iterator<Item = impl Iterator<Item = Condition> + use<>> + use<> {
        self.clauses.into_iter().take_while(|&clause| clause != 0).map(|clause| {
            let mut left = clause;
            std::iter::from_fn(move || {
                let place = usize::try_from(left.trailing_zeros()).ok()?;
                left &= left.wrapping_sub(1);
                condition::all().nth(place)
            })
        })
    }

    const fn one(clause: u64) -> SampleFilter {
        let mut clauses = [0; SampleFilter::CLAUSES];
        clauses[0] = clause;
        SampleFilter { clauses }
    }

    /// One more clause, in its place.
    const fn with(self, clause: u64) -> Option<SampleFilter> {
        let mut clauses = self.clauses;
        let mut carried = clause;
        let mut index = 0;
        while index < clauses.len() && carried != 0 {
            if clauses[index] == carried {
                return Some(SampleFilter { clauses });
            }
            if comes_after(clauses[index], carried) {
                let moved = clauses[index];
                clauses[index] = carried;
                carried = moved;
            }
            index += 1;
        }
        if carried == 0 { Some(SampleFilter { clauses }) } else { None }
    }
}

const fn comes_after(clause: u64, other: u64) -> bool {
    let (is_class, is_other) = (clause & condition::CLASSES != 0, other & condition::CLASSES != 0);
    clause == 0 || is_class && !is_other || is_class == is_other && clause > other
}

#[cfg(test)]
mod tests;
