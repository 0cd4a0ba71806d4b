//! How much more counts of repeated runs vary than chance has them.

use super::rate_ratio::RateCount;

/// By how much the variance of counts exceeds that of chance alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dispersion {
    /// Variance over mean; 1: chance alone.
    pub(crate) factor: f64,
    /// Degrees of freedom of that estimate; infinite where nothing was estimated.
    pub(crate) freedom: f64,
}

impl Dispersion {
    /// Of one row among others: the larger of what it and all of them together
    /// vary by, and never less than chance. Runs vary by more of a row that has many
    /// samples than of one that has few, so that neither does alone; and as what a row
    /// varies by is known from so many runs only, its intervals have their
    /// degrees of freedom.
    pub(crate) fn of_row(own: PearsonSum, all: PearsonSum, runs: f64) -> Dispersion {
        let estimates = [own, all].into_iter().filter_map(PearsonSum::dispersion);
        let factor = estimates.map(|estimate| estimate.factor).fold(1.0, f64::max);
        let freedom = if runs > 2.0 { runs - 2.0 } else { f64::INFINITY };
        Dispersion { factor, freedom }
    }
}

/// Pearson's sum: squares of how far runs are from what their rate has them, over
/// that.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PearsonSum {
    sum: f64,
    freedom: f64,
}

impl PearsonSum {
    /// The runs of one side, which have one rate.
    pub(crate) fn add(&mut self, runs: &[RateCount]) {
        let all = runs.iter().copied().fold(RateCount::default(), RateCount::join);
        if runs.len() < 2 || all.count <= 0.0 {
            return;
        }
        for run in runs {
            let expected = all.rate() * run.exposure;
            self.sum += (run.count - expected).powi(2) / expected;
            self.freedom += 1.0;
        }
        // One went into the rate.
        self.freedom -= 1.0;
    }

    /// Adds another row's.
    pub(crate) fn join(&mut self, other: PearsonSum) {
        self.sum += other.sum;
        self.freedom += other.freedom;
    }

    /// The quasi-Poisson estimate as it is, below 1 perhaps; None: of single runs.
    pub(crate) fn dispersion(self) -> Option<Dispersion> {
        let PearsonSum { sum, freedom } = self;
        (freedom > 0.0).then(|| Dispersion { factor: sum / freedom, freedom })
    }
}
