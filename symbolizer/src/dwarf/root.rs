//! The first entry of a unit: what holds for the whole unit.

use super::sections::SectionReader;
use gimli::{
    Abbreviations, AttributeValue, DebugAbbrevOffset, DebugAddrBase, DebugLocListsBase,
    DebugRngListsBase, DebugStrOffsetsBase, Dwarf, Reader as _, Section, Unit, UnitHeader,
    UnitType,
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

/// A unit's first entry.
pub(crate) struct Root<'a> {
    pub(crate) unit: Unit<SectionReader<'a>>,
    pub(crate) directory: Option<SectionReader<'a>>,
    /// The file with the rest of the unit.
    pub(crate) split: Option<SectionReader<'a>>,
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
        let (mut low, mut directory, mut split) = (None, None, None);
        let abbreviations = Arc::clone(&unit.abbreviations);
        let mut entries = unit.header.entries_raw(&abbreviations, None)?;
        let abbreviation = entries.read_abbreviation()?.ok_or(gimli::Error::MissingUnitDie)?;
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let value = attribute.value();
            match (attribute.name(), value) {
                (gimli::DW_AT_low_pc, value) => low = Some(value),
                (gimli::DW_AT_comp_dir, value) => directory = Some(value),
                (gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name, value) => split = Some(value),
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
        if let Some(low) = low
            && let Some(low) = dwarf.attr_address(&unit, low)?
        {
            unit.low_pc = low;
        }
        Ok(Root { unit, directory, split })
    }
}

/// The forms of units, within a bound: in a sound file each list of them is
/// read once or is shared, in a hostile one each unit could begin elsewhere in
/// a long one.
pub(crate) struct UnitForms {
    /// Bytes of forms that may still be looked at.
    left: usize,
    /// Those of the last unit that was asked of.
    last: Option<(usize, Arc<Abbreviations>)>,
}

impl UnitForms {
    pub(crate) fn new(dwarf: &Dwarf<SectionReader<'_>>) -> UnitForms {
        let left = dwarf.debug_abbrev.reader().len().saturating_mul(8) + (1 << 16);
        UnitForms { left, last: None }
    }

    /// Those of a unit. None: too many were looked at.
    pub(crate) fn of(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        header: &UnitHeader<SectionReader<'_>>,
    ) -> gimli::Result<Option<Arc<Abbreviations>>> {
        let at = header.debug_abbrev_offset();
        if let Some((_, known)) = self.last.as_ref().filter(|(offset, _)| *offset == at.0) {
            return Ok(Some(Arc::clone(known)));
        }
        if !self.take(dwarf, at)? {
            return Ok(None);
        }
        let all = dwarf.abbreviations(header)?;
        self.last = Some((at.0, Arc::clone(&all)));
        Ok(Some(all))
    }

    /// Whether the list of forms at an offset may be read, too.
    pub(crate) fn take(
        &mut self,
        dwarf: &Dwarf<SectionReader<'_>>,
        at: DebugAbbrevOffset,
    ) -> gimli::Result<bool> {
        let mut forms = *dwarf.debug_abbrev.reader();
        forms.skip(at.0)?;
        let start = forms;
        while skip_form(&mut forms)? != 0 {}
        let left = self.left.checked_sub(start.len() - forms.len());
        self.left = left.unwrap_or(0);
        Ok(left.is_some())
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
