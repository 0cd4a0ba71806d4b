//! What of two counts is chance. Pure functions of numbers; docs/diff.md says
//! in words what they are, `oracle.py` asks scipy and statsmodels for the same.

pub(crate) mod beta;
pub(crate) mod dispersion;
pub(crate) mod false_discovery;
pub(crate) mod normal;
pub(crate) mod rate_ratio;
pub(crate) mod run_means;

#[cfg(test)]
mod tests;
