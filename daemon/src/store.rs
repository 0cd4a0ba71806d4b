//! What a standing session leaves on disk: files of segments, whose layout is
//! [`perfdata::segment`].
//!
//! docs/segments.md is the specification.

mod clock;
mod directory;
mod recovery;
mod retention;

pub(crate) use clock::{Clock, SystemClock};
pub(crate) use directory::{Directory, ListedSegment, SegmentState};
pub(crate) use recovery::{Recovered, recover};
pub(crate) use retention::{ClosedSegment, Retention, expired};

#[cfg(test)]
mod tests;
