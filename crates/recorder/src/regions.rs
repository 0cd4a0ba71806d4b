//! Regions that programs mark, on their way to the session that samples them.
//!
//! Memory that the session made and the program maps: a ring of marks, which
//! any thread of any process writes and the session alone reads. A
//! program finds it by the variable [`VARIABLE`] of its environment; without that a mark is
//! one look at a pointer. No system call takes part but those that ask who the
//! thread is.
//!
//! [`RegionLog`] is the session's end, [`RegionMarker`] the program's.

mod layout;
mod log;
mod marker;
#[cfg(test)]
mod tests;

pub use log::{RegionLog, RegionLogAccount};
pub use marker::{RegionMarker, RegionMarkerError};

/// The variable of the environment that names the log: a path.
pub const VARIABLE: &str = "HARDMETER_REGIONS";
