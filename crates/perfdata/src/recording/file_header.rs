//! `struct perf_file_header` (tools/perf/util/header.h).

use crate::bytes::{ByteOrder, Cursor, Short};
use crate::stream::{FeatureId, Magic, StreamError};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) offset: u64,
    /// Bytes.
    pub(super) size: u64,
}

impl Section {
    pub(super) fn decode(cursor: &mut Cursor<'_>) -> Result<Section, Short> {
        Ok(Section { offset: cursor.u64()?, size: cursor.u64()? })
    }

    /// The first byte after it; None beyond 64 bits.
    pub(super) fn end(self) -> Option<u64> {
        self.offset.checked_add(self.size)
    }

    pub(super) fn is_within(self, length: u64) -> bool {
        self.end().is_some_and(|end| end <= length)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileHeader {
    /// Bytes of an attr and the section of its ids.
    pub(super) entry: u64,
    pub(super) attrs: Section,
    pub(super) data: Section,
    /// Names of events, before Linux 3.10.
    pub(super) event_types: Section,
    /// Features that are listed behind the data, in order.
    pub(super) features: Vec<FeatureId>,
}

impl FileHeader {
    /// Bytes of an offset and a size.
    pub(super) const SECTION: u64 = 16;
    /// Bytes with the bitmap of features; without it there are 72.
    pub(super) const WITH_FEATURES: u64 = 104;
    /// Words of the bitmap.
    pub(super) const BITMAP: u64 = 4;
    /// 64, the first attr, and a page, the longest the kernel takes.
    const ENTRIES: std::ops::RangeInclusive<u64> = 64 + 16..=4096 + 16;

    /// Bytes that [`FileHeader::decode`] wants, of a header that says it has
    /// `size`.
    ///
    /// # Errors
    /// A size that no header has.
    pub(super) fn wanted(size: u64) -> Result<usize, StreamError> {
        match size {
            Magic::SMALLEST_FILE_HEADER => Ok(72),
            FileHeader::WITH_FEATURES.. => Ok(104),
            size => Err(StreamError::HeaderSize { size }),
        }
    }

    /// Reads a header, the magic included, of a file of `length` bytes.
    ///
    /// # Errors
    /// Attrs or data that cannot be in this file.
    pub(super) fn decode(
        bytes: &[u8],
        order: ByteOrder,
        length: u64,
    ) -> Result<FileHeader, StreamError> {
        let left = bytes.len();
        let short = |short: Short| StreamError::Truncated {
            left,
            offset: 0,
            wanted: short.offset + short.wanted,
        };
        let header = FileHeader::parse(bytes, order).map_err(short)?;
        let size = header.entry;
        if !FileHeader::ENTRIES.contains(&size) {
            return Err(StreamError::AttrSize { size });
        }
        let Section { offset, size } = header.attrs;
        if !header.attrs.is_within(length) {
            return Err(StreamError::Section {
                what: "the section of attrs",
                offset,
                size,
                length,
            });
        }
        if size < header.entry {
            return Err(StreamError::NoAttrs { size, each: header.entry });
        }
        let Section { offset, size } = header.data;
        // Data may be cut off, but must begin.
        if offset > length || header.data.end().is_none() {
            return Err(StreamError::Section { what: "the section of data", offset, size, length });
        }
        Ok(header)
    }

    fn parse(bytes: &[u8], order: ByteOrder) -> Result<FileHeader, Short> {
        let mut c = Cursor::new(bytes, order);
        c.take(8)?;
        let size = c.u64()?;
        let entry = c.u64()?;
        let (attrs, data) = (Section::decode(&mut c)?, Section::decode(&mut c)?);
        let event_types = Section::decode(&mut c)?;
        let mut features = Vec::new();
        if size >= FileHeader::WITH_FEATURES {
            let mut words = Vec::new();
            for _ in 0..FileHeader::BITMAP {
                words.push(c.u64()?);
            }
            features = of_bitmap(&words, order);
        }
        Ok(FileHeader { entry, attrs, data, event_types, features })
    }
}

/// Features whose bits are set. The bitmap is an array of the recorder's
/// longs: in big-endian ones of 32 bits the first 32 features are the high
/// half of the first 64 bits. Every recorder tells the hostname, so its bit
/// tells (perf_file_header__read(), tools/perf/util/header.c).
fn of_bitmap(words: &[u64], order: ByteOrder) -> Vec<FeatureId> {
    let is_set = |words: &[u64], id: u64| {
        let word = usize::try_from(id / 64).ok().and_then(|index| words.get(index));
        word.is_some_and(|word| word >> (id % 64) & 1 == 1)
    };
    let halves: Vec<u64> = words.iter().map(|word| word.rotate_left(32)).collect();
    let hostname = FeatureId::HOSTNAME.0;
    let of_halves =
        order == ByteOrder::Big && !is_set(words, hostname) && is_set(&halves, hostname);
    let words = if of_halves { &halves } else { words };
    (0..=FeatureId::LAST.0).filter(|&id| is_set(words, id)).map(FeatureId).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(order: ByteOrder, bitmap: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut w = crate::bytes::ByteWriter::new(&mut bytes, order);
        w.u64(u64::from_le_bytes(*b"PERFILE2"));
        for word in [104, 144, 104, 288, 400, 1000, 0, 0, bitmap, 0, 0, 1 << 63] {
            w.u64(word);
        }
        bytes
    }

    #[test]
    fn both_orders_and_sizes() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = header(order, 1 << 3 | 1 << 12);
            let read = FileHeader::decode(&bytes, order, 2000).unwrap();
            assert_eq!(read.attrs, Section { offset: 104, size: 288 });
            assert_eq!(read.data, Section { offset: 400, size: 1000 });
            assert_eq!(read.features, [3, 12, 255].map(FeatureId));
        }
        let old = FileHeader::parse(&header(ByteOrder::Little, 8)[..72], ByteOrder::Little);
        assert!(old.is_err(), "it says that it has 104");
        assert_eq!(FileHeader::wanted(72), Ok(72));
        assert_eq!(FileHeader::wanted(4096), Ok(104));
        assert!(FileHeader::wanted(80).is_err());
    }

    #[test]
    fn features_of_32_bit_big_endian_recorders() {
        let bytes = header(ByteOrder::Big, (1 << 3 | 1 << 12) << 32 | 1);
        let read = FileHeader::decode(&bytes, ByteOrder::Big, 2000).unwrap();
        assert_eq!(read.features, [3, 12, 32, 223].map(FeatureId));
    }

    #[test]
    fn headers_that_cannot_be_true_are_refused() {
        let order = ByteOrder::Little;
        let with = |at: usize, word: u64| {
            let mut bytes = header(order, 0);
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
            FileHeader::decode(&bytes, order, 2000).map(|_| ()).unwrap_err().to_string()
        };
        assert!(with(16, 72).contains("an attr and its ids have 72 bytes"), "{}", with(16, 72));
        assert!(with(24, 1_900).contains("the section of attrs has 288 bytes at offset 1900"));
        assert!(with(32, 100).contains("describes no event"));
        assert!(with(40, 2_001).contains("the section of data has 1000 bytes at offset 2001"));
        assert!(with(48, u64::MAX).contains("the section of data"));
    }
}
