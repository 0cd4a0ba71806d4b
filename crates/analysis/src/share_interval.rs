//! A share of samples, and where the share of all lies.

use serde::Serialize;

/// Two-sided 95 % of a normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A share with its 95 % interval, Wilson's (1927): near 0 and 1, and of few
/// samples, it holds what it promises, where the textbook's does not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ShareInterval {
    /// Of the samples, 0 to 1.
    pub share: f64,
    /// The interval's ends, 0 to 1.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

impl ShareInterval {
    /// `part` of `all` samples; None: of none.
    pub fn new(part: u64, all: u64) -> Option<ShareInterval> {
        if all == 0 {
            return None;
        }
        let (part, all) = (float(part.min(all)), float(all));
        let share = part / all;
        let centre = share + Z * Z / (2.0 * all);
        let spread = Z * (share * (1.0 - share) / all + Z * Z / (4.0 * all * all)).sqrt();
        let scale = 1.0 + Z * Z / all;
        let end = |value: f64| (value / scale).clamp(0.0, 1.0);
        Some(ShareInterval { share, low: end(centre - spread), high: end(centre + spread) })
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of samples are far below 2^53")]
fn float(count: u64) -> f64 {
    count as f64
}

/// `part` of `whole`, 0 of nothing.
#[allow(clippy::cast_precision_loss, reason = "a share needs no more than 53 bits")]
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::ShareInterval;

    /// statsmodels 0.15, `proportion_confint(part, all, method="wilson")`.
    #[test]
    fn intervals_are_wilsons() {
        for (part, all, low, high) in [
            (0, 10, 0.0, 0.277_532_799),
            (5, 10, 0.236_593_090, 0.763_406_909),
            (87, 100, 0.790_196_486, 0.922_428_326),
            (1000, 1000, 0.996_173_242, 1.0),
        ] {
            let found = ShareInterval::new(part, all).unwrap();
            assert!((found.low - low).abs() < 1e-6, "{part} of {all}: {found:?}");
            assert!((found.high - high).abs() < 1e-6, "{part} of {all}: {found:?}");
        }
        assert_eq!(ShareInterval::new(0, 0), None);
    }
}
