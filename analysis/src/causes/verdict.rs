//! Why an instruction misses on an object: the shares of its misses by class,
//! and how sure they are.

use crate::causes::share_interval::ShareInterval;
use record::MissClass;
use serde::Serialize;

/// Samples below which nothing is said.
pub const LEAST_SAMPLES: u64 = 30;

/// Why a line was not there: Hill's classes (1987), and two of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MissCause {
    /// It was never in the cache.
    Cold,
    /// Another core wrote it.
    Sharing,
    /// A fully associative cache of the same size would have it.
    Conflict,
    /// What was used since is about as large as the cache, within a tenth.
    Edge,
    /// It would be there in a larger cache.
    Capacity,
    /// Nobody can tell.
    Undetermined,
}

/// What a verdict stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CauseGrade {
    /// Each sampled miss has its class from the model of the cache.
    Exact,
    /// All misses were sampled: distances are counted, of misses alone.
    Measured,
    /// By the lines that were sampled.
    Likely,
    /// Too few samples, or they do not tell.
    Undetermined,
}

/// Samples by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClassCounts {
    pub(crate) cold: u64,
    pub(crate) sharing: u64,
    pub(crate) conflict: u64,
    pub(crate) edge: u64,
    pub(crate) capacity: u64,
    /// Without a class.
    pub(crate) open: u64,
}

/// A class and its share of the misses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassShare {
    /// Which.
    pub class: MissCause,
    /// Of the row's samples.
    #[serde(flatten)]
    pub share: ShareInterval,
}

/// What is said of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissVerdict {
    /// The class that has most; None: two have about as many.
    pub cause: Option<MissCause>,
    /// How sure it is.
    pub grade: CauseGrade,
    /// All classes that there are, most first.
    pub shares: Vec<ClassShare>,
    /// Why nothing is said, and how many samples would do, in a sentence.
    pub open: Option<String>,
}

impl MissCause {
    /// As tables and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            MissCause::Cold => "cold",
            MissCause::Sharing => "sharing",
            MissCause::Conflict => "conflict",
            MissCause::Edge => "edge",
            MissCause::Capacity => "capacity",
            MissCause::Undetermined => "undetermined",
        }
    }
}

impl CauseGrade {
    /// As tables and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            CauseGrade::Exact => "exact",
            CauseGrade::Measured => "measured",
            CauseGrade::Likely => "likely",
            CauseGrade::Undetermined => "undetermined",
        }
    }
}

impl ClassCounts {
    /// Adds a sample; None: whoever told of classes did not know its own.
    pub(crate) fn add(&mut self, class: Option<MissClass>) {
        let count = match class {
            Some(MissClass::Cold) => &mut self.cold,
            Some(MissClass::Sharing) => &mut self.sharing,
            Some(MissClass::Conflict) => &mut self.conflict,
            Some(MissClass::Edge) => &mut self.edge,
            Some(MissClass::Capacity) => &mut self.capacity,
            None => &mut self.open,
        };
        *count = count.saturating_add(1);
    }

    pub(crate) fn total(&self) -> u64 {
        let ClassCounts { cold, sharing, conflict, edge, capacity, open } = *self;
        cold + sharing + conflict + edge + capacity + open
    }

    /// What they say, where they are sure to this grade.
    pub(crate) fn verdict(&self, grade: CauseGrade) -> MissVerdict {
        let total = self.total();
        let count = |class| match class {
            MissCause::Cold => self.cold,
            MissCause::Sharing => self.sharing,
            MissCause::Conflict => self.conflict,
            MissCause::Edge => self.edge,
            MissCause::Capacity => self.capacity,
            MissCause::Undetermined => self.open,
        };
        let all = [
            MissCause::Cold,
            MissCause::Sharing,
            MissCause::Conflict,
            MissCause::Edge,
            MissCause::Capacity,
            MissCause::Undetermined,
        ];
        let there = all.into_iter().filter(|class| count(*class) > 0);
        let share =
            |class| Some(ClassShare { class, share: ShareInterval::new(count(class), total)? });
        let mut shares: Vec<ClassShare> = there.filter_map(share).collect();
        shares.sort_by(|a, b| b.share.share.total_cmp(&a.share.share).then(a.class.cmp(&b.class)));
        if total < LEAST_SAMPLES {
            let open = format!("too few samples: {} more would do", LEAST_SAMPLES - total);
            return MissVerdict::open(shares, open);
        }
        let (Some(most), second) = (shares.first().copied(), shares.get(1).copied()) else {
            return MissVerdict::open(shares, "no samples".to_owned());
        };
        if most.class == MissCause::Undetermined {
            return MissVerdict::open(shares, String::new());
        }
        let is_clear = second.is_none_or(|second| most.share.low > second.share.high);
        let open = (!is_clear).then(|| match most.share.samples_to_decide() {
            Some(samples) if samples > total => {
                format!("two classes are about as large: {} more samples would do", samples - total)
            }
            _ => "two classes are about as large".to_owned(),
        });
        MissVerdict { cause: is_clear.then_some(most.class), grade, shares, open }
    }
}

impl MissVerdict {
    /// Nothing can be said.
    pub(crate) fn open(shares: Vec<ClassShare>, why: String) -> MissVerdict {
        let grade = CauseGrade::Undetermined;
        MissVerdict { cause: None, grade, shares, open: Some(why).filter(|why| !why.is_empty()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_with_most_is_the_cause_where_that_is_clear() {
        let counts = ClassCounts { conflict: 875, capacity: 125, ..ClassCounts::default() };
        let verdict = counts.verdict(CauseGrade::Exact);
        assert_eq!((verdict.cause, verdict.grade), (Some(MissCause::Conflict), CauseGrade::Exact));
        let classes: Vec<_> = verdict.shares.iter().map(|it| it.class).collect();
        assert_eq!(classes, [MissCause::Conflict, MissCause::Capacity]);
        let even = ClassCounts { conflict: 50, capacity: 48, ..ClassCounts::default() };
        let verdict = even.verdict(CauseGrade::Exact);
        assert_eq!(verdict.cause, None);
        assert!(verdict.open.unwrap().contains("about as large"));
    }

    #[test]
    fn few_samples_say_nothing() {
        let few = ClassCounts { conflict: 12, ..ClassCounts::default() };
        let verdict = few.verdict(CauseGrade::Measured);
        assert_eq!((verdict.cause, verdict.grade), (None, CauseGrade::Undetermined));
        assert_eq!(verdict.open.as_deref(), Some("too few samples: 18 more would do"));
        let open = ClassCounts { open: 100, ..ClassCounts::default() };
        assert_eq!(open.verdict(CauseGrade::Likely).grade, CauseGrade::Undetermined);
    }
}
