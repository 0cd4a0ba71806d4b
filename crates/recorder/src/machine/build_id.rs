//! The build id of an ELF file, from its notes; reads a few bounded pieces
//! only, as the file may be anything.

use std::fs::File;

use perfdata::ByteOrder;
use perfdata::bytes::Cursor;

use crate::machine::program_headers::{NOTE, ProgramHeaders, bytes};

const NT_GNU_BUILD_ID: u32 = 3;
/// Bytes of notes looked at in each segment.
const MAX_NOTES: usize = 16 * 1024;
/// Bytes that MMAP2 has room for.
const MAX_ID: usize = 20;

/// The build id in the notes of an open file; None: no ELF file, no such
/// note, or one longer than the 20 bytes that a record holds.
pub(crate) fn read(file: &File) -> Option<Vec<u8>> {
    let headers = ProgramHeaders::read(file)?;
    headers.of(NOTE).find_map(|segment| {
        let size = usize::try_from(segment.file_size).ok()?.min(MAX_NOTES);
        in_notes(&bytes(file, segment.offset, size)?, headers.order)
    })
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
        if kind == NT_GNU_BUILD_ID && name == b"GNU\0" {
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
    fn no_prefix_of_a_real_file_stops_the_search_for_its_id() {
        let bytes = std::fs::read("/proc/self/exe").unwrap();
        for length in (0..2048).step_by(7) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes[..length.min(bytes.len())]).unwrap();
            let _ = read(&file);
        }
    }
}
