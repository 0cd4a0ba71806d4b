//! A row of both sides: its samples run by run, and what is told of it.

use super::run_counts::{RowSum, RunCounts};
use super::statistics::dispersion::RateCount;
use super::statistics::dispersion::{Dispersion, PearsonSum};
use super::statistics::rate_ratio::{RateRatio, least_likelihood, rate_ratio};
use super::statistics::run_means::means_ratio;
use super::{DiffCount, DiffRow, DiffVerdict};

/// What intervals hold.
pub(super) const LEVEL: f64 = 0.95;
/// Of discoveries, so many are false at most.
pub(super) const FALSE_RATE: f64 = 0.05;

#[derive(Clone, Debug, Default)]
pub(super) struct RowOfSides {
    pub(super) keys: Vec<String>,
    pub(super) was: Option<Vec<String>>,
    /// Of each run of A.
    pub(super) a: Vec<RowSum>,
    pub(super) b: Vec<RowSum>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RunsOfSides<'r> {
    pub(super) a: &'r [RunCounts],
    pub(super) b: &'r [RunCounts],
}

impl RunsOfSides<'_> {
    pub(super) fn are_repeated(self) -> bool {
        self.a.len() + self.b.len() > 2
    }
}

fn whole(sums: &[RowSum]) -> RowSum {
    let mut whole = RowSum::default();
    sums.iter().for_each(|sum| whole.join(*sum));
    whole
}

/// Samples that say that a side has a row where the other has none, each of its runs some.
const LEAST_OF_ONE_SIDE: u64 = 30;

fn is_certain(sums: &[RowSum]) -> bool {
    whole(sums).samples >= LEAST_OF_ONE_SIDE && sums.iter().all(|sum| sum.samples > 0)
}

fn exposure(runs: &[RunCounts]) -> f64 {
    runs.iter().map(|run| run.exposure).sum()
}

fn count(sums: &[RowSum], runs: &[RunCounts]) -> DiffCount {
    let RowSum { samples, events, .. } = whole(sums);
    DiffCount { samples, events, rate: events / exposure(runs) }
}

impl RowOfSides {
    /// Whether B has none of it, and A so many that chance would leave B some.
    pub(super) fn is_only_of_a(&self) -> bool {
        whole(&self.b).samples == 0 && is_certain(&self.a)
    }

    pub(super) fn is_only_of_b(&self) -> bool {
        whole(&self.a).samples == 0 && is_certain(&self.b)
    }

    pub(super) fn join(&mut self, other: &RowOfSides) {
        for (own, others) in [(&mut self.a, &other.a), (&mut self.b, &other.b)] {
            own.iter_mut().zip(others).for_each(|(own, other)| own.join(*other));
        }
    }

    /// Samples and exposure of each run, so that rates are of events.
    ///
    /// Chance is in samples, not in the events that they stand for: so many of these
    /// each take exposure. Where samples weigh differently they are worth as many as have the
    /// same relative variance, the square of the sum over the sum of squares.
    fn rate_counts(&self, of: RunsOfSides<'_>) -> [Vec<RateCount>; 2] {
        let both = {
            let (mut both, b) = (whole(&self.a), whole(&self.b));
            both.join(b);
            both
        };
        let own = both.squares / both.events;
        [(&self.a, of.a), (&self.b, of.b)].map(|(sums, runs)| {
            let pairs = sums.iter().zip(runs);
            let of_run = |(sum, run): (&RowSum, &RunCounts)| {
                let by_period = run.by_period && own.is_finite() && own > 0.0;
                let weight = if by_period { own } else { run.weight };
                // A run without any sample does not say what one would stand for.
                let weight = if weight > 0.0 { weight } else { usual_weight(of) };
                let count = match by_period {
                    true => sum.events / weight,
                    false => super::exposure::float(sum.samples),
                };
                RateCount { count, exposure: run.exposure / weight }
            };
            pairs.map(of_run).collect()
        })
    }

    pub(super) fn pearson(&self, of: RunsOfSides<'_>) -> PearsonSum {
        let mut sum = PearsonSum::default();
        self.rate_counts(of).iter().for_each(|side| sum.add(side));
        sum
    }

    fn sums(&self, of: RunsOfSides<'_>) -> [RateCount; 2] {
        self.rate_counts(of)
            .map(|side| side.into_iter().fold(RateCount::default(), RateCount::join))
    }

    /// The row with its ratio, not judged yet; untested where chance can have it
    /// whatever was counted.
    pub(super) fn compared(&self, of: RunsOfSides<'_>, all: PearsonSum) -> DiffRow {
        let dispersion = Dispersion::of_row(self.pearson(of), all);
        let [a, b] = self.sums(of);
        let can_differ = a.count + b.count > 0.0 && least_likelihood(a, b, dispersion) < FALSE_RATE;
        let ratio = (a.count + b.count > 0.0).then(|| rate_ratio(a, b, dispersion, LEVEL));
        let mut row = self.row(of);
        tell(&mut row, ratio);
        if !can_differ {
            row.p = None;
            row.verdict = DiffVerdict::TooFew;
        }
        row
    }

    /// All of an event that its recorders counted, each run whole.
    pub(super) fn counted(&self, of: RunsOfSides<'_>) -> Option<DiffRow> {
        let rates = |runs: &[RunCounts]| -> Option<Vec<f64>> {
            runs.iter().map(|run| Some(run.counted? / run.exposure)).collect()
        };
        let (a, b) = (rates(of.a)?, rates(of.b)?);
        let mut row = self.row(of);
        for (count, (runs, rates)) in [(&mut row.a, (of.a, &a)), (&mut row.b, (of.b, &b))] {
            count.events = runs.iter().filter_map(|run| run.counted).sum();
            count.rate = rates.iter().sum::<f64>() / runs.iter().map(|_| 1.0).sum::<f64>();
        }
        tell(&mut row, means_ratio(&a, &b, LEVEL));
        Some(row)
    }

    fn row(&self, of: RunsOfSides<'_>) -> DiffRow {
        DiffRow {
            keys: self.keys.clone(),
            was: self.was.clone(),
            verdict: DiffVerdict::Same,
            a: count(&self.a, of.a),
            b: count(&self.b, of.b),
            ratio: None,
            low: None,
            high: None,
            p: None,
            q: None,
        }
    }
}

/// Events that a sample stands for in the runs that have some.
fn usual_weight(of: RunsOfSides<'_>) -> f64 {
    let known = of.a.iter().chain(of.b).map(|run| run.weight).find(|weight| *weight > 0.0);
    known.unwrap_or(1.0)
}

fn tell(row: &mut DiffRow, ratio: Option<RateRatio>) {
    let Some(RateRatio { ratio, low, high, likelihood }) = ratio else { return };
    let finite = |value: f64| value.is_finite().then_some(value);
    (row.ratio, row.low, row.high) = (finite(ratio), finite(low), finite(high));
    row.p = finite(likelihood);
}
