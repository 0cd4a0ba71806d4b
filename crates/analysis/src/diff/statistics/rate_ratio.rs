//! Two rates of events that come by chance, and their ratio.

use super::beta::{Beta, BetaPart};
use super::dispersion::{Dispersion, RateCount};
use super::normal::{normal_beyond, normal_deviation, student_beyond, student_deviation};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RateRatio {
    /// The estimate; infinite where the other rate is 0, not a number where both are.
    pub(crate) ratio: f64,
    /// The least that agrees with the counts.
    pub(crate) low: f64,
    /// The largest; infinite where the other rate may be 0.
    pub(crate) high: f64,
    /// How likely counts that far apart are where the rates are the same.
    pub(crate) likelihood: f64,
}

/// The rate of `b` as a multiple of `a`'s.
///
/// Given how many samples both have together, those of `b` are binomial. Its part is
/// bounded as Clopper and Pearson did, by the quantiles of two beta
/// distributions, and the test is the one that this inverts: twice the smaller
/// tail. So the interval leaves 1 out exactly where the likelihood is
/// below 1 - `level`. Counts that vary more than by chance are worth
/// `dispersion.factor` times fewer samples, and t takes the place of the normal
/// deviate.
pub(crate) fn rate_ratio(
    a: RateCount,
    b: RateCount,
    dispersion: Dispersion,
    level: f64,
) -> RateRatio {
    let (of_a, of_b) = (a.count / dispersion.factor, b.count / dispersion.factor);
    // A rate of b that is a multiple of a's has odds of a sample that many times these.
    let odds = b.exposure / a.exposure;
    let ratio = if a.count > 0.0 {
        b.rate() / a.rate()
    } else if b.count > 0.0 {
        f64::INFINITY
    } else {
        f64::NAN
    };
    let outside = normal_beyond(student_deviation(1.0 - level, dispersion.freedom)) / 2.0;
    let low = match of_b > 0.0 {
        true => {
            let BetaPart { part, rest } = Beta { a: of_b, b: of_a + 1.0 }.quantile(outside);
            part / rest / odds
        }
        false => 0.0,
    };
    let high = match of_a > 0.0 {
        true => {
            let BetaPart { part, rest } = Beta { a: of_a, b: of_b + 1.0 }.quantile(outside);
            rest / part / odds
        }
        false => f64::INFINITY,
    };
    RateRatio { ratio, low, high, likelihood: likelihood(a, b, dispersion) }
}

/// Twice the smaller tail, where both rates are the same.
fn likelihood(a: RateCount, b: RateCount, dispersion: Dispersion) -> f64 {
    let (of_a, of_b) = (a.count / dispersion.factor, b.count / dispersion.factor);
    let same = BetaPart::of(b.exposure, a.exposure);
    let other = BetaPart { part: same.rest, rest: same.part };
    // So many of b or more, and so many or fewer, that is so many of a or more.
    let more = if of_b > 0.0 { Beta { a: of_b, b: of_a + 1.0 }.at_most(same) } else { 1.0 };
    let fewer = if of_a > 0.0 { Beta { a: of_a, b: of_b + 1.0 }.at_most(other) } else { 1.0 };
    let both = (2.0 * more.min(fewer)).min(1.0);
    if dispersion.freedom.is_infinite() {
        return both;
    }
    student_beyond(normal_deviation(both), dispersion.freedom)
}

/// The smallest likelihood that so many samples of both together can have,
/// however they are shared out.
pub(crate) fn least_likelihood(a: RateCount, b: RateCount, dispersion: Dispersion) -> f64 {
    let count = a.count + b.count;
    let none = |exposure| RateCount { count: 0.0, exposure };
    let all = |exposure| RateCount { count, exposure };
    let of_a = likelihood(all(a.exposure), none(b.exposure), dispersion);
    of_a.min(likelihood(none(a.exposure), all(b.exposure), dispersion))
}
