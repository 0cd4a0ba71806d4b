//! How many samples there are, and what they stand for.

use crate::query::Weighting;
use crate::share_interval::ratio;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) period: u64,
    pub(crate) exact: u64,
    /// Of each sample's period the square.
    pub(crate) squares: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, period: u64, exact: bool) {
        self.count = self.count.saturating_add(1);
        // Periods are the kernel's; 2^64 events need a hostile stream.
        self.period = self.period.saturating_add(period);
        self.exact += u64::from(exact);
        self.squares += square(period);
    }

    /// So many samples that stand for so many events in all, each for as many.
    pub(crate) fn of(count: u64, period: u64) -> Sum {
        let squares = ratio(1, count) * square(period);
        Sum { count, period, exact: 0, squares }
    }

    #[inline]
    pub(crate) fn join(&mut self, other: Sum) {
        self.count = self.count.saturating_add(other.count);
        self.period = self.period.saturating_add(other.period);
        self.exact += other.exact;
        self.squares += other.squares;
    }

    /// Samples, or events that they stand for.
    pub(crate) fn weight(self, weighting: Weighting) -> u64 {
        match weighting {
            Weighting::Count => self.count,
            Weighting::Period => self.period,
        }
    }

    /// Its part of a whole, 0 to 1.
    pub(crate) fn share(self, whole: Sum, weighting: Weighting) -> f64 {
        ratio(self.weight(weighting), whole.weight(weighting))
    }
}

fn square(period: u64) -> f64 {
    ratio(period, 1).powi(2)
}
