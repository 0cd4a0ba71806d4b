//! The first bytes of every recording.

use super::error::StreamError;
use super::write;
use crate::bytes::{ByteOrder, Cursor};

/// The magic of the first version (Linux 2.6.31 to 3.4): a text, whatever the
/// byte order of the rest. The rest is laid out as in the second.
const FIRST_VERSION: &[u8; 8] = b"PERFFILE";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Magic {
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
        let foreign =
            |front: &[u8]| StreamError::Foreign { start: front.escape_ascii().to_string() };
        let Some(front) = input.get(..8) else {
            // A short file of another kind is none that ends too early.
            let [little, big] = [write::MAGIC.to_le_bytes(), write::MAGIC.to_be_bytes()];
            let can_be = [*FIRST_VERSION, little, big].iter().any(|it| it.starts_with(input));
            return if can_be { Ok(None) } else { Err(foreign(input)) };
        };
        let word = |order, bytes| Cursor::new(bytes, order).u64().unwrap_or(0);
        let size = input.get(8..Magic::SIZE);
        let orders = [ByteOrder::Little, ByteOrder::Big];
        if front == FIRST_VERSION {
            let Some(size) = size else { return Ok(None) };
            // No header has gigabytes: the smaller number is the size.
            let sizes = orders.map(|order| Magic { order, header_size: word(order, size) });
            return Ok(sizes.into_iter().min_by_key(|magic| magic.header_size));
        }
        if let Some(order) = orders.into_iter().find(|order| word(*order, front) == write::MAGIC) {
            let Some(size) = size else { return Ok(None) };
            return Ok(Some(Magic { order, header_size: word(order, size) }));
        }
        Err(foreign(front))
    }
}
