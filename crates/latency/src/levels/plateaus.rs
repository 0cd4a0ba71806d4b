//! A rising series as the steps that tell most of it.

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plateau {
    pub(super) begin: usize,
    /// Index behind its last one.
    pub(super) end: usize,
    /// The upper quartile of its values.
    pub(super) height: f64,
}

/// What one step more has to save: as much as parting two times four values
/// that are 10 % apart. Lesser steps are the slope of one level.
const MIN_PENALTY: f64 = 0.02;

/// The steps: those with the least squares, each of which costs a penalty by
/// the noise of the series (optimal partitioning; Jackson et al. 2005). The
/// series is made rising first, as more memory never takes less time.
pub(super) fn plateaus(series: &[f64]) -> Vec<Plateau> {
    let rising = rising(series);
    let penalty = penalty(series, &rising);
    let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
    for value in &rising {
        sums.push(sums.last().copied().unwrap_or(0.0) + value);
        squares.push(squares.last().copied().unwrap_or(0.0) + value * value);
    }
    let cost = |begin: usize, end: usize| {
        let sum: f64 = sums[end] - sums[begin];
        let square: f64 = squares[end] - squares[begin];
        (square - sum * sum / (end - begin) as f64).max(0.0)
    };
    let mut best = vec![-penalty];
    let mut begins = vec![0];
    for end in 1..=rising.len() {
        let ways = (0..end).map(|begin| (begin, best[begin] + cost(begin, end) + penalty));
        let least = ways.min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0, 0.0));
        begins.push(least.0);
        best.push(least.1);
    }
    let mut found = Vec::new();
    let mut end = rising.len();
    while end > 0 {
        let begin = begins[end];
        // As it is rising, three quarters of the way up.
        found.push(Plateau { begin, end, height: rising[begin + (end - begin - 1) * 3 / 4] });
        end = begin;
    }
    found.reverse();
    found
}

/// The rising series that is nearest in squares (pool adjacent violators).
fn rising(series: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &value in series {
        let mut pool = (value, 1);
        while let Some(before) = pools.pop_if(|before| before.0 > pool.0) {
            let count = before.1 + pool.1;
            let sum = before.0 * before.1 as f64 + pool.0 * pool.1 as f64;
            pool = (sum / count as f64, count);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
}

/// By what the series is beside the rising one: three deviations squared for
/// each octave of its length, as in the criterion of Schwarz.
fn penalty(series: &[f64], rising: &[f64]) -> f64 {
    let count = series.len().max(2) as f64;
    let beside = series.iter().zip(rising).map(|(one, other)| (one - other).powi(2)).sum::<f64>();
    (3.0 * beside / count * count.ln()).max(MIN_PENALTY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_found_where_they_are() {
        let series = [0.0, 0.01, 0.0, 1.0, 1.01, 0.99, 3.0];
        let ends: Vec<usize> = plateaus(&series).iter().map(|plateau| plateau.end).collect();
        assert_eq!(ends, [3, 6, 7]);
        assert!(plateaus(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn plateaus_part_the_series_and_rise(series in prop::collection::vec(-5.0..5.0_f64, 0..60)) {
            let found = plateaus(&series);
            let mut at = 0;
            for plateau in &found {
                prop_assert!(plateau.begin == at && plateau.end > at);
                at = plateau.end;
            }
            prop_assert_eq!(at, series.len());
            prop_assert!(found.windows(2).all(|pair| pair[0].height <= pair[1].height));
        }
    }
}
