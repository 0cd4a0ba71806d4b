//! How much more counts of repeated runs vary than chance has them.

use super::normal::student_deviation;

/// Samples, and over how much they were taken: of both sides in one unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RateCount {
    /// Samples; no whole number where they weigh differently.
    pub(crate) count: f64,
    /// Above 0.
    pub(crate) exposure: f64,
}

impl RateCount {
    pub(crate) fn rate(self) -> f64 {
        self.count / self.exposure
    }

    pub(crate) fn join(self, other: RateCount) -> RateCount {
        RateCount { count: self.count + other.count, exposure: self.exposure + other.exposure }
    }
}

/// By how much the variance of counts exceeds that of chance alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dispersion {
    /// Variance over mean; 1: chance alone.
    pub(crate) factor: f64,
    /// Degrees of freedom of that estimate; infinite where nothing was estimated.
    pub(crate) freedom: f64,
}

impl Dispersion {
    const CHANCE: Dispersion = Dispersion { factor: 1.0, freedom: f64::INFINITY };

    /// Of one row among others: chance, what it varies by itself, or what all of them together do,
    /// whichever makes its interval widest. Runs vary by more of a row that has many samples
    /// than of one that has few, so that neither does alone. What a row varies by
    /// is known from its few runs only, what all do from many: each has its own degrees of
    /// freedom.
    pub(crate) fn of_row(own: PearsonSum, all: PearsonSum) -> Dispersion {
        let estimates = [own, all].into_iter().filter_map(PearsonSum::dispersion);
        let wider = |one: Dispersion, other: Dispersion| {
            if other.width() > one.width() { other } else { one }
        };
        estimates.fold(Dispersion::CHANCE, wider)
    }

    /// Of intervals of 95 %, as a multiple of the standard error of chance.
    fn width(self) -> f64 {
        self.factor.sqrt() * student_deviation(0.05, self.freedom)
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
