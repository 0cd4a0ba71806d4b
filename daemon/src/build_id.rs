//! The build id of an ELF file, from its notes; reads a few bounded pieces
//! only, as the file may be anything.

use std::fs::File;
use std::os::unix::fs::FileExt;

use record::ByteOrder;
use record::bytes::Cursor;

/// NT_GNU_BUILD_ID.
const BUILD_ID: u32 = 3;
/// PT_NOTE.
const NOTE_SEGMENT: u32 = 4;
/// Program headers looked at; real files have about a dozen.
const MAX_SEGMENTS: usize = 128;
/// Bytes of notes looked at in each segment.
const MAX_NOTES: usize = 16 * 1024;
/// Bytes that MMAP2 has room for.
const MAX_ID: usize = 20;

/// The build id in the notes of an open file; None: no ELF file, no such
/// note, or one longer than the 20 bytes that a record holds.
pub(crate) fn read(file: &File) -> Option<Vec<u8>> {
    let ident = bytes(file, 0, 64)?;
    let (wide, order) = class(&ident)?;
    let table = table(&ident, wide, order)?;
    let headers = bytes(file, table.offset, table.entry * table.count.min(MAX_SEGMENTS))?;
    headers.chunks_exact(table.entry).find_map(|header| {
        let (offset, size) = note_segment(header, wide, order)?;
        let notes = bytes(file, offset, usize::try_from(size).ok()?.min(MAX_NOTES))?;
        in_notes(&notes, order)
    })
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

/// e_phoff, e_phentsize and e_phnum [elf(5)].
fn table(ident: &[u8], wide: bool, order: ByteOrder) -> Option<Table> {
    let (offset_at, sizes_at) = if wide { (32, 54) } else { (28, 42) };
    let offset = word(ident, offset_at, wide, order)?;
    let mut sizes = Cursor::new(ident.get(sizes_at..)?, order);
    let entry = usize::from(sizes.u16().ok()?);
    let count = usize::from(sizes.u16().ok()?);
    (entry >= if wide { 56 } else { 32 }).then_some(Table { offset, entry, count })
}

/// Offset and size of a note segment's bytes in the file.
fn note_segment(header: &[u8], wide: bool, order: ByteOrder) -> Option<(u64, u64)> {
    if Cursor::new(header, order).u32().ok()? != NOTE_SEGMENT {
        return None;
    }
    let (offset_at, size_at) = if wide { (8, 32) } else { (4, 16) };
    Some((word(header, offset_at, wide, order)?, word(header, size_at, wide, order)?))
}

fn word(bytes: &[u8], at: usize, wide: bool, order: ByteOrder) -> Option<u64> {
    let mut cursor = Cursor::new(bytes.get(at..)?, order);
    if wide { cursor.u64().ok() } else { cursor.u32().ok().map(u64::from) }
}

/// The build id among notes; None: there is none, or it is longer than a record
/// holds.
pub(crate) fn in_notes(notes: &[u8], order: ByteOrder) -> Option<Vec<u8>> {
    let mut cursor = Cursor::new(notes, order);
    loop {
        let name_size = usize::try_from(cursor.u32().ok()?).ok()?;
        let size = usize::try_from(cursor.u32().ok()?).ok()?;
        let kind = cursor.u32().ok()?;
        let name = cursor.take(name_size.checked_next_multiple_of(4)?).ok()?;
        let padded = size.checked_next_multiple_of(4)?;
        let id = cursor.take(padded.min(cursor.left())).ok()?;
        if kind == BUILD_ID && name == b"GNU\0" {
            return id
                .get(..size)
                .filter(|id| (1..=MAX_ID).contains(&id.len()))
                .map(<[u8]>::to_vec);
        }
        if id.len() < padded {
            return None;
        }
    }
}

/// Up to `length` bytes at `offset`; None when there are none.
fn bytes(file: &File, offset: u64, length: usize) -> Option<Vec<u8>> {
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

    fn note(kind: u32, name: &[u8], id: &[u8]) -> Vec<u8> {
        let word = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
        let mut note = [word(name.len()), word(id.len()), kind.to_le_bytes()].concat();
        note.extend_from_slice(name);
        note.resize(note.len().next_multiple_of(4), 0);
        note.extend_from_slice(id);
        note.resize(note.len().next_multiple_of(4), 0);
        note
    }

    fn elf(notes: &[u8], claimed: u64) -> File {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(32, 0);
        bytes.extend_from_slice(&64u64.to_le_bytes());
        bytes.resize(54, 0);
        bytes.extend_from_slice(&[56, 0, 1, 0]);
        bytes.resize(64, 0);
        bytes.extend_from_slice(&[4, 0, 0, 0, 4, 0, 0, 0]);
        bytes.extend_from_slice(&120u64.to_le_bytes());
        bytes.resize(96, 0);
        bytes.extend_from_slice(&claimed.to_le_bytes());
        bytes.resize(120, 0);
        bytes.extend_from_slice(notes);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    #[test]
    fn the_id_is_found_after_other_notes() {
        let id: Vec<u8> = (1..=20).collect();
        let notes = [note(1, b"stapsdt\0", b"abc"), note(3, b"GNU\0", &id)].concat();
        assert_eq!(read(&elf(&notes, notes.len() as u64)), Some(id.clone()));
        assert_eq!(read(&elf(&notes, u64::MAX)), Some(id), "a lying size reads what is there");
    }

    #[test]
    fn what_a_record_cannot_hold_is_none() {
        for id in [vec![], vec![7; 21]] {
            let notes = note(3, b"GNU\0", &id);
            assert_eq!(read(&elf(&notes, notes.len() as u64)), None);
        }
        let cut = [20, 0, 0, 0, 255, 255, 255, 255, 3, 0, 0, 0];
        assert_eq!(read(&elf(&cut, 12)), None);
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(b"#!/bin/sh\n").unwrap();
        assert_eq!(read(&text), None);
    }

    #[test]
    fn every_prefix_of_a_real_file_is_survived() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        for length in (0..2048).step_by(7) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes[..length.min(bytes.len())]).unwrap();
            let _ = read(&file);
        }
    }
}
