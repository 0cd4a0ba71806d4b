//! Why bytes are no stream that can be read here.

use super::feature::FeatureId;
use crate::aggregate::AggregatePartError;
use crate::attr::AttrError;
use crate::bytes::Short;
use crate::header::RecordType;
use crate::kernel_list;
use crate::region::RegionMarkError;
use crate::sample::{LayoutError, SampleError};
use crate::sideband::SidebandError;

/// Why a stream, or one record of it, cannot be read. Offsets count bytes from
/// its start. Reasons of a field are part of the message, not a `source()`:
/// chains would say them twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    #[error("not a perf.data stream: it starts with \"{start}\", not with PERFILE2")]
    Foreign { start: String },
    #[error(
        "this is perf.data in file form (header of {size} bytes), which cannot be read from a \
         pipe: give the file itself"
    )]
    FileForm { size: u64 },
    #[error("the header says it has {size} bytes; a pipe stream's has 16, a file's 72 or 104")]
    HeaderSize { size: u64 },
    /// A record that says it is shorter than it can be: nothing says where
    /// the next record starts.
    #[error("{kind} at offset {offset} says it has {size} bytes; the least possible is {least}")]
    RecordSize { kind: RecordType, offset: u64, size: u16, least: usize },
    #[error("what stands at offset {offset} is no record: no type has the number {kind}")]
    RecordType { kind: u32, offset: u64 },
    #[error("{kind} at offset {offset} has {size} bytes, which are not those of such a record")]
    Misfit { kind: RecordType, offset: u64, size: u16 },
    #[error("SAMPLE at offset {offset}: {reason}")]
    Sample { offset: u64, reason: SampleError },
    #[error("{reason}; {bytes} bytes were passed over, up to the next record at offset {to}")]
    PassedOver { reason: Box<StreamError>, bytes: u64, to: u64 },
    #[error("{reason}; in the {bytes} bytes from there on no other record was found")]
    Lost { reason: Box<StreamError>, bytes: u64 },
    #[error("{kind} at offset {offset}: compressed, which is not unpacked here")]
    Compressed { kind: RecordType, offset: u64 },
    #[error("{kind} at offset {offset}: cannot be unpacked: {reason}")]
    Zstd { kind: RecordType, offset: u64, reason: &'static str },
    #[error("{kind} at offset {offset}: cannot be unpacked, since what came before could not")]
    ZstdBefore { kind: RecordType, offset: u64 },
    #[error("truncated: the compressed stream ends {left} bytes into a record")]
    ZstdTruncated { left: usize },
    #[error("{kind} within the compressed record at offset {offset}, where none can be")]
    Nested { kind: RecordType, offset: u64 },
    #[error(
        "the file's header says that {what} has {size} bytes at offset {offset}, but the file ends at {length}"
    )]
    Section { what: &'static str, offset: u64, size: u64, length: u64 },
    #[error("{what} at offset {offset}: the sections of this file have more bytes than the file")]
    Overlap { what: &'static str, offset: u64 },
    #[error(
        "the file's header says that an attr and its ids have {size} bytes; 80 to 4112 are possible"
    )]
    AttrSize { size: u64 },
    #[error("the file describes no event: its section of attrs has {size} bytes, one has {each}")]
    NoAttrs { size: u64, each: u64 },
    #[error("{id} should have {size} bytes at offset {offset}, but the file ends at {length}")]
    FeatureSection { id: FeatureId, offset: u64, size: u64, length: u64 },
    #[error("{id} at offset {offset} has {size} bytes, which is more than is read")]
    FeatureSize { id: FeatureId, offset: u64, size: u64 },
    #[error("{what} at offset {offset}: the recording describes more than is kept in memory")]
    TooMuch { what: &'static str, offset: u64 },
    #[error("the features should be listed at offset {offset}, but the file ends at {length}")]
    FeatureTable { offset: u64, length: u64 },
    #[error("the recorder did not finish this file (its header says that it has no data): {}", cut(*left))]
    Unfinished { left: u64 },
    #[error("truncated: {missing} bytes of data are missing at offset {offset}")]
    DataTruncated { offset: u64, missing: u64 },
    #[error("the event described at offset {offset}: {reason}")]
    Attr { offset: u64, reason: AttrError },
    #[error("the event described at offset {offset}: {reason}")]
    Layout { offset: u64, reason: LayoutError },
    #[error("EVENT_UPDATE at offset {offset}: {reason}")]
    Aggregate { offset: u64, reason: AggregatePartError },
    #[error("EVENT_UPDATE at offset {offset}: {reason}")]
    KernelList { offset: u64, reason: kernel_list::KernelListPartError },
    #[error("EVENT_UPDATE at offset {offset}: {reason}")]
    Region { offset: u64, reason: RegionMarkError },
    #[error("{kind} at offset {offset}: {short}")]
    Short { kind: RecordType, offset: u64, short: Short },
    #[error("{id} at offset {offset}: {short}")]
    Feature { offset: u64, id: FeatureId, short: Short },
    #[error("at offset {offset}: {reason}")]
    Sideband { offset: u64, reason: SidebandError },
    #[error("{kind} at offset {offset}: {reason}")]
    Trailer { kind: RecordType, offset: u64, reason: SampleError },
    #[error("truncated: {left} bytes of a record at offset {offset}, which should have {wanted}")]
    Truncated { left: usize, offset: u64, wanted: usize },
    #[error("truncated: {missing} bytes of {kind} data are missing at offset {offset}")]
    PayloadTruncated { kind: RecordType, offset: u64, missing: u64 },
    #[error(
        "the recording is empty (0 bytes): its recorder has not written yet, or was killed before it \
         could; record again"
    )]
    Empty,
}

/// What there is of a file whose recorder did not finish.
fn cut(left: u64) -> String {
    const LACKS: &str =
        "what it adds at the end (build ids, the machine, what was lost) is missing";
    match left {
        0 => format!("every record in it was read; {LACKS}"),
        left => format!(
            "every whole record in it was read, and its last {left} bytes are the beginning of one \
             that was not finished; {LACKS}"
        ),
    }
}

impl StreamError {
    /// Whether one record cannot be read and the next one can: the header
    /// says how long this one is.
    pub(super) fn costs_one_record(&self) -> bool {
        matches!(
            self,
            StreamError::Short { .. }
                | StreamError::TooMuch { .. }
                | StreamError::Feature { .. }
                | StreamError::Sideband { .. }
                | StreamError::Trailer { .. }
                | StreamError::Nested { .. }
                | StreamError::Aggregate { .. }
                | StreamError::KernelList { .. }
                | StreamError::Region { .. }
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No bytes are no record, whole or not.
    #[test]
    fn an_unfinished_file_is_told_with_what_there_is_of_it() {
        let said = |left| StreamError::Unfinished { left }.to_string();
        assert!(said(0).contains("every record in it was read"), "{}", said(0));
        assert!(!said(0).contains(" 0 bytes"), "{}", said(0));
        assert!(said(24).contains("its last 24 bytes are the beginning of one"), "{}", said(24));
        assert!(StreamError::Empty.to_string().contains("is empty (0 bytes): its recorder"));
    }
}
