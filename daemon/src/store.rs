//! What a standing session leaves on disk: segments, each a stream of its own,
//! in frames that show where a crash cut them.
//!
//! docs/segments.md is the specification.

mod frame;
mod header;
mod scan;

pub use frame::{Frame, LONGEST, encode};
pub use header::{HEADER, Header, HeaderError};
pub use scan::{Scan, scan};

#[cfg(test)]
mod tests;
