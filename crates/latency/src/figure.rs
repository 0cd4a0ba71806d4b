//! What runs of the same thing say together.

use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
pub struct TimeDistribution {
    pub minimum: f64,
    pub median: f64,
    /// From the lower quartile to the upper one.
    pub spread: f64,
}

impl TimeDistribution {
    /// Of these values; zeros of none.
    #[must_use]
    pub fn of(values: &[f64]) -> TimeDistribution {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |quarters: usize| {
            let rank = (sorted.len().saturating_sub(1) * quarters + 2) / 4;
            sorted.get(rank).copied().unwrap_or(0.0)
        };
        TimeDistribution { minimum: at(0), median: at(2), spread: at(3) - at(1) }
    }

    #[must_use]
    pub fn divided(self, by: f64) -> TimeDistribution {
        TimeDistribution {
            minimum: self.minimum / by,
            median: self.median / by,
            spread: self.spread / by,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimedRun {
    pub(crate) nanoseconds: f64,
    /// Nanoseconds of one core cycle at that time.
    pub(crate) cycle: f64,
    /// Whether the host or another program took part of it.
    pub(crate) is_disturbed: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LatencyFigure {
    pub nanoseconds: TimeDistribution,
    /// Core cycles: against a chain of adds beside each run.
    pub cycles: TimeDistribution,
    pub runs: usize,
    pub thrown_away: usize,
    /// Whether no run was left alone, and the figures are of disturbed ones.
    pub is_disturbed: bool,
}

impl LatencyFigure {
    /// Of runs: of those that were left alone, or of all if none was.
    pub(crate) fn of(runs: &[TimedRun]) -> LatencyFigure {
        let alone: Vec<TimedRun> = runs.iter().copied().filter(|run| !run.is_disturbed).collect();
        let is_disturbed = alone.is_empty() && !runs.is_empty();
        let counted = if is_disturbed { runs } else { &alone };
        let of = |value: fn(&TimedRun) -> f64| {
            TimeDistribution::of(&counted.iter().map(value).collect::<Vec<f64>>())
        };
        LatencyFigure {
            nanoseconds: of(|run| run.nanoseconds),
            cycles: of(|run| run.nanoseconds / run.cycle),
            runs: counted.len(),
            thrown_away: runs.len() - counted.len(),
            is_disturbed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn disturbed_runs_are_counted_and_nothing_else() {
        let run = |nanoseconds, is_disturbed| TimedRun { nanoseconds, cycle: 0.5, is_disturbed };
        let figure = LatencyFigure::of(&[run(3.0, false), run(1.0, true), run(2.0, false)]);
        assert_eq!((figure.runs, figure.thrown_away, figure.is_disturbed), (2, 1, false));
        assert_eq!((figure.nanoseconds.minimum, figure.cycles.minimum), (2.0, 4.0));
        let figure = LatencyFigure::of(&[run(3.0, true), run(1.0, true)]);
        assert_eq!((figure.runs, figure.thrown_away, figure.is_disturbed), (2, 0, true));
        assert_eq!(LatencyFigure::of(&[]), LatencyFigure::default());
    }

    proptest! {
        #[test]
        fn the_minimum_is_at_most_the_median(values in prop::collection::vec(0.0..1e9_f64, 1..40)) {
            let TimeDistribution { minimum, median, spread } = TimeDistribution::of(&values);
            prop_assert!(minimum <= median && spread >= 0.0);
            prop_assert!(values.contains(&minimum) && values.contains(&median));
            prop_assert!(values.iter().all(|value| *value >= minimum));
            let below = values.iter().filter(|value| **value < median).count();
            let above = values.iter().filter(|value| **value > median).count();
            prop_assert!(below.abs_diff(above) <= values.len() - below - above + 1);
        }
    }
}
