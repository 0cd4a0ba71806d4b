//! Address -> entry of an unwind table.

use crate::dwarf::bytes::SectionBytes;
use crate::dwarf::sections::SectionReader;
use gimli::{BaseAddresses, CieOrFde, CommonInformationEntry, UnwindSection};

/// Bytes of `.eh_frame_hdr` before its table, as linkers write it.
const HEADER: usize = 12;
/// Bytes of a row: address and entry, each from the header's start.
const ROW: usize = 8;
/// Bytes of the entries' common parts (CIE) that are read again, where entries
/// do not have that of the one before: usually some 20 each.
const MOST_COMMON: usize = 64 << 20;
/// Version 1; the table's place as signed 32 bits from here, the number of
/// rows as 32 bits, rows as signed 32 bits from the header's start.
const USUAL: [u8; 4] = [1, 0x1b, 0x03, 0x3b];

/// Where the entry of an address starts in its section.
#[derive(Debug)]
pub(super) enum FdeIndex {
    /// As the linker made it.
    Header { bytes: SectionBytes, address: u64, table: u64 },
    /// As it was made here.
    List(Box<[FdeStart]>),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct FdeStart {
    code: u64,
    entry: u64,
}

impl FdeIndex {
    /// The index of `.eh_frame_hdr` at its link-time address; None if it is
    /// not as linkers write it. `table`: address of `.eh_frame`.
    pub(super) fn of_header(bytes: SectionBytes, address: u64, table: u64) -> Option<FdeIndex> {
        let rows = bytes.get(HEADER..)?.len() / ROW;
        let number = usize::try_from(word(&bytes, 8)?.cast_unsigned()).ok()?;
        let is_usual = bytes.get(..4)? == USUAL && number > 0 && number <= rows;
        is_usual.then_some(FdeIndex::Header { bytes, address, table })
    }

    /// The index of a section without one: all entries are read. What stands
    /// behind damage has none, nor has what is behind more of their common
    /// parts than any compiler writes: each entry may name one of megabytes.
    pub(super) fn of_section<'a, S>(section: &S, bases: &BaseAddresses) -> FdeIndex
    where
        S: UnwindSection<SectionReader<'a>>,
    {
        let mut starts = Vec::new();
        let mut entries = section.entries(bases);
        let mut last: Option<(S::Offset, CommonInformationEntry<SectionReader<'a>>)> = None;
        let mut left = MOST_COMMON;
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else { continue };
            let common = |section: &S, bases: &BaseAddresses, at: S::Offset| {
                if let Some((_, known)) = last.as_ref().filter(|(known, _)| *known == at) {
                    return Ok(known.clone());
                }
                let read = section.cie_from_offset(bases, at)?;
                left = left.saturating_sub(read.entry_len());
                last = Some((at, read.clone()));
                Ok(read)
            };
            let parsed = partial.parse(common);
            if left == 0 {
                break;
            }
            if let Ok(fde) = parsed {
                starts.push(FdeStart { code: fde.initial_address(), entry: fde.offset() as u64 });
            }
        }
        starts.sort_unstable_by_key(|it| it.code);
        FdeIndex::List(starts.into())
    }

    /// Where the entry starts that is the nearest below an address.
    pub(super) fn find(&self, address: u64) -> Option<usize> {
        match self {
            FdeIndex::List(starts) => {
                let after = starts.partition_point(|it| it.code <= address);
                usize::try_from(starts.get(after.checked_sub(1)?)?.entry).ok()
            }
            FdeIndex::Header { bytes, address: header, table } => {
                let at = |row: usize| word(bytes, HEADER + row * ROW);
                let code = |row: usize| Some(header.wrapping_add_signed(at(row)?.into()));
                let mut rows = 0..usize::try_from(word(bytes, 8)?.cast_unsigned()).ok()?;
                // The first row beyond the address.
                while !rows.is_empty() {
                    let middle = rows.start + rows.len() / 2;
                    match code(middle)? <= address {
                        true => rows.start = middle + 1,
                        false => rows.end = middle,
                    }
                }
                let row = rows.start.checked_sub(1)?;
                let entry = header.wrapping_add_signed(word(bytes, HEADER + row * ROW + 4)?.into());
                usize::try_from(entry.checked_sub(*table)?).ok()
            }
        }
    }

    /// Bytes that it takes.
    pub(super) fn size(&self) -> usize {
        match self {
            FdeIndex::Header { bytes, .. } => bytes.owned(),
            FdeIndex::List(starts) => std::mem::size_of_val(&**starts),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<i32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(i32::from_le_bytes(word.try_into().ok()?))
}
