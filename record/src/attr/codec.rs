//! Bytes of a `perf_event_attr`, all published sizes.

use super::Attr;
use crate::bytes::ByteOrder;

/// Why bytes are no attr.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AttrError {
    /// `size` is below 64 (and not 0) or beyond the bytes given.
    #[error("perf_event_attr says it has {size} bytes; 64 to {available} are possible here")]
    Size {
        /// The attr's own size field.
        size: u32,
        /// Bytes that were given.
        available: usize,
    },
    /// A newer kernel's field is in use that this decoder does not know.
    #[error("perf_event_attr has a non-zero byte at offset {offset}, beyond the fields known here")]
    UnknownTail {
        /// Offset of the first such byte.
        offset: usize,
    },
}

impl Attr {
    /// The size of the newest attr known here, bytes.
    pub const MAX_SIZE: u32 = 144;

    /// Reads an attr whose size field says how long it is.
    pub fn decode(_bytes: &[u8], _order: ByteOrder) -> Result<Attr, AttrError> {
        todo!()
    }

    /// Appends the attr in `size` bytes (and writes that into the size
    /// field); fields beyond `size` must be zero or are refused.
    pub fn encode(&self, _size: u32, _order: ByteOrder, _out: &mut Vec<u8>) -> Result<(), AttrError> {
        todo!()
    }
}
