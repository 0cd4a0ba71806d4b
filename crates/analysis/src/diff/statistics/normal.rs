//! The normal distribution, and Student's.

use super::beta::{Beta, BetaPart};
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Steps of an inversion at most; a handful is taken.
const MOST_STEPS: u32 = 200;

/// How likely a normal deviate is that far from 0 or farther, on either side.
pub(crate) fn normal_beyond(deviation: f64) -> f64 {
    libm::erfc(deviation.abs() * FRAC_1_SQRT_2)
}

/// What a normal deviate is beyond, on either side, with such a likelihood.
pub(crate) fn normal_deviation(likelihood: f64) -> f64 {
    if likelihood >= 1.0 {
        return 0.0;
    }
    if likelihood <= 0.0 {
        return f64::INFINITY;
    }
    // By its logarithm, which is nearly a parabola, down to the smallest double.
    let wanted = likelihood.ln();
    let mut at = (-2.0 * wanted).sqrt();
    for _ in 0..MOST_STEPS {
        let beyond = normal_beyond(at);
        let density = 2.0 * (-at * at / 2.0).exp() / (2.0 * PI).sqrt();
        let step = (beyond.ln() - wanted) * beyond / density;
        if !step.is_finite() {
            break;
        }
        at = (at + step).max(0.0);
        if step.abs() <= 1e-14 * at.max(1.0) {
            break;
        }
    }
    at
}

/// How likely Student's t of so many degrees of freedom is that far from 0 or
/// farther, on either side.
pub(crate) fn student_beyond(deviation: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return normal_beyond(deviation);
    }
    let square = deviation * deviation;
    if square.is_infinite() {
        return 0.0;
    }
    Beta { a: freedom / 2.0, b: 0.5 }.at_most(BetaPart::of(freedom, square))
}

/// What Student's t is beyond, on either side, with such a likelihood.
pub(crate) fn student_deviation(likelihood: f64, freedom: f64) -> f64 {
    if freedom.is_infinite() {
        return normal_deviation(likelihood);
    }
    let BetaPart { part, rest } = Beta { a: freedom / 2.0, b: 0.5 }.quantile(likelihood);
    (freedom * rest / part).sqrt()
}
