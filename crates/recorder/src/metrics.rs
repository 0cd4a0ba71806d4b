//! What is derived from counts: the table of metrics, their formulas, and
//! values that know how far off they may be. Pure.
//!
//! A [`Metric`] is a row of tables/metrics.tsv. On a core its names become
//! events ([`on_core`]); counts of these become a [`Figure`] by its
//! [`Formula`]. A part that was not counted makes the whole no number, and
//! the interval of each part goes into that of the whole.

mod estimate;
mod formula;
mod metric;
mod metric_core;

pub use estimate::{Estimate, Figure, NotCounted};
pub use formula::{Formula, FormulaError};
pub use metric::{Metric, MetricGroup, metrics};
pub use metric_core::{CoreMetric, MetricCore, MetricEvent, on_core};

#[cfg(test)]
mod tests;
