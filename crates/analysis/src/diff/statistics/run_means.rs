//! Rates that were counted, not sampled: what repeated runs vary by is all there is.

use super::normal::{student_beyond, student_deviation};
use super::rate_ratio::RateRatio;

/// The mean of `b` as a multiple of that of `a`, each a rate a run. The relative
/// variance is that of both sides pooled, the interval Student's about the logarithm of
/// the ratio. Of one run each nothing is known of how runs vary: the interval
/// is the ratio itself, and the likelihood not a number. None without rates above 0.
pub(crate) fn means_ratio(a: &[f64], b: &[f64], level: f64) -> Option<RateRatio> {
    let number = |rates: &[f64]| rates.iter().map(|_| 1.0).sum::<f64>();
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / number(rates);
    let (of_a, of_b) = (mean(a), mean(b));
    if of_a.is_nan() || of_b.is_nan() || of_a + of_b <= 0.0 {
        return None;
    }
    let ratio = of_b / of_a;
    let spread = |rates: &[f64], mean: f64| match mean > 0.0 {
        true => rates.iter().map(|rate| (rate / mean - 1.0).powi(2)).sum::<f64>(),
        false => 0.0,
    };
    let freedom = number(a) + number(b) - 2.0;
    let unknown = RateRatio { ratio, low: ratio, high: ratio, likelihood: f64::NAN };
    if freedom < 1.0 || of_a <= 0.0 || of_b <= 0.0 {
        return Some(unknown);
    }
    let variance = (spread(a, of_a) + spread(b, of_b)) / freedom;
    let error = (variance * (1.0 / number(a) + 1.0 / number(b))).sqrt();
    let width = (student_deviation(1.0 - level, freedom) * error).exp();
    let likelihood = match error > 0.0 {
        true => student_beyond(ratio.ln() / error, freedom),
        // Every run was like the others of its side.
        false => f64::from(u8::from(of_a == of_b)),
    };
    Some(RateRatio { ratio, low: ratio / width, high: ratio * width, likelihood })
}

#[cfg(test)]
mod tests {
    use super::means_ratio;

    /// scipy.stats.t.interval(0.95, 4) about log(2), of standard error
    /// sqrt((0.0002 + 0.0002) / 4 * (2 / 3)).
    #[test]
    fn runs_that_vary_have_an_interval() {
        let a = [0.99, 1.0, 1.01];
        let of = means_ratio(&a, &a.map(|rate| rate * 2.0), 0.95).unwrap();
        let width = (2.776_445_105_197_793_f64 * (0.0004_f64 / 4.0 * 2.0 / 3.0).sqrt()).exp();
        assert!((of.ratio - 2.0).abs() < 1e-12, "{of:?}");
        assert!((of.low - 2.0 / width).abs() < 1e-9 && (of.high - 2.0 * width).abs() < 1e-9);
        assert!(of.likelihood < 1e-6, "{of:?}");
    }

    #[test]
    fn runs_that_do_not_vary_have_a_point() {
        let of = means_ratio(&[5.0, 5.0], &[5.0, 5.0], 0.95).unwrap();
        assert_eq!((of.low, of.ratio, of.high), (1.0, 1.0, 1.0));
        assert_eq!(of.likelihood, 1.0);
        let single = means_ratio(&[5.0], &[6.0], 0.95).unwrap();
        assert!(single.low == 1.2 && single.likelihood.is_nan(), "{single:?}");
        assert_eq!(means_ratio(&[0.0], &[0.0], 0.95), None);
        assert!(means_ratio(&[0.0], &[1.0], 0.95).unwrap().ratio.is_infinite());
    }
}
