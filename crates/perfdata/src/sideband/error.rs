//! Why bytes are no sideband record, or a record cannot become bytes.

use crate::bytes::Short;
use crate::header::RecordType;

/// Why bytes are no sideband record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SidebandError {
    #[error("{kind} record, field {field}: {short}")]
    Short { kind: RecordType, field: &'static str, short: Short },
    #[error("MMAP2 record has a build id of {size} bytes; at most 20 are possible")]
    BuildIdSize { size: u8 },
    #[error("a {kind} record of {size} bytes is beyond the limit of 65,535")]
    TooLong { kind: RecordType, size: usize },
    #[error("a {kind} record cannot be written: {problem}")]
    Unencodable { kind: RecordType, problem: &'static str },
}
