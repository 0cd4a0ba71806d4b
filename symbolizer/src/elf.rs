//! ELF files: segments, identity, and the symbols that name code.
//!
//! Everything reads through [`object::ReadRef`], so a file is read in pieces
//! with bounded requests and never mapped: whoever owns a sampled program
//! may cut its file short at any moment, which would kill a reader of a
//! mapping with SIGBUS.

pub(crate) mod frame_pointers;
pub(crate) mod head;
pub(crate) mod headers;
pub(crate) mod names;
pub(crate) mod plt;
pub(crate) mod ranges;
pub(crate) mod segments;
pub(crate) mod symbols;

use crate::Routine;
use crate::demangle::demangle;
use head::ElfHead;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::FileHeader;
use object::{Endianness, ReadCache, ReadRef};
use ranges::{Ranges, SymbolHit};
use std::borrow::Cow;
use std::io::{Read, Seek};
use std::ops::Range;
use symbols::Naming;

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    #[error("it does not start with the ELF magic")]
    Magic,
    #[error("{0}")]
    Structure(String),
}

impl From<object::Error> for ElfError {
    fn from(error: object::Error) -> ElfError {
        ElfError::Structure(error.to_string())
    }
}

pub(crate) fn is_64<'data, R: ReadRef<'data>>(data: R) -> Result<bool, ElfError> {
    let ident = data.read_bytes_at(0, 5).map_err(|()| ElfError::Magic)?;
    match ident {
        [0x7f, b'E', b'L', b'F', 1] => Ok(false),
        [0x7f, b'E', b'L', b'F', 2] => Ok(true),
        [0x7f, b'E', b'L', b'F', class] => {
            Err(ElfError::Structure(format!("its class is {class}; 1 and 2 exist")))
        }
        _ => Err(ElfError::Magic),
    }
}

pub(crate) fn head<'data, R: ReadRef<'data>>(data: R) -> Result<ElfHead, ElfError> {
    match is_64(data)? {
        false => head::read::<FileHeader32<Endianness>, R>(data),
        true => head::read::<FileHeader64<Endianness>, R>(data),
    }
}

/// The routines, or the variables, that the file's symbols name. `separate`
/// is the debug file of `data`, whose full symbol table is used instead.
pub(crate) fn ranges<'data, R: ReadRef<'data>>(
    data: R,
    separate: Option<R>,
    naming: Naming,
) -> Result<Ranges, ElfError> {
    match is_64(data)? {
        false => ranges_of::<FileHeader32<Endianness>, R>(data, separate, naming),
        true => ranges_of::<FileHeader64<Endianness>, R>(data, separate, naming),
    }
}

fn ranges_of<'data, Elf: FileHeader, R: ReadRef<'data>>(
    data: R,
    separate: Option<R>,
    naming: Naming,
) -> Result<Ranges, ElfError> {
    let mut tables = symbols::tables::<Elf, R>(data, separate, naming)?;
    if naming == Naming::Code {
        // Without its stubs a program still has its own routines' names.
        let _ = plt::add::<Elf, R>(&mut tables, data);
    }
    Ok(Ranges::new(tables.symbols, tables.strings))
}

/// The symbols of one ELF file.
#[derive(Debug)]
pub struct ElfSymbols {
    pub(crate) head: ElfHead,
    pub(crate) ranges: Ranges,
    /// It has no symbol table, and no debug file was found: its build id, in
    /// words.
    pub(crate) stripped: Option<String>,
}

impl ElfSymbols {
    /// Reads a whole file; `.symtab`, `.dynsym` and PLT stubs.
    pub fn parse(bytes: &[u8]) -> Result<ElfSymbols, ElfError> {
        let (head, ranges) = (head(bytes)?, ranges(bytes, None, Naming::Code)?);
        Ok(ElfSymbols { head, ranges, stripped: None })
    }

    /// Reads what is needed of a file, a piece at a time, as the symbolizer
    /// reads mapped files. What it takes is bounded by a small multiple of
    /// the file's length.
    pub fn read<F: Read + Seek>(file: F) -> Result<ElfSymbols, ElfError> {
        let file = ReadCache::new(file);
        let (head, ranges) = (head(&file)?, ranges(&file, None, Naming::Code)?);
        Ok(ElfSymbols { head, ranges, stripped: None })
    }

    /// Why routines of its own have no names, if [`ElfSymbols::find_for`]
    /// found no symbol table: its build id, in words.
    pub fn stripped(&self) -> Option<&str> {
        self.stripped.as_deref()
    }

    /// NT_GNU_BUILD_ID.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.head.build_id.as_deref()
    }

    /// The link-time address of the code at an offset in the file.
    pub fn translate(&self, offset: u64) -> Option<u64> {
        let translation = self.head.segments.translate(offset)?;
        Some(offset.wrapping_add(translation.delta))
    }

    /// The offset in the file of what was linked for an address; None: the file
    /// does not hold it.
    pub fn offset_of(&self, address: u64) -> Option<u64> {
        self.head.segments.offset_of(address).map(|(offset, _)| offset)
    }

    /// The routine that holds a link-time address.
    pub fn find(&self, address: u64) -> Option<Routine<'_>> {
        self.ranges.find(address).map(|hit| routine(hit, address))
    }

    /// Which link-time addresses belong to which routine: stretches in
    /// address order, none overlapping another. A routine within which
    /// others lie has several stretches, or none. Offsets are those of the
    /// stretches' first addresses.
    pub fn routines(&self) -> impl Iterator<Item = (Range<u64>, Routine<'_>)> {
        self.ranges.iter().map(|(stretch, hit)| {
            let start = stretch.start;
            (stretch, routine(hit, start))
        })
    }

    /// The same stretches without the routines.
    pub fn stretches(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.ranges.iter().map(|(stretch, _)| stretch)
    }
}

pub(crate) fn routine(hit: SymbolHit<'_>, address: u64) -> Routine<'_> {
    let SymbolHit { name, stub, start, end } = hit;
    let name = demangle(name);
    let name = if stub { Cow::Owned(format!("{name}@plt")) } else { name };
    Routine { name, start, end, offset: address.wrapping_sub(start) }
}
