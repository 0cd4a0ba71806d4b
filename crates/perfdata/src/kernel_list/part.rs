//! A packed list in pieces: a record has room for 65,535 bytes.

use super::PackedKernelList;
use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};
use std::sync::Arc;

/// What the text of a record begins with that holds a part.
pub const TEXT: &[u8] = b"kernel_symbols=";
/// The text of this version, with its NUL and zeroes up to a multiple of 8.
const VERSION: &[u8; 24] = b"kernel_symbols=1\0\0\0\0\0\0\0\0";
/// Bytes of the list in one part.
const PIECE: usize = 48 << 10;
/// Most bytes of a packed list: that of a kernel with all its variables has
/// one or two millions.
pub(super) const MOST_PACKED: usize = 16 << 20;

/// Some bytes of a packed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelListPart<'a> {
    /// Bytes of the list before this part's.
    offset: u32,
    /// Bytes of the list.
    total: u32,
    bytes: &'a [u8],
}

/// Why bytes are no part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelListPartError {
    #[error(
        "the kernel's symbols in a form not known here (its text is {0:?}); report it with the ebs that recorded it"
    )]
    Version(String),
    #[error("the kernel's symbols: {0}")]
    Short(#[from] Short),
    #[error("a part of the kernel's symbols whose {0} is {1}, which cannot be")]
    Impossible(&'static str, u64),
    #[error(transparent)]
    Torn(#[from] IncompleteKernelList),
}

/// A part without the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the kernel's symbols from byte {offset} on are here, but not those from byte {missing} on"
)]
pub struct IncompleteKernelList {
    /// Where the part begins.
    pub offset: u32,
    /// Where what was there ends.
    pub missing: u32,
}

pub(super) fn parts(bytes: &[u8]) -> impl Iterator<Item = KernelListPart<'_>> {
    let total = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let pieces = bytes.chunks(PIECE).enumerate();
    pieces.map(move |(index, bytes)| {
        let offset = u32::try_from(index * PIECE).unwrap_or(u32::MAX);
        KernelListPart { offset, total, bytes }
    })
}

impl<'a> KernelListPart<'a> {
    /// Reads what follows type and id of an EVENT_UPDATE whose text begins
    /// with [`TEXT`].
    ///
    /// # Errors
    /// Another version, bytes that end early or go on, sizes that cannot be.
    pub fn decode(
        bytes: &'a [u8],
        order: ByteOrder,
    ) -> Result<KernelListPart<'a>, KernelListPartError> {
        let mut c = Cursor::new(bytes, order);
        if !c.rest_starts_with(VERSION) {
            let end = bytes.iter().take(40).position(|&byte| byte == 0);
            let text = &bytes[..end.unwrap_or(bytes.len().min(40))];
            return Err(KernelListPartError::Version(String::from_utf8_lossy(text).into_owned()));
        }
        c.take(VERSION.len())?;
        let (offset, total, length, zero) = (c.u32()?, c.u32()?, c.u32()?, c.u32()?);
        let require = |holds: bool, what, value: u32| match holds {
            true => Ok(()),
            false => Err(KernelListPartError::Impossible(what, u64::from(value))),
        };
        let whole = |value: u32| usize::try_from(value).unwrap_or(usize::MAX);
        require(zero == 0, "last word", zero)?;
        require(total > 0 && whole(total) <= MOST_PACKED, "size of the whole", total)?;
        let ends = offset.checked_add(length).is_some_and(|end| end <= total);
        require(ends && length > 0, "length", length)?;
        let bytes = c.take(whole(length))?;
        let padding = c.rest();
        require(padding.len() < 8 && padding.iter().all(|&byte| byte == 0), "end", length)?;
        Ok(KernelListPart { offset, total, bytes })
    }

    pub(crate) fn encode(&self, w: &mut ByteWriter<'_>) {
        w.raw(VERSION);
        w.u32(self.offset);
        w.u32(self.total);
        w.u32(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        w.u32(0);
        let start = w.len();
        w.raw(self.bytes);
        w.pad(start, 8);
    }
}

/// Puts the parts of a stream together. It takes no more memory than the
/// parts have bytes.
#[derive(Debug, Default)]
pub(crate) struct KernelListAssembler {
    open: Option<(u32, Vec<u8>)>,
}

impl KernelListAssembler {
    /// Takes in the next part; gives the list that it completes.
    pub(crate) fn add(
        &mut self,
        part: KernelListPart<'_>,
    ) -> Result<Option<Arc<PackedKernelList>>, IncompleteKernelList> {
        let KernelListPart { offset, total, bytes } = part;
        if offset == 0 {
            self.open = Some((total, Vec::new()));
        }
        let there = |bytes: &Vec<u8>| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        match &mut self.open {
            Some((whole, kept)) if *whole == total && there(kept) == offset => {
                kept.extend_from_slice(bytes);
                if there(kept) < total {
                    return Ok(None);
                }
            }
            open => {
                let missing = open.take().map_or(0, |(_, kept)| there(&kept));
                return Err(IncompleteKernelList { offset, missing });
            }
        }
        let whole = self.open.take();
        Ok(whole.map(|(_, bytes)| Arc::new(PackedKernelList::of(bytes))))
    }
}
