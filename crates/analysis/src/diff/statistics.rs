//! What of two counts is chance. Pure functions of numbers; docs/diff.md says
//! in words what they are, `oracle.py` asks scipy and statsmodels for the same.

pub(crate) mod beta;
pub(crate) mod dispersion;
pub(crate) mod normal;
pub(crate) mod rate_ratio;
pub(crate) mod run_means;

/// Benjamini and Hochberg's: of each likelihood the smallest rate of false
/// discoveries at which its row is one, in the same order. Rows with a value
/// of at most 5 % are discoveries of which at most 5 % are false on average,
/// where rows are independent or depend on each other positively.
pub(crate) fn discovery_rates(likelihoods: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..likelihoods.len()).collect();
    let of = |index: usize| likelihoods.get(index).copied().unwrap_or(1.0);
    order.sort_by(|&one, &other| of(other).total_cmp(&of(one)));
    let mut rates = vec![1.0; likelihoods.len()];
    let mut least = 1.0_f64;
    let mut rank = number(likelihoods.len());
    let all = rank;
    for index in order {
        least = least.min(of(index) * all / rank);
        if let Some(rate) = rates.get_mut(index) {
            *rate = least;
        }
        rank -= 1.0;
    }
    rates
}

#[expect(clippy::cast_precision_loss, reason = "no table has 2^53 rows")]
fn number(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests;
