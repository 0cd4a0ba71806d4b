//! Counting without samples: from metrics and events to groups, and from
//! their counts to figures.
//!
//! A [`CountingRequest`] becomes a [`CountingPlan`], purely; a
//! [`CountingSession`] opens its groups, or [`EmulatedCounting`] has the
//! emulated PMU count. Either is [`Counting`] and gives [`TotalCounts`], of
//! which [`PlannedFigure::value`] makes metrics.

mod counts;
mod emulated;
mod group;
mod open_group;
mod planning;
mod request;
mod session;
mod slice_sums;
mod uncore;

use std::fmt;
use std::time::Duration;

use crate::Command;
use crate::session::{SessionError, TargetState};

pub use counts::{EventCount, TotalCounts};
pub use emulated::EmulatedCounting;
pub use group::{CountedEvent, CountingGroup};
pub use planning::{CountingPlan, MetricRow, PlannedFigure, UnavailableCount, plan};
pub use request::{CountingRefusal, CountingRequest, MetricChoice};
pub use session::{CountingSession, CountingSettings};
pub use slice_sums::{SliceSums, TimeSlice};

/// Counting that is open, whoever counts. In order: start, then
/// [`wait`](Counting::wait) again and again, finish.
pub trait Counting: fmt::Debug {
    /// Lets the command go, and the system's groups.
    ///
    /// # Errors
    /// A command that cannot be executed.
    fn start(&mut self) -> Result<(), SessionError>;

    /// Waits so long at most, or until the command or process has ended.
    ///
    /// # Errors
    /// A call that should not fail.
    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError>;

    /// Counts since the last call; None: there are none but at the end.
    fn window(&mut self) -> Option<TotalCounts> {
        None
    }

    /// Stops, and gives all counts.
    ///
    /// # Errors
    /// A call that should not fail.
    fn finish(&mut self) -> Result<TotalCounts, SessionError>;

    fn command(&mut self) -> Option<&mut Command>;

    fn notes(&self) -> Vec<String>;
}

#[cfg(test)]
mod tests;
