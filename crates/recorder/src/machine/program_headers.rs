//! How an ELF file is loaded, by its program headers; reads a few bounded
//! pieces only, as the file may be anything.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use perfdata::ByteOrder;
use perfdata::bytes::Cursor;

const ET_DYN: u16 = 3;
/// Program headers looked at; real files have about a dozen.
const MAX_HEADERS: usize = 128;

pub(crate) const LOAD: u32 = 1;
pub(crate) const INTERPRETER: u32 = 3;
pub(crate) const NOTE: u32 = 4;
pub(crate) const HEADERS: u32 = 6;

/// The header of a file and its segments [elf(5)].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramHeaders {
    pub(crate) order: ByteOrder,
    /// 64-bit.
    pub(crate) is_wide: bool,
    /// ET_DYN: loaded anywhere.
    pub(crate) is_movable: bool,
    pub(crate) segments: Vec<ProgramHeader>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProgramHeader {
    pub(crate) kind: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    /// Bytes in the file.
    pub(crate) file_size: u64,
    /// Bytes in memory.
    pub(crate) memory_size: u64,
    pub(crate) alignment: u64,
}

impl ProgramHeaders {
    /// None: no ELF file, or none that is whole.
    pub(crate) fn read(file: &File) -> Option<ProgramHeaders> {
        let ident = bytes(file, 0, 64)?;
        let (is_wide, order) = class(&ident)?;
        let kind = Cursor::new(ident.get(16..)?, order).u16().ok()?;
        let table = table(&ident, is_wide, order)?;
        let headers = bytes(file, table.offset, table.entry * table.count.min(MAX_HEADERS))?;
        let segments = headers.chunks_exact(table.entry);
        let segments = segments.filter_map(|header| segment(header, is_wide, order)).collect();
        Some(ProgramHeaders { order, is_wide, is_movable: kind == ET_DYN, segments })
    }

    pub(crate) fn of(&self, kind: u32) -> impl Iterator<Item = &ProgramHeader> {
        self.segments.iter().filter(move |segment| segment.kind == kind)
    }

    /// Addresses that the file has when it is loaded where it wants to be.
    pub(crate) fn span(&self) -> Option<Range<u64>> {
        let start = self.of(LOAD).map(|segment| segment.address).min()?;
        let end = self.of(LOAD).map(|it| it.address.saturating_add(it.memory_size)).max()?;
        Some(start..end)
    }
}

struct Table {
    offset: u64,
    entry: usize,
    count: usize,
}

/// Whether the file is 64-bit, and its byte order.
fn class(ident: &[u8]) -> Option<(bool, ByteOrder)> {
    if ident.get(..4)? != b"\x7fELF" {
        return None;
    }
    let wide = match ident.get(4)? {
        1 => false,
        2 => true,
        _ => return None,
    };
    let order = match ident.get(5)? {
        1 => ByteOrder::Little,
        2 => ByteOrder::Big,
        _ => return None,
    };
    Some((wide, order))
}

/// e_phoff, e_phentsize and e_phnum.
fn table(ident: &[u8], wide: bool, order: ByteOrder) -> Option<Table> {
    let (offset_at, sizes_at) = if wide { (32, 54) } else { (28, 42) };
    let offset = word(ident, offset_at, wide, order)?;
    let mut sizes = Cursor::new(ident.get(sizes_at..)?, order);
    let entry = usize::from(sizes.u16().ok()?);
    let count = usize::from(sizes.u16().ok()?);
    (entry >= if wide { 56 } else { 32 }).then_some(Table { offset, entry, count })
}

fn segment(header: &[u8], wide: bool, order: ByteOrder) -> Option<ProgramHeader> {
    let at =
        |narrow: usize, broad: usize| word(header, if wide { broad } else { narrow }, wide, order);
    Some(ProgramHeader {
        kind: Cursor::new(header, order).u32().ok()?,
        offset: at(4, 8)?,
        address: at(8, 16)?,
        file_size: at(16, 32)?,
        memory_size: at(20, 40)?,
        alignment: at(28, 48)?,
    })
}

/// A word of the file's width.
pub(crate) fn word(bytes: &[u8], at: usize, wide: bool, order: ByteOrder) -> Option<u64> {
    let mut cursor = Cursor::new(bytes.get(at..)?, order);
    if wide { cursor.u64().ok() } else { cursor.u32().ok().map(u64::from) }
}

/// Up to `length` bytes at `offset`; None when there are none.
pub(crate) fn bytes(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while filled < length {
        let at = offset.checked_add(u64::try_from(filled).ok()?)?;
        match file.read_at(&mut bytes[filled..], at) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(filled);
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_running_program_is_where_its_headers_say() {
        let own = ProgramHeaders::read(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert!(own.is_wide && own.is_movable, "rustc makes such programs");
        assert!(own.of(INTERPRETER).count() == 1 && own.of(LOAD).count() > 1);
        let span = own.span().unwrap();
        assert!(own.of(HEADERS).all(|headers| span.contains(&headers.address)));
    }

    #[test]
    fn headers_of_any_prefix_of_a_real_file_are_survived() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        for length in (0..2048).step_by(7) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes[..length.min(bytes.len())]).unwrap();
            let _ = ProgramHeaders::read(&file).and_then(|headers| headers.span());
        }
    }
}
