//! The first bytes of every recording.

use super::error::StreamError;
use super::write;
use crate::bytes::{ByteOrder, Cursor};

/// "PERFFILE", the magic of the first version.
const FIRST_VERSION: u64 = u64::from_le_bytes(*b"PERFFILE");

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Magic {
    /// Byte order of the whole recording.
    pub(crate) order: ByteOrder,
    /// Bytes of its header: 16 is the pipe form.
    pub(crate) header_size: u64,
}

impl Magic {
    /// Bytes that say it.
    pub(crate) const SIZE: usize = 16;
    /// Bytes of a file's header before there were features.
    pub(crate) const SMALLEST_FILE_HEADER: u64 = 72;

    /// Reads the first bytes; None when there are too few.
    ///
    /// # Errors
    /// Another kind of file.
    pub(crate) fn find(input: &[u8]) -> Result<Option<Magic>, StreamError> {
        let Some(front) = input.get(..8) else { return Ok(None) };
        let word = |order, bytes| Cursor::new(bytes, order).u64().unwrap_or(0);
        for order in [ByteOrder::Little, ByteOrder::Big] {
            match word(order, front) {
                write::MAGIC => {
                    let Some(size) = input.get(8..Magic::SIZE) else { return Ok(None) };
                    return Ok(Some(Magic { order, header_size: word(order, size) }));
                }
                FIRST_VERSION => return Err(StreamError::FirstVersion),
                _ => {}
            }
        }
        Err(StreamError::Foreign { start: front.escape_ascii().to_string() })
    }
}
