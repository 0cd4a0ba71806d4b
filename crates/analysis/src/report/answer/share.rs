//! How sure it is what part of an event's samples a row has.

use crate::collect::sum::Sum;
use crate::query::Weighting;
use crate::report::SamplingMode;
use crate::share_interval::ratio;

/// The standard error of a row's share of the whole, as of samples that were taken at random: each
/// weighs as much as its period says where shares are of periods, and 1
/// elsewhere. It is that of a ratio of two sums over the same samples: the root
/// of the sum of squares of weight x (whether it is the row's - share), over the sum
/// of weights; of equal weights the binomial's. None is left where every
/// event has a sample.
pub(super) fn share_error(
    row: Sum,
    whole: Sum,
    weighting: Weighting,
    sampling: SamplingMode,
) -> f64 {
    if sampling == SamplingMode::Period(1) {
        return 0.0;
    }
    // Events that one sample more or less would stand for: of a row with few samples of large
    // periods, and of what is in none, the samples themselves say too little.
    let unseen = match sampling {
        SamplingMode::Adapted if whole.period > 0 => {
            let typical = whole.squares / ratio(whole.period, 1);
            typical * (typical - 1.0).max(0.0)
        }
        _ => 0.0,
    };
    let (own, all, sum) = match weighting {
        Weighting::Count => (ratio(row.count, 1), ratio(whole.count, 1), ratio(whole.count, 1)),
        // A sample is there with a chance of 1 in its period: those of 1 have no error.
        Weighting::Period if sampling == SamplingMode::Adapted => {
            let drawn = |of: Sum| of.squares - ratio(of.period, 1);
            (drawn(row), drawn(whole), ratio(whole.period, 1))
        }
        Weighting::Period => (row.squares, whole.squares, ratio(whole.period, 1)),
    };
    if sum == 0.0 {
        return 0.0;
    }
    let share = row.share(whole, weighting);
    let others = (all - own).max(0.0) + unseen;
    let own = own + unseen;
    (own * (1.0 - share).powi(2) + others * share.powi(2)).sqrt() / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const THOUSANDTH: SamplingMode = SamplingMode::Period(1000);

    fn sum(periods: &[u64]) -> Sum {
        let mut sum = Sum::default();
        periods.iter().for_each(|period| sum.add(*period, false));
        sum
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    }

    #[test]
    fn equal_weights_have_the_binomial_error() {
        let (row, whole) = (Sum::of(20, 20_000), Sum::of(100, 100_000));
        for weighting in [Weighting::Count, Weighting::Period] {
            close(row.share(whole, weighting), 0.2);
            close(share_error(row, whole, weighting, THOUSANDTH), (0.2_f64 * 0.8 / 100.0).sqrt());
        }
    }

    #[test]
    fn what_stands_for_itself_has_no_error() {
        let of = |row: &[u64], whole: &[u64]| {
            share_error(sum(row), sum(whole), Weighting::Period, SamplingMode::Adapted)
        };
        close(of(&[1; 20], &[1; 100]), 0.0);
        // Of 4 events each with a chance of 1/4: variance 4 x 3 each, and one more on each side.
        close(of(&[4; 5], &[4; 10]), (12.0_f64 * 12.0 * 0.25).sqrt() / 40.0);
        // What was not sampled may be there.
        assert!(of(&[4; 10], &[4; 10]) > 0.05 && of(&[], &[4; 10]) > 0.05);
    }

    /// 3 of 3 + 1: the residuals are 3 x 1/4 and 1 x 3/4, their root of squares over 4.
    #[test]
    fn heavy_samples_make_a_share_less_sure() {
        let (row, whole) = (sum(&[3]), sum(&[3, 1]));
        close(row.share(whole, Weighting::Period), 0.75);
        let error = share_error(row, whole, Weighting::Period, SamplingMode::Frequency(99));
        close(error, (2.0_f64 * 0.75 * 0.75).sqrt() / 4.0);
    }

    #[test]
    fn where_all_is_known_nothing_is_unsure() {
        let (row, whole) = (Sum::of(20, 20), Sum::of(100, 100));
        close(share_error(row, whole, Weighting::Count, SamplingMode::Period(1)), 0.0);
        close(share_error(whole, whole, Weighting::Count, THOUSANDTH), 0.0);
        let none = Sum::default();
        close(share_error(none, none, Weighting::Period, THOUSANDTH), 0.0);
    }
}
