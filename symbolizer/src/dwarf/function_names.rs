//! What functions are called, and where their text begins.

use super::guarded_reader::GuardedReader;
use super::string_interner::StringInterner;
use addr2line::FunctionName;
use gimli::{
    AttributeValue, DebugInfoOffset, Dwarf, DwarfFileType, Reader as _, UnitOffset, UnitRef,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Entries that stand for each other: a call for its callee, that for its
/// declaration.
const MOST_STEPS: usize = 16;

/// What is known of a function, or of a call that was inlined.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownFunction {
    pub(crate) name: Option<Arc<str>>,
    /// The name lacks the namespaces and types of its language.
    pub(crate) is_short: bool,
    first_line: Option<u32>,
    /// The file of that line. None: not told, or of a table that is not read.
    file: Option<Arc<str>>,
}

impl KnownFunction {
    /// Line that its text begins at, if that is of the same file as a place in it.
    pub(crate) fn first_line(&self, place: Option<&Arc<str>>) -> Option<u32> {
        let is_here = match (&self.file, place) {
            (Some(file), Some(place)) => file == place,
            _ => true,
        };
        self.first_line.filter(|_| is_here)
    }
}

/// A unit by where it begins, or, of a split one, by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum UnitKey {
    Main(usize),
    Split(u64),
}

#[derive(Debug, Default)]
pub(crate) struct FunctionNames {
    known: FxHashMap<(UnitKey, usize), KnownFunction>,
    pub(crate) texts: StringInterner,
    main: UnitStarts,
    alternate: UnitStarts,
}

impl FunctionNames {
    /// What is known of the function whose entry is at an offset of a unit.
    pub(crate) fn get<'a>(
        &mut self,
        unit: UnitRef<'_, GuardedReader<'a>>,
        at: UnitOffset,
        name: Option<&FunctionName<GuardedReader<'a>>>,
    ) -> gimli::Result<&KnownFunction> {
        let unit_key = match (unit.dwarf.file_type, unit.dwo_id) {
            (DwarfFileType::Dwo, Some(id)) => UnitKey::Split(id.0),
            _ => UnitKey::Main(unit.header.debug_info_offset().map_or(0, |offset| offset.0)),
        };
        let key = (unit_key, at.0);
        if !self.known.contains_key(&key) {
            let mut function = self.start(unit, at)?;
            if let Some(name) = name {
                let raw = name.name.bytes();
                let is_mangled = raw.starts_with(b"_Z") || raw.starts_with(b"_R");
                let language = name.language.or_else(|| language(unit));
                function.is_short = !is_mangled && language.is_some_and(has_mangled_names);
                function.name = Some(self.texts.name(raw));
            }
            self.known.insert(key, function);
        }
        Ok(&self.known[&key])
    }

    /// Where it begins: what a definition does not say is as in the declaration.
    fn start<'a>(
        &mut self,
        unit: UnitRef<'_, GuardedReader<'a>>,
        mut at: UnitOffset,
    ) -> gimli::Result<KnownFunction> {
        let mut found = KnownFunction::default();
        let mut is_own_file = unit.dwarf.file_type == DwarfFileType::Main;
        let (mut dwarf, mut header) = (unit.dwarf, unit.header);
        let mut abbreviations = Arc::clone(&unit.abbreviations);
        for _ in 0..MOST_STEPS {
            let mut entries = header.entries_raw(&abbreviations, Some(at))?;
            let Some(abbreviation) = entries.read_abbreviation()? else {
                return Err(gimli::Error::NoEntryAtGivenOffset(at.0 as u64));
            };
            let mut next = None;
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec)?;
                match (attribute.name(), attribute.value()) {
                    (gimli::DW_AT_decl_line, _) if found.first_line.is_none() => {
                        let line = attribute.udata_value().filter(|line| *line > 0);
                        found.first_line = line.and_then(|line| u32::try_from(line).ok());
                    }
                    (gimli::DW_AT_decl_file, AttributeValue::FileIndex(number))
                        if found.file.is_none() && is_own_file =>
                    {
                        found.file = path(unit, number).map(|path| self.texts.file(&path));
                    }
                    (gimli::DW_AT_abstract_origin | gimli::DW_AT_specification, value) => {
                        next = Some(value);
                    }
                    _ => {}
                }
            }
            let is_known = found.first_line.is_some() && (found.file.is_some() || !is_own_file);
            let (starts, offset) = match next.filter(|_| !is_known) {
                Some(AttributeValue::UnitRef(offset)) => {
                    at = offset;
                    continue;
                }
                Some(AttributeValue::DebugInfoRef(offset))
                    if dwarf.file_type == DwarfFileType::Main =>
                {
                    match std::ptr::eq(dwarf, unit.dwarf) {
                        true => (&mut self.main, offset),
                        false => (&mut self.alternate, offset),
                    }
                }
                Some(AttributeValue::DebugInfoRefSup(offset)) => {
                    let Some(alternate) = dwarf.sup() else { break };
                    dwarf = alternate;
                    (&mut self.alternate, offset)
                }
                _ => break,
            };
            let start = starts.find(dwarf, offset)?;
            header = dwarf.unit_header(start)?;
            abbreviations = dwarf.abbreviations(&header)?;
            at = UnitOffset(offset.0 - start.0);
            is_own_file &=
                std::ptr::eq(dwarf, unit.dwarf) && unit.header.debug_info_offset() == Some(start);
        }
        Ok(found)
    }
}

/// Where the units of one file begin.
#[derive(Debug, Default)]
struct UnitStarts(Option<Vec<usize>>);

impl UnitStarts {
    /// Where the unit begins that has an entry.
    fn find(
        &mut self,
        dwarf: &Dwarf<GuardedReader<'_>>,
        entry: DebugInfoOffset,
    ) -> gimli::Result<DebugInfoOffset> {
        let starts = self.0.get_or_insert_with(|| {
            let mut starts = Vec::new();
            let mut units = dwarf.units();
            // Up to the first that is damaged.
            while let Ok(Some(unit)) = units.next() {
                starts.extend(unit.debug_info_offset().map(|offset| offset.0));
            }
            starts
        });
        let index = starts.partition_point(|&start| start <= entry.0).checked_sub(1);
        let start = index.map(|index| DebugInfoOffset(starts[index]));
        start.ok_or(gimli::Error::NoEntryAtGivenOffset(entry.0 as u64))
    }
}

/// The path of a file of a unit's line table, as addr2line joins it.
fn path(unit: UnitRef<'_, GuardedReader<'_>>, number: u64) -> Option<String> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(number).filter(|_| number > 0 || header.version() >= 5)?;
    let mut path = String::new();
    if let Some(directory) = &unit.comp_dir {
        append(&mut path, *directory)?;
    }
    if file.directory_index() != 0
        && let Some(directory) = file.directory(header)
    {
        append(&mut path, unit.attr_string(directory).ok()?)?;
    }
    append(&mut path, unit.attr_string(file.path_name()).ok()?)?;
    Some(path)
}

fn append(path: &mut String, part: GuardedReader<'_>) -> Option<()> {
    let part = part.to_string_lossy().ok()?;
    if part.starts_with('/') {
        path.clear();
    } else if !path.is_empty() && !path.ends_with('/') {
        path.push('/');
    }
    path.push_str(&part);
    Some(())
}

/// The language of a unit, of which its skeleton says nothing.
fn language(unit: UnitRef<'_, GuardedReader<'_>>) -> Option<gimli::DwLang> {
    let root = unit.entry(unit.header.root_offset()).ok()?;
    match root.attr_value(gimli::DW_AT_language)? {
        AttributeValue::Language(language) => Some(language),
        _ => None,
    }
}

/// In such a language a declared name is not all of a name.
fn has_mangled_names(language: gimli::DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20
            | gimli::DW_LANG_ObjC_plus_plus
            | gimli::DW_LANG_Rust
    )
}
