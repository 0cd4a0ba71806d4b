//! Counting without samples: from metrics and events to groups, and from
//! their counts to figures.
//!
//! A [`CountingRequest`] becomes a [`CountingPlan`], purely; a
//! [`CountingSession`] opens its groups, or [`EmulatedCounting`] has the
//! emulated PMU count. Either gives [`TotalCounts`], of which
//! [`PlannedFigure::value`] makes metrics.

mod counts;
mod emulated;
mod group;
mod open_group;
mod planning;
mod request;
mod session;
mod slice_sums;
mod uncore;

pub use counts::{EventCount, TotalCounts};
pub use emulated::EmulatedCounting;
pub use group::{CountedEvent, CountingGroup};
pub use planning::{CountingPlan, MetricRow, PlannedFigure, UnavailableCount, plan};
pub use request::{CountingRefusal, CountingRequest, MetricChoice};
pub use session::{CountingSession, CountingSettings};
pub use slice_sums::{SliceSums, TimeSlice};

#[cfg(test)]
mod tests;
