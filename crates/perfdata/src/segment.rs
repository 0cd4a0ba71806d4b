//! Segments: what a standing session of the daemon leaves on disk. Each is a
//! stream of its own, in frames that show where a crash cut it; once closed it
//! is packed.
//!
//! docs/segments.md is the specification. Nothing is opened here: whoever
//! reads or writes brings the source.
//!
//! - [`SegmentHeader`], [`StoredFrame`]: the layout.
//! - [`SegmentReader`]: the frames of one; [`PackedSegment`], [`pack`]: packed.
//! - [`SegmentStream`]: one as the stream that it holds.

mod packed_segment;
mod segment_header;
mod segment_reader;
mod segment_stream;
mod stored_frame;

pub use packed_segment::{PackedSegment, pack};
pub use segment_header::{HEADER, SegmentHeader, SegmentHeaderError};
pub use segment_reader::{SegmentReadError, SegmentReader};
pub use segment_stream::SegmentStream;
pub use stored_frame::{BEFORE, HEAD, LONGEST, StoredFrame, encode};

#[cfg(test)]
mod tests;
