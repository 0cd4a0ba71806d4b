//! Name -> link-time address: what of a file is called so.

use super::head::ElfHead;
use super::ranges::Binding;
use super::segments::Segments;
use super::symbols::{self, Naming};
use super::{ElfError, head, is_64};
use crate::demangle::demangle;
use object::elf::{FileHeader32, FileHeader64};
use object::{Endianness, ReadCache, ReadRef};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Seek};

/// Names are compared up to this length, as they are shown.
const LONGEST: usize = 4096;

/// What a symbol names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    Routine,
    /// Memory that all threads share.
    Variable,
    /// Memory of which each thread has its own: the address is an offset.
    ThreadLocal,
}

/// A symbol that was asked for by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSymbol {
    /// As in the file: mangled, where the language does so.
    pub raw: String,
    /// As people write it.
    pub name: String,
    /// Link-time address of its first byte.
    pub start: u64,
    /// Bytes; 0: the file does not say.
    pub size: u64,
    pub kind: SymbolKind,
    /// Other files can mean it, too.
    pub is_global: bool,
}

/// The names of one ELF file, and where it is loaded.
#[derive(Debug)]
pub struct ElfNames {
    symbols: Vec<KeptSymbol>,
    segments: Segments,
    is_movable: bool,
    entry: u64,
}

#[derive(Debug)]
struct KeptSymbol {
    raw: Box<[u8]>,
    start: u64,
    size: u64,
    kind: SymbolKind,
    is_global: bool,
}

impl ElfNames {
    /// The names of `data`; `separate` is its debug file.
    pub(crate) fn of<'data, R: ReadRef<'data>>(
        data: R,
        separate: Option<R>,
    ) -> Result<ElfNames, ElfError> {
        let mut symbols = Vec::new();
        let kinds = [
            (Naming::Code, SymbolKind::Routine),
            (Naming::Data, SymbolKind::Variable),
            (Naming::ThreadData, SymbolKind::ThreadLocal),
        ];
        for (naming, kind) in kinds {
            let tables = match is_64(data)? {
                false => symbols::tables::<FileHeader32<Endianness>, R>(data, separate, naming)?,
                true => symbols::tables::<FileHeader64<Endianness>, R>(data, separate, naming)?,
            };
            symbols.extend(tables.symbols.iter().filter_map(|symbol| {
                let table = tables.strings.get(usize::from(symbol.table))?;
                let from = table.get(usize::try_from(symbol.name).ok()?..)?;
                let end = memchr::memchr(0, from).unwrap_or(from.len()).min(LONGEST);
                Some(KeptSymbol {
                    raw: from.get(..end)?.into(),
                    start: symbol.start,
                    size: symbol.end.saturating_sub(symbol.start),
                    kind,
                    is_global: symbol.binding != Binding::Local,
                })
            }));
        }
        let ElfHead { segments, is_movable, entry, .. } = head(data)?;
        Ok(ElfNames { symbols, segments, is_movable, entry })
    }

    /// The names of a file's own tables, read a piece at a time.
    ///
    /// # Errors
    /// It is no ELF file, or does not hold together.
    pub fn read<F: Read + Seek>(file: F) -> Result<ElfNames, ElfError> {
        let file = ReadCache::new(file);
        ElfNames::of(&file, None)
    }

    /// Link-time address of a program's first instruction.
    pub fn entry(&self) -> u64 {
        self.entry
    }

    /// Whether it is loaded anywhere: its addresses differ in each process.
    pub fn is_movable(&self) -> bool {
        self.is_movable
    }

    /// What is called `name`: as the file has it, or as people write it, with
    /// parameters or without. Each address once.
    pub fn called(&self, name: &str) -> Vec<NamedSymbol> {
        // Only what holds its longest word can be it, mangled or not.
        let words = name.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let word = words.max_by_key(|word| word.len()).unwrap_or("").as_bytes();
        let finder = memchr::memmem::Finder::new(word);
        let mut found = BTreeMap::new();
        for symbol in self.symbols.iter().filter(|symbol| finder.find(&symbol.raw).is_some()) {
            let shown = demangle(&symbol.raw);
            let is_it = *symbol.raw == *name.as_bytes()
                || shown == name
                || shown.strip_prefix(name).is_some_and(|rest| rest.starts_with('('));
            if is_it {
                found.entry((symbol.kind as u8, symbol.start)).or_insert_with(|| NamedSymbol {
                    raw: String::from_utf8_lossy(&symbol.raw).into_owned(),
                    name: shown.into_owned(),
                    start: symbol.start,
                    size: symbol.size,
                    kind: symbol.kind,
                    is_global: symbol.is_global,
                });
            }
        }
        found.into_values().collect()
    }

    /// All names of a kind, as people write them.
    pub fn names(&self, kind: SymbolKind) -> impl Iterator<Item = String> + '_ {
        let symbols = self.symbols.iter().filter(move |symbol| symbol.kind == kind);
        symbols.map(|symbol| demangle(&symbol.raw).into_owned())
    }

    /// All names of code and where it begins: bytes from the file's first. One place has each of
    /// its names.
    pub fn routine_offsets(&self) -> impl Iterator<Item = (Cow<'_, str>, u64)> + '_ {
        let routines = self.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Routine);
        routines.filter_map(|symbol| {
            let (offset, _) = self.segments.offset_of(symbol.start)?;
            Some((demangle(&symbol.raw), offset))
        })
    }

    /// Whether an address is one of the file as it was linked.
    pub fn has(&self, address: u64) -> bool {
        let mut segments = self.segments.segments.iter();
        segments.any(|it| address.checked_sub(it.address).is_some_and(|into| into < it.memory))
    }

    /// What was added to the file's addresses where its bytes from `offset` on are
    /// mapped at `start`; modulo 2^64. None: no segment begins there.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = !(self.segments.page.max(1) - 1);
        let mut segments = self.segments.segments.iter();
        let first = segments.find(|it| it.offset & page == offset)?;
        Some(start.wrapping_sub(first.address & page))
    }
}
