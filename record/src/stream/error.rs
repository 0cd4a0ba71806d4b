//! Why bytes are no stream that can be read here.

use super::feature::FeatureId;
use crate::attr::AttrError;
use crate::bytes::Short;
use crate::header::RecordType;
use crate::sample::{LayoutError, SampleError};
use crate::side::SideError;

/// Why a stream, or one record of it, cannot be read. Offsets count bytes from
/// its start. Reasons of a field are part of the message, not a `source()`:
/// chains would say them twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say what each field is")]
pub enum StreamError {
    /// Another kind of file.
    #[error("not a perf.data stream: it starts with \"{start}\", not with PERFILE2")]
    Foreign { start: String },
    /// perf.data as `perf record -o FILE` writes it.
    #[error(
        "this is perf.data in file form (header of {size} bytes), which this version cannot read; \
         record with `perf record -o - ... > FILE`, or look at it with `perf script -i FILE`"
    )]
    FileForm { size: u64 },
    /// The format before Linux 3.0.
    #[error("this is perf.data of the first version (magic PERFFILE), which is not read here")]
    FirstVersion,
    /// Neither a pipe's nor a file's header.
    #[error("the stream's header says it has {size} bytes; a pipe stream's has 16")]
    HeaderSize { size: u64 },
    /// A record that says it is shorter than it can be: nothing says where
    /// the next record starts.
    #[error("{kind} at offset {offset} says it has {size} bytes; the least possible is {least}")]
    RecordSize { kind: RecordType, offset: u64, size: u16, least: usize },
    /// zstd.
    #[error(
        "{kind} at offset {offset}: the stream is compressed with zstd, which is not read yet; \
         record without -z"
    )]
    Compressed { kind: RecordType, offset: u64 },
    /// A description of an event that cannot be understood.
    #[error("HEADER_ATTR at offset {offset}: {reason}")]
    Attr { offset: u64, reason: AttrError },
    /// An event whose samples have fields not known here.
    #[error("HEADER_ATTR at offset {offset}: {reason}")]
    Layout { offset: u64, reason: LayoutError },
    /// A record of the stream itself that ends before its fields do.
    #[error("{kind} at offset {offset}: {short}")]
    Short { kind: RecordType, offset: u64, short: Short },
    /// A feature whose bytes are not what its id says.
    #[error("HEADER_FEATURE at offset {offset}, {id}: {short}")]
    Feature { offset: u64, id: FeatureId, short: Short },
    /// A side record that cannot be decoded.
    #[error("at offset {offset}: {reason}")]
    Side { offset: u64, reason: SideError },
    /// A side record too short for its sample_id.
    #[error("{kind} at offset {offset}: {reason}")]
    Trailer { kind: RecordType, offset: u64, reason: SampleError },
    /// The stream ends inside a record; what came before is good.
    #[error("truncated: {left} bytes of a record at offset {offset}, which should have {wanted}")]
    Truncated { left: usize, offset: u64, wanted: usize },
    /// The stream ends inside the bytes that follow a record.
    #[error("truncated: {missing} bytes of {kind} data are missing at offset {offset}")]
    PayloadTruncated { kind: RecordType, offset: u64, missing: u64 },
    /// Nothing at all.
    #[error("the stream is empty: no perf.data header")]
    Empty,
}

impl StreamError {
    /// Whether one record cannot be read and the next one can: the header
    /// says how long this one is. An event that is not understood is not
    /// among these: what belongs to it would be read wrong.
    pub(super) fn costs_one_record(&self) -> bool {
        matches!(
            self,
            StreamError::Short { .. }
                | StreamError::Feature { .. }
                | StreamError::Side { .. }
                | StreamError::Trailer { .. }
        )
    }
}
