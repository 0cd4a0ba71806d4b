//! What functions are called, and where their text begins.

use super::functions::{DebugEntry, DebugPart, refers_to};
use super::root::{Root, UnitHead};
use super::sections::SectionReader;
use super::texts::Texts;
use gimli::{AttributeValue, Dwarf, UnitOffset};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Entries that stand for each other: a call for its callee, that for its
/// declaration.
const MOST_STEPS: usize = 16;
/// Units kept open to read entries of.
const MOST_OPEN: usize = 1024;

#[derive(Clone, Debug, Default)]
pub(crate) struct Name {
    pub(crate) text: Option<Arc<str>>,
    /// It is the linker's name, with namespaces and types, demangled.
    pub(crate) linked: bool,
    pub(crate) start: Option<FunctionStart>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FunctionStart {
    pub(crate) line: u32,
    /// By its number in the line table of the unit that begins there; None: not told, or of
    /// a table that is not read.
    pub(crate) file: Option<NumberedFile>,
}

/// A file of a unit's line table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedFile {
    pub(crate) unit: usize,
    pub(crate) number: u32,
}

/// What an entry and those that it stands for say.
#[derive(Default)]
struct RawName<'a> {
    text: Option<SectionReader<'a>>,
    linked: bool,
    line: Option<u32>,
    file: Option<NumberedFile>,
}

#[derive(Debug, Default)]
pub(crate) struct FunctionNames {
    known: FxHashMap<AskedEntry, Name>,
    pub(crate) texts: Texts,
    main: Heads,
    alternate: Heads,
}

/// An entry, and the unit that names it. Damaged debug info may have units
/// that overlap, each with another reading of the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct AskedEntry {
    entry: DebugEntry,
    /// Where the unit begins, in its own part.
    unit: usize,
    part: DebugPart,
}

#[derive(Clone, Copy)]
pub(crate) struct UnitHome<'d, 'a> {
    pub(crate) part: DebugPart,
    pub(crate) dwarf: &'d Dwarf<SectionReader<'a>>,
    pub(crate) head: &'d UnitHead,
}

impl FunctionNames {
    /// The name of a function by its entry, which is in the unit `home` or is
    /// named by one there.
    ///
    /// As its linker knows it, demangled; else as it is declared.
    pub(crate) fn get<'a>(
        &mut self,
        entry: DebugEntry,
        home: UnitHome<'_, 'a>,
    ) -> gimli::Result<Name> {
        let asked = AskedEntry { entry, unit: home.head.offset, part: home.part };
        if let Some(known) = self.known.get(&asked) {
            return Ok(known.clone());
        }
        let RawName { text, linked, line, file } = self.raw(entry, home)?;
        let text = text.map(|raw| self.texts.name(raw.slice()));
        let start = line.map(|line| FunctionStart { line, file });
        let name = Name { text, linked, start };
        self.known.insert(asked, name.clone());
        Ok(name)
    }

    fn raw<'a>(
        &mut self,
        mut entry: DebugEntry,
        home: UnitHome<'_, 'a>,
    ) -> gimli::Result<RawName<'a>> {
        let UnitHome { part, dwarf, head } = home;
        let mut found = RawName::default();
        for _ in 0..MOST_STEPS {
            let dwarf = match (entry.of, part) {
                (DebugPart::Alternate, own) if own != DebugPart::Alternate => match dwarf.sup() {
                    Some(alternate) => alternate,
                    None => return Ok(found),
                },
                _ => dwarf,
            };
            let own = (entry.of == part).then(|| head.open(dwarf)).transpose()?;
            let own = own.filter(|unit| {
                let end = head.offset.saturating_add(unit.header.length_including_self());
                (head.offset..end).contains(&entry.offset)
            });
            let unit = match (own, entry.of) {
                (Some(unit), _) => unit,
                (None, DebugPart::Main) => self.main.find(dwarf, entry.offset)?,
                (None, DebugPart::Alternate) => self.alternate.find(dwarf, entry.offset)?,
                // A split unit refers to nothing outside.
                (None, DebugPart::Split(_)) => return Ok(found),
            };
            let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
            let at = UnitOffset(entry.offset.saturating_sub(start));
            let mut entries = unit.entries_raw(Some(at))?;
            let Some(abbreviation) = entries.read_abbreviation()? else {
                return Err(gimli::Error::NoEntryAtGivenOffset(entry.offset as u64));
            };
            let mut next = None;
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec)?;
                let value = attribute.value();
                match attribute.name() {
                    gimli::DW_AT_linkage_name | gimli::DW_AT_MIPS_linkage_name if !found.linked => {
                        found.text = Some(dwarf.attr_string(&unit, value)?);
                        found.linked = true;
                    }
                    gimli::DW_AT_name if found.text.is_none() => {
                        found.text = Some(dwarf.attr_string(&unit, value)?);
                    }
                    // What a definition does not say is as in the declaration.
                    gimli::DW_AT_decl_line if found.line.is_none() => {
                        let line = attribute.udata_value().filter(|line| *line > 0);
                        found.line = line.and_then(|line| u32::try_from(line).ok());
                    }
                    gimli::DW_AT_decl_file if found.file.is_none() => {
                        if let (AttributeValue::FileIndex(number), DebugPart::Main) =
                            (value, entry.of)
                        {
                            let number = u32::try_from(number).ok();
                            found.file = number.map(|number| NumberedFile { unit: start, number });
                        }
                    }
                    gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                        next = refers_to(&unit, entry.of, value);
                    }
                    _ => {}
                }
            }
            match next.filter(|_| !found.linked || found.line.is_none()) {
                Some(next) => entry = next,
                None => break,
            }
        }
        Ok(found)
    }
}

/// Units of one file by where they begin.
#[derive(Debug, Default)]
struct Heads {
    offsets: Option<Vec<usize>>,
    open: FxHashMap<usize, UnitHead>,
}

impl Heads {
    fn find<'a>(
        &mut self,
        dwarf: &Dwarf<SectionReader<'a>>,
        offset: usize,
    ) -> gimli::Result<gimli::Unit<SectionReader<'a>>> {
        let offsets = self.offsets.get_or_insert_with(|| {
            let mut offsets = Vec::new();
            let mut units = dwarf.units();
            // Up to the first that is damaged.
            while let Ok(Some(unit)) = units.next() {
                offsets.extend(unit.debug_info_offset().map(|offset| offset.0));
            }
            offsets
        });
        let index = offsets.partition_point(|&start| start <= offset).checked_sub(1);
        let start = index.map(|index| offsets[index]);
        let start = start.ok_or(gimli::Error::NoEntryAtGivenOffset(offset as u64))?;
        if let Some(head) = self.open.get(&start) {
            return head.open(dwarf);
        }
        if self.open.len() >= MOST_OPEN {
            self.open.clear();
        }
        let header = dwarf.unit_header(gimli::DebugInfoOffset(start))?;
        let root = Root::read(dwarf, header, dwarf.abbreviations(&header)?)?;
        self.open.insert(start, root.head());
        Ok(root.unit)
    }
}
