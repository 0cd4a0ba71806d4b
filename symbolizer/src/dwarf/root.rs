//! The first entry of a unit: what holds for the whole unit.

use super::sections::SectionReader;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrev, DebugAbbrevOffset, DebugAddrBase, DebugLineOffset,
    DebugLocListsBase, DebugRngListsBase, DebugStrOffsetsBase, Dwarf, DwoId, Reader as _, Section,
    Unit, UnitHeader, UnitType,
};
use std::sync::Arc;

/// Where code lies, as an entry tells it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodeAttributes<'a> {
    low: Option<AttributeValue<SectionReader<'a>>>,
    high: Option<AttributeValue<SectionReader<'a>>>,
    ranges: Option<AttributeValue<SectionReader<'a>>>,
}

impl<'a> CodeAttributes<'a> {
    /// Takes in an attribute if it is one of these.
    pub fn take(&mut self, name: gimli::DwAt, value: AttributeValue<SectionReader<'a>>) {
        match name {
            gimli::DW_AT_low_pc => self.low = Some(value),
            gimli::DW_AT_high_pc => self.high = Some(value),
            gimli::DW_AT_ranges => self.ranges = Some(value),
            _ => {}
        }
    }

    /// Whether it can have code at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_none() && (self.low.is_none() || self.high.is_none())
    }

    /// Each range with at least one address, by link-time addresses, in the
    /// order of the entry. Ranges that begin before `first`, where the file's
    /// code begins, are of code that a linker left out.
    ///
    /// # Errors
    /// A list of ranges that cannot be read, and what `told` says.
    pub fn each(
        &self,
        dwarf: &Dwarf<SectionReader<'a>>,
        unit: &Unit<SectionReader<'a>>,
        first: u64,
        mut told: impl FnMut(u64, u64) -> gimli::Result<()>,
    ) -> gimli::Result<()> {
        let mut told = |low: u64, high: u64| match low < first {
            true => Ok(()),
            false => told(low, high),
        };
        if let Some(ranges) = self.ranges {
            let Some(mut ranges) = dwarf.attr_ranges(unit, ranges)? else { return Ok(()) };
            while let Some(range) = ranges.next()? {
                told(range.begin, range.end)?;
            }
            return Ok(());
        }
        let (Some(low), Some(high)) = (self.low, self.high) else { return Ok(()) };
        let Some(low) = dwarf.attr_address(unit, low)? else { return Ok(()) };
        let high = match high.udata_value() {
            Some(length) => low.checked_add(length),
            None => dwarf.attr_address(unit, high)?,
        };
        match high.filter(|&high| low < high && !unit.is_tombstone_address(low)) {
            Some(high) => told(low, high),
            None => Ok(()),
        }
    }
}

/// What is kept of a unit to read its entries again.
#[derive(Clone, Debug)]
pub(crate) struct UnitHead {
    /// Where it begins in its section.
    pub(crate) offset: usize,
    pub(crate) abbreviations: Arc<Abbreviations>,
    low_pc: u64,
    str_offsets_base: DebugStrOffsetsBase<usize>,
    addr_base: DebugAddrBase<usize>,
    rnglists_base: DebugRngListsBase<usize>,
}

impl UnitHead {
    pub(crate) fn open<'a>(
        &self,
        dwarf: &Dwarf<SectionReader<'a>>,
    ) -> gimli::Result<Unit<SectionReader<'a>>> {
        Ok(Unit {
            header: dwarf.unit_header(gimli::DebugInfoOffset(self.offset))?,
            abbreviations: Arc::clone(&self.abbreviations),
            name: None,
            comp_dir: None,
            low_pc: self.low_pc,
            str_offsets_base: self.str_offsets_base,
            addr_base: self.addr_base,
            loclists_base: DebugLocListsBase(0),
            rnglists_base: self.rnglists_base,
            line_program: None,
            dwo_id: None,
        })
    }

    /// Gives a split unit what it takes from its skeleton, which this is of.
    pub(crate) fn lend(&self, split: &mut Unit<SectionReader<'_>>) {
        split.low_pc = self.low_pc;
        split.addr_base = self.addr_base;
        if split.header.version() < 5 {
            split.rnglists_base = self.rnglists_base;
        }
    }
}

/// A unit's first entry.
pub(crate) struct Root<'a> {
    pub(crate) unit: Unit<SectionReader<'a>>,
    pub(crate) tag: gimli::DwTag,
    pub(crate) lines: Option<DebugLineOffset<usize>>,
    pub(crate) directory: Option<SectionReader<'a>>,
    /// The file with the rest of the unit.
    pub(crate) split: Option<SectionReader<'a>>,
    pub(crate) code: CodeAttributes<'a>,
    /// In its language a declared name is not all of a name.
    pub(crate) mangles: bool,
    /// In its language no function is declared within a type.
    pub(crate) is_flat: bool,
}

impl<'a> Root<'a> {
    pub(crate) fn read(
        dwarf: &Dwarf<SectionReader<'a>>,
        header: UnitHeader<SectionReader<'a>>,
        abbreviations: Arc<Abbreviations>,
    ) -> gimli::Result<Root<'a>> {
        let (encoding, file_type) = (header.encoding(), dwarf.file_type);
        let dwo_id = match header.type_() {
            UnitType::Skeleton(id) | UnitType::SplitCompilation(id) => Some(id),
            _ => None,
        };
        let mut unit = Unit {
            header,
            abbreviations,
            name: None,
            comp_dir: None,
            low_pc: 0,
            str_offsets_base: DebugStrOffsetsBase::default_for_encoding_and_file(
                encoding, file_type,
            ),
            addr_base: DebugAddrBase(0),
            loclists_base: DebugLocListsBase::default_for_encoding_and_file(encoding, file_type),
            rnglists_base: DebugRngListsBase::default_for_encoding_and_file(encoding, file_type),
            line_program: None,
            dwo_id,
        };
        let mut code = CodeAttributes::default();
        let (mut lines, mut directory, mut split) = (None, None, None);
        let (mut mangles, mut is_flat) = (false, false);
        let abbreviations = Arc::clone(&unit.abbreviations);
        let mut entries = unit.header.entries_raw(&abbreviations, None)?;
        let abbreviation = entries.read_abbreviation()?.ok_or(gimli::Error::MissingUnitDie)?;
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let value = attribute.value();
            code.take(attribute.name(), value);
            match (attribute.name(), value) {
                (gimli::DW_AT_comp_dir, value) => directory = Some(value),
                (gimli::DW_AT_language, AttributeValue::Language(language)) => {
                    mangles = has_mangled_names(language);
                    is_flat = is_c(language);
                }
                (gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name, value) => split = Some(value),
                (gimli::DW_AT_stmt_list, AttributeValue::DebugLineRef(at)) => lines = Some(at),
                (gimli::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => {
                    unit.str_offsets_base = base;
                }
                (
                    gimli::DW_AT_addr_base | gimli::DW_AT_GNU_addr_base,
                    AttributeValue::DebugAddrBase(base),
                ) => unit.addr_base = base,
                (
                    gimli::DW_AT_rnglists_base | gimli::DW_AT_GNU_ranges_base,
                    AttributeValue::DebugRngListsBase(base),
                ) => unit.rnglists_base = base,
                (gimli::DW_AT_loclists_base, AttributeValue::DebugLocListsBase(base)) => {
                    unit.loclists_base = base;
                }
                (gimli::DW_AT_GNU_dwo_id, AttributeValue::DwoId(id)) => unit.dwo_id = Some(id),
                _ => {}
            }
        }
        let text = |value: Option<AttributeValue<SectionReader<'a>>>| {
            dwarf.attr_string(&unit, value?).ok()
        };
        let (directory, split) = (text(directory), text(split));
        if let Some(low) = code.low
            && let Some(low) = dwarf.attr_address(&unit, low)?
        {
            unit.low_pc = low;
        }
        Ok(Root { unit, tag: abbreviation.tag(), lines, directory, split, code, mangles, is_flat })
    }

    pub(crate) fn head(&self) -> UnitHead {
        let Unit { low_pc, str_offsets_base, addr_base, rnglists_base, .. } = self.unit;
        UnitHead {
            offset: self.unit.header.debug_info_offset().map_or(0, |offset| offset.0),
            abbreviations: Arc::clone(&self.unit.abbreviations),
            low_pc,
            str_offsets_base,
            addr_base,
            rnglists_base,
        }
    }

    pub(crate) fn dwo_id(&self) -> Option<DwoId> {
        self.unit.dwo_id
    }
}

fn is_c(language: gimli::DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C
            | gimli::DW_LANG_C89
            | gimli::DW_LANG_C99
            | gimli::DW_LANG_C11
            | gimli::DW_LANG_C17
    )
}

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

/// Finds the form of units' first entries without reading all forms of each
/// unit.
pub(crate) struct RootForms {
    /// Bytes of forms that may still be looked at: in a sound file the first
    /// entry's form is the first or nearly so.
    left: usize,
    /// Those of the last unit that all were asked of.
    last: Option<(usize, Arc<Abbreviations>)>,
}

impl RootForms {
    pub(crate) fn new(dwarf: &Dwarf<SectionReader<'_>>) -> RootForms {
        let left = dwarf.debug_abbrev.reader().len().saturating_mul(8) + (1 << 16);
        RootForms { left, last: None }
    }

    /// The one form that a unit's first entry has. None: too many were looked
    /// at.
    pub(crate) fn of(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        header: &UnitHeader<SectionReader<'_>>,
    ) -> gimli::Result<Option<Arc<Abbreviations>>> {
        let mut root = header.range_from(header.root_offset()..)?;
        let wanted = root.read_uleb128()?;
        let mut forms = *dwarf.debug_abbrev.reader();
        forms.skip(header.debug_abbrev_offset().0)?;
        while self.left > 0 {
            let start = forms;
            let code = skip_form(&mut forms)?;
            if code == 0 {
                break;
            }
            let length = start.len() - forms.len();
            self.left = self.left.saturating_sub(length);
            if code == wanted {
                let mut bytes = start.slice()[..length].to_vec();
                bytes.push(0);
                let one = DebugAbbrev::new(&bytes, forms.endian());
                return one.abbreviations(DebugAbbrevOffset(0)).map(|one| Some(Arc::new(one)));
            }
        }
        match self.left {
            0 => Ok(None),
            _ => Err(gimli::Error::InvalidAbbreviationCode(wanted)),
        }
    }

    /// All forms of a unit. None: too many were looked at.
    pub(crate) fn all(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        header: &UnitHeader<SectionReader<'_>>,
    ) -> gimli::Result<Option<Arc<Abbreviations>>> {
        let at = header.debug_abbrev_offset().0;
        if let Some((_, known)) = self.last.as_ref().filter(|(offset, _)| *offset == at) {
            return Ok(Some(Arc::clone(known)));
        }
        let mut forms = *dwarf.debug_abbrev.reader();
        forms.skip(at)?;
        let start = forms;
        while skip_form(&mut forms)? != 0 {}
        let Some(left) = self.left.checked_sub(start.len() - forms.len()) else { return Ok(None) };
        self.left = left;
        let all = dwarf.abbreviations(header)?;
        self.last = Some((at, Arc::clone(&all)));
        Ok(Some(all))
    }
}

/// Passes over a form, and gives its code; 0 ends the forms of a unit.
fn skip_form(forms: &mut SectionReader<'_>) -> gimli::Result<u64> {
    let code = forms.read_uleb128()?;
    if code == 0 {
        return Ok(0);
    }
    forms.read_uleb128()?;
    forms.read_u8()?;
    loop {
        let name = forms.read_uleb128()?;
        let form = forms.read_uleb128()?;
        if form == u64::from(gimli::DW_FORM_implicit_const.0) {
            forms.read_sleb128()?;
        }
        if (name, form) == (0, 0) {
            return Ok(code);
        }
    }
}
