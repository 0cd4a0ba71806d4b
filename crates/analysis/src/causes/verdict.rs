//! Why an instruction misses on an object: the shares of its misses by class,
//! and how sure they are.

use crate::share_interval::ShareInterval;
use perfdata::MissClass;
use serde::{Serialize, Serializer};

/// Samples below which nothing is said.
pub const LEAST_SAMPLES: u64 = 30;

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
    /// Which; None: nobody can tell, in JSON `undetermined`.
    #[serde(serialize_with = "as_word")]
    pub class: Option<MissClass>,
    /// Of the row's samples.
    #[serde(flatten)]
    pub share: ShareInterval,
}

/// What is said of a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MissVerdict {
    /// The class that has most; None: two have about as many.
    #[serde(serialize_with = "as_word_or_null")]
    pub cause: Option<MissClass>,
    /// How sure it is.
    pub grade: CauseGrade,
    /// All classes that there are, most first.
    pub shares: Vec<ClassShare>,
    /// Why nothing is said, and how many samples would do, in a sentence.
    pub open: Option<String>,
}

impl ClassShare {
    /// The class, as tables and JSON have it.
    pub fn name(&self) -> &'static str {
        self.class.map_or("undetermined", MissClass::name)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn as_word<S: Serializer>(class: &Option<MissClass>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.map_or("undetermined", MissClass::name))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn as_word_or_null<S: Serializer>(
    class: &Option<MissClass>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    class.map(MissClass::name).serialize(serializer)
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

/// Samples by class that stand for different numbers of misses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct WeightedClasses {
    counts: ClassCounts,
    weights: ClassCounts,
    /// The sum of the squares of weights.
    squares: f64,
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, not negative and at most the number of samples"
)]
impl WeightedClasses {
    /// Adds a sample that stands for so many misses.
    pub(crate) fn add(&mut self, class: Option<MissClass>, weight: u64) {
        self.counts.add(class, 1);
        self.weights.add(class, weight);
        self.squares += (weight as f64).powi(2);
    }

    /// Samples without a class.
    pub(crate) fn open(&self) -> u64 {
        self.counts.open
    }

    /// As many samples of equal weight as say as much, in the shares that weights have: these
    /// samples themselves where their weights are equal.
    pub(crate) fn effective(&self) -> ClassCounts {
        let (samples, sum) = (self.counts.total() as f64, self.weights.total() as f64);
        let effective = sum * sum / self.squares;
        if self.squares <= 0.0 || effective >= samples * (1.0 - 1e-9) {
            return self.counts;
        }
        let scaled = |weight: u64| (weight as f64 / sum * effective).round() as u64;
        let ClassCounts { cold, sharing, conflict, edge, capacity, open } = self.weights;
        ClassCounts {
            cold: scaled(cold),
            sharing: scaled(sharing),
            conflict: scaled(conflict),
            edge: scaled(edge),
            capacity: scaled(capacity),
            open: scaled(open),
        }
    }
}

impl ClassCounts {
    /// Adds so many; None: whoever told of classes did not know theirs.
    fn add(&mut self, class: Option<MissClass>, more: u64) {
        let count = match class {
            Some(MissClass::Cold) => &mut self.cold,
            Some(MissClass::Sharing) => &mut self.sharing,
            Some(MissClass::Conflict) => &mut self.conflict,
            Some(MissClass::Edge) => &mut self.edge,
            Some(MissClass::Capacity) => &mut self.capacity,
            None => &mut self.open,
        };
        *count = count.saturating_add(more);
    }

    pub(crate) fn total(&self) -> u64 {
        let ClassCounts { cold, sharing, conflict, edge, capacity, open } = *self;
        cold + sharing + conflict + edge + capacity + open
    }

    pub(crate) fn verdict(&self, grade: CauseGrade) -> MissVerdict {
        let total = self.total();
        let count = |class| match class {
            Some(MissClass::Cold) => self.cold,
            Some(MissClass::Sharing) => self.sharing,
            Some(MissClass::Conflict) => self.conflict,
            Some(MissClass::Edge) => self.edge,
            Some(MissClass::Capacity) => self.capacity,
            None => self.open,
        };
        let there =
            MissClass::ALL.map(Some).into_iter().chain([None]).filter(|class| count(*class) > 0);
        let share = |class: Option<MissClass>| {
            let mut share = ShareInterval::new(count(class), total)?;
            if grade == CauseGrade::Likely && class.is_some() {
                // What is proven of a class is the least of it: the open ones may be, too.
                share.high = ShareInterval::new(count(class) + self.open, total)?.high;
            }
            Some(ClassShare { class, share })
        };
        let mut shares: Vec<ClassShare> = there.filter_map(share).collect();
        // They are in the order of classes, which stays among those as large.
        shares.sort_by(|a, b| b.share.share.total_cmp(&a.share.share));
        if total < LEAST_SAMPLES {
            let open =
                format!("too few samples: at least {} more are needed", LEAST_SAMPLES - total);
            return MissVerdict::open(shares, open);
        }
        let Some(most) = shares.first().copied() else {
            return MissVerdict::open(shares, "no samples".to_owned());
        };
        let Some(cause) = most.class else {
            return MissVerdict::open(shares, String::new());
        };
        let mut others = shares.iter().skip(1).filter(|other| other.class.is_some());
        let rival = others.next().map_or(0, |other| count(other.class));
        // Those without a class could be any other's.
        let ahead = count(Some(cause)).saturating_sub(rival.saturating_add(self.open));
        let needed = samples_to_decide(ahead, count(Some(cause)).saturating_add(rival), total);
        let is_clear = shares.len() == 1 || needed.is_some_and(|needed| needed <= total);
        let open = (!is_clear).then(|| match needed {
            Some(needed) if self.open == 0 => {
                format!("two classes are about as large: {} more samples would do", needed - total)
            }
            _ => "two classes are about as large".to_owned(),
        });
        MissVerdict { cause: is_clear.then_some(cause), grade, shares, open }
    }
}

/// Samples that tell that one class is larger than another by so many of `total`, where
/// both are `of`: 99.9 % of draws are that close to the truth, as verdicts are many.
/// None: nothing is ahead.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts of samples are far below 2^53, and the sum is at least 1"
)]
fn samples_to_decide(ahead: u64, of: u64, total: u64) -> Option<u64> {
    const Z: f64 = 3.29;
    let [ahead, of] = [ahead, of].map(|count| count as f64 / total as f64);
    (ahead > 0.0).then(|| (Z * Z * of / (ahead * ahead)).ceil() as u64)
}

impl MissVerdict {
    pub(crate) fn open(shares: Vec<ClassShare>, why: String) -> MissVerdict {
        let grade = CauseGrade::Undetermined;
        MissVerdict { cause: None, grade, shares, open: Some(why).filter(|why| !why.is_empty()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 early misses, each sampled, and 40 samples of 100 later ones.
    #[test]
    fn a_sample_counts_for_the_misses_that_it_stands_for() {
        let mut classes = WeightedClasses::default();
        (0..1000).for_each(|_| classes.add(Some(MissClass::Cold), 1));
        assert_eq!(classes.effective(), ClassCounts { cold: 1000, ..ClassCounts::default() });
        (0..40).for_each(|_| classes.add(Some(MissClass::Capacity), 100));
        // 5,000 misses; 5,000^2 / (1,000 + 40 x 10,000) = 62.3 samples.
        let effective = classes.effective();
        assert_eq!((effective.cold, effective.capacity), (12, 50));
        assert_eq!(effective.verdict(CauseGrade::Exact).cause, Some(MissClass::Capacity));
    }

    #[test]
    fn the_class_with_most_is_the_cause_where_that_is_clear() {
        let counts = ClassCounts { conflict: 875, capacity: 125, ..ClassCounts::default() };
        let verdict = counts.verdict(CauseGrade::Exact);
        assert_eq!((verdict.cause, verdict.grade), (Some(MissClass::Conflict), CauseGrade::Exact));
        let classes: Vec<_> = verdict.shares.iter().map(|it| it.class).collect();
        assert_eq!(classes, [Some(MissClass::Conflict), Some(MissClass::Capacity)]);
        let even = ClassCounts { conflict: 50, capacity: 48, ..ClassCounts::default() };
        let verdict = even.verdict(CauseGrade::Exact);
        assert_eq!(verdict.cause, None);
        assert!(verdict.open.unwrap().contains("about as large"));
    }

    #[test]
    fn a_class_is_ahead_where_a_draw_does_not_make_it_so() {
        let of = |capacity, conflict| {
            let counts = ClassCounts { capacity, conflict, ..ClassCounts::default() };
            counts.verdict(CauseGrade::Exact)
        };
        assert_eq!(of(112, 88).cause, None);
        assert_eq!(
            of(112, 88).open.as_deref(),
            Some("two classes are about as large: 552 more samples would do")
        );
        assert_eq!(of(11_200, 8800).cause, Some(MissClass::Capacity));
        assert_eq!(of(150, 50).cause, Some(MissClass::Capacity));
    }

    #[test]
    fn samples_without_a_class_could_be_of_any() {
        let of = |conflict, open| {
            let counts = ClassCounts { capacity: 460, conflict, open, ..ClassCounts::default() };
            counts.verdict(CauseGrade::Measured).cause
        };
        assert_eq!(of(300, 0), Some(MissClass::Capacity));
        assert_eq!(of(300, 150), None, "conflict could be 450");
        assert_eq!(of(20, 100), Some(MissClass::Capacity));
    }

    #[test]
    fn few_samples_say_nothing() {
        let few = ClassCounts { conflict: 12, ..ClassCounts::default() };
        let verdict = few.verdict(CauseGrade::Measured);
        assert_eq!((verdict.cause, verdict.grade), (None, CauseGrade::Undetermined));
        assert_eq!(verdict.open.as_deref(), Some("too few samples: at least 18 more are needed"));
        let likely = ClassCounts { conflict: 80, open: 20, ..ClassCounts::default() };
        let share = likely.verdict(CauseGrade::Likely).shares[0].share;
        assert!(share.low < 0.8 && share.high > 0.99, "{share:?}");
        let open = ClassCounts { open: 100, ..ClassCounts::default() };
        assert_eq!(open.verdict(CauseGrade::Likely).grade, CauseGrade::Undetermined);
    }
}
