//! What a standing session leaves on disk: segments, each a stream of its own,
//! in frames that show where a crash cut them.
//!
//! docs/segments.md is the specification.

mod clock;
mod directory;
mod frame;
mod header;
mod packed;
mod reader;
mod recovery;
mod retention;

pub(crate) use clock::{Clock, SystemClock};
pub(crate) use directory::{Directory, Form, Listed};
pub use frame::{BEFORE, HEAD, LONGEST, StoredFrame, encode};
pub use header::{HEADER, Header, HeaderError};
pub(crate) use packed::{Packed, pack};
pub use reader::{ReadError, SegmentReader};
pub(crate) use recovery::{Recovered, recover};
pub(crate) use retention::{ClosedSegment, Retention, expired};

#[cfg(test)]
mod tests;
