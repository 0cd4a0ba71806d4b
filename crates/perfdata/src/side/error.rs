//! Why bytes are no side record, or a record cannot become bytes.

use crate::bytes::Short;
use crate::header::RecordType;

/// Why bytes are no side record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// A field is cut off.
    #[error("{kind} record, field {field}: {short}")]
    Short { kind: RecordType, field: &'static str, short: Short },
    /// A build id longer than the 20 bytes it has room for.
    #[error("MMAP2 record has a build id of {size} bytes; at most 20 are possible")]
    BuildIdSize { size: u8 },
    /// The record would be longer than 65,535 bytes.
    #[error("a {kind} record of {size} bytes is beyond the limit of 65,535")]
    TooLong { kind: RecordType, size: usize },
    /// A value that this record type has no place for, or lacks.
    #[error("a {kind} record cannot be written: {problem}")]
    Unencodable { kind: RecordType, problem: &'static str },
}
