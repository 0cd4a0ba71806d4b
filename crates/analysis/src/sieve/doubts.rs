//! Why samples could not be judged, each reason once.

use perfdata::sample_filter::{Condition, FieldAnswers, NoIbsOp};
use rustc_hash::FxHashMap;
use std::num::NonZeroU16;

/// A reason, by its number in one [`super::Sieve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Doubt(NonZeroU16);

pub(super) const INEXACT: &str =
    "records whose instruction pointer is not exact: which instruction it was is not known";
pub(super) const NO_INSTRUCTION: &str =
    "code that is no instruction known here (APX, or data among the code)";
pub(super) const NO_ADDRESS: &str = "instructions whose data address cannot be told: the record \
     has none, and its registers do not give it";
pub(super) const NO_RAW: &str = "records without IBS registers";
pub(super) const BAD_RAW: &str = "records whose raw data are no IBS registers";

pub(super) fn untold(condition: Condition) -> &'static str {
    match condition {
        Condition::Class(_) => NO_INSTRUCTION,
        Condition::Ibs(_) => "ops of which this CPU does not tell it (IBS erratum 1293)",
        Condition::Mode(_) => "records that do not say whether the user or the kernel ran",
        Condition::Source(_) => "accesses of which the CPU does not tell what served them",
    }
}

pub(super) fn unanswered(condition: Condition, answers: &FieldAnswers<'_, '_>) -> &'static str {
    match (condition, answers.ibs_op()) {
        (Condition::Ibs(_), Err(NoIbsOp::Absent)) => NO_RAW,
        (Condition::Ibs(_), Err(NoIbsOp::Foreign)) => BAD_RAW,
        _ => untold(condition),
    }
}

#[derive(Debug, Default)]
pub(super) struct Doubts {
    numbers: FxHashMap<String, Doubt>,
    texts: Vec<String>,
}

impl Doubts {
    /// The number of a reason, new or known. Beyond 65,535, which name as
    /// many files, the last is shared.
    pub(super) fn number(&mut self, text: &str) -> Doubt {
        if let Some(doubt) = self.numbers.get(text) {
            return *doubt;
        }
        let number = u16::try_from(self.texts.len() + 1).ok().and_then(NonZeroU16::new);
        let Some(number) = number else { return Doubt(NonZeroU16::MAX) };
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), Doubt(number));
        Doubt(number)
    }

    pub(super) fn text(&self, doubt: Doubt) -> &str {
        self.texts.get(usize::from(doubt.0.get()) - 1).map_or("", String::as_str)
    }
}
