//! The parts of a blob.

use super::{BtfError, MAGIC};

#[derive(Clone, Copy, Debug)]
pub(super) struct BtfBytes<'b> {
    types: &'b [u8],
    pub(super) strings: &'b [u8],
    pub(super) is_little: bool,
}

impl<'b> BtfBytes<'b> {
    pub(super) fn of(blob: &'b [u8]) -> Result<BtfBytes<'b>, BtfError> {
        let magic = blob.first_chunk::<2>().ok_or(BtfError::Magic)?;
        let is_little = match (u16::from_le_bytes(*magic), u16::from_be_bytes(*magic)) {
            (MAGIC, _) => true,
            (_, MAGIC) => false,
            _ => return Err(BtfError::Magic),
        };
        let header = BtfBytes { types: blob, strings: &[], is_little };
        let word = |at| header.word(at).and_then(|word| usize::try_from(word).ok());
        let part = |what, at: usize| {
            let beyond = BtfError::Header(what, blob.len());
            let start = word(4).zip(word(at)).and_then(|(header, at)| header.checked_add(at));
            let end = start.zip(word(at + 4)).and_then(|(start, size)| start.checked_add(size));
            start.zip(end).and_then(|(start, end)| blob.get(start..end)).ok_or(beyond)
        };
        let (types, strings) = (part("a list of types", 8)?, part("a list of names", 16)?);
        Ok(BtfBytes { types, strings, is_little })
    }

    pub(super) fn word(&self, at: usize) -> Option<u32> {
        let bytes = *self.types.get(at..)?.first_chunk::<4>()?;
        Some(if self.is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
    }

    /// A name; empty: there is none.
    pub(super) fn text(&self, at: u32) -> &'b [u8] {
        let rest = usize::try_from(at).ok().and_then(|at| self.strings.get(at..));
        let rest = rest.unwrap_or_default();
        &rest[..rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len())]
    }

    pub(super) fn is_continued(&self) -> bool {
        // The first name of a whole one is empty.
        self.strings.first().is_some_and(|&byte| byte != 0)
    }

    /// How many types it has: up to the first that is cut short.
    pub(super) fn count(&self) -> u32 {
        let (mut at, mut count) = (0_usize, 0);
        while let Some(info) = self.word(at.saturating_add(4)) {
            let items = usize::try_from(info & 0xffff).unwrap_or(0);
            let more = match info >> 24 & 0x1f {
                1 | 14 | 17 => 4,
                3 => 12,
                4 | 5 | 15 | 19 => 12 * items,
                6 | 13 => 8 * items,
                _ => 0,
            };
            at = at.saturating_add(12 + more);
            if at > self.types.len() {
                break;
            }
            count += 1;
        }
        count
    }
}
