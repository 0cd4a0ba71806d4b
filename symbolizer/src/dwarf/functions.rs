//! Which function of a unit holds an address, and what was inlined there.

use super::lines::LineSpot;
use super::pieces::{OwnedSpan, Pieces};
use super::root::CodeAttributes;
use super::sections::SectionReader;
use gimli::{AttributeValue, Dwarf, Unit, UnitOffset};

/// Calls inlined into each other; compilers make some tens.
const MOST_NESTED: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DebugEntry {
    /// Which sections it is in.
    pub(crate) of: DebugPart,
    /// From their start.
    pub(crate) offset: usize,
}

/// Debug info is spread over files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum DebugPart {
    /// The file that was opened.
    Main,
    /// What several files share (.gnu_debugaltlink).
    Alternate,
    /// The rest of a unit, by the order in which such were opened.
    Split(u32),
}

#[derive(Debug)]
pub(crate) struct Functions {
    pieces: Pieces,
    entries: Vec<UnitOffset<usize>>,
    /// Beside the entries, read when first asked for.
    calls: Vec<Option<Calls>>,
}

/// The calls that were inlined into one function.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    pieces: Pieces,
    calls: Vec<Call>,
}

/// An inlined call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) callee: DebugEntry,
    pub(crate) from: LineSpot,
    /// The call that it was inlined into; none: the function itself.
    within: Option<u32>,
}

impl Functions {
    /// Those of a unit, inlined calls left for later. `is_flat`: no type has
    /// functions within. `first`: where the file's code begins.
    pub(crate) fn read<'a>(
        dwarf: &Dwarf<SectionReader<'a>>,
        unit: &Unit<SectionReader<'a>>,
        is_flat: bool,
        first: u64,
    ) -> gimli::Result<Functions> {
        let mut found = Vec::new();
        let mut spans = Vec::new();
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            let has_code = abbreviation.tag() == gimli::DW_TAG_subprogram
                && abbreviation
                    .attributes()
                    .iter()
                    .any(|spec| matches!(spec.name(), gimli::DW_AT_low_pc | gimli::DW_AT_ranges));
            if is_flat && is_type(abbreviation) {
                if let Some(sibling) = sibling(&mut entries, abbreviation)?
                    && sibling.0 > entries.next_offset().0
                {
                    entries = unit.entries_raw(Some(sibling))?;
                }
                continue;
            }
            if !has_code {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            let mut code = CodeAttributes::default();
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec)?;
                code.take(attribute.name(), attribute.value());
            }
            let owner = u32::try_from(found.len()).unwrap_or(u32::MAX);
            let before = spans.len();
            code.each(dwarf, unit, first, |start, end| {
                spans.push(OwnedSpan { start, end, owner });
                Ok(())
            })?;
            if spans.len() > before {
                found.push(offset);
            }
        }
        let calls = std::iter::repeat_with(|| None).take(found.len()).collect();
        Ok(Functions { pieces: Pieces::new(spans), entries: found, calls })
    }

    /// The function at an address, by number.
    pub(crate) fn find(&self, address: u64) -> Option<usize> {
        usize::try_from(self.pieces.find(address)?).ok()
    }

    pub(crate) fn entry(&self, function: usize) -> UnitOffset<usize> {
        self.entries[function]
    }

    /// What was inlined into a function, if that was read already.
    pub(crate) fn calls(&self, function: usize) -> Option<&Calls> {
        self.calls[function].as_ref()
    }

    /// Keeps what was read; gives its bytes.
    pub(crate) fn keep(&mut self, function: usize, calls: Calls) -> usize {
        let size = calls.size();
        self.calls[function] = Some(calls);
        size
    }

    pub(crate) fn extents(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pieces.extents()
    }

    /// Bytes of memory, inlined calls left out.
    pub(crate) fn size(&self) -> usize {
        self.pieces.size()
            + self.entries.len() * (size_of::<UnitOffset<usize>>() + size_of::<Option<Calls>>())
    }
}

impl Calls {
    /// Those of the function whose entry is at `offset`. `first`: where the
    /// file's code begins.
    pub(crate) fn read<'a>(
        dwarf: &Dwarf<SectionReader<'a>>,
        unit: &Unit<SectionReader<'a>>,
        part: DebugPart,
        offset: UnitOffset<usize>,
        first: u64,
    ) -> Result<Calls, String> {
        let failed = |error: gimli::Error| error.to_string();
        let mut entries = unit.entries_raw(Some(offset)).map_err(failed)?;
        let own = entries.next_depth();
        let mut calls = Vec::new();
        let mut spans = Vec::new();
        // Calls around the entry: their depth and number.
        let mut around: Vec<(isize, u32)> = Vec::new();
        // Depth of a function within this one: what is in there is its own.
        let mut hidden: Option<isize> = None;
        while !entries.is_empty() {
            let (depth, at) = (entries.next_depth(), entries.next_offset());
            if depth <= own && at != offset {
                break;
            }
            let Some(abbreviation) = entries.read_abbreviation().map_err(failed)? else { continue };
            if hidden.is_some_and(|hidden| depth <= hidden) {
                hidden = None;
            }
            while around.last().is_some_and(|&(outer, _)| outer >= depth) {
                around.pop();
            }
            if abbreviation.tag() != gimli::DW_TAG_inlined_subroutine || hidden.is_some() {
                if abbreviation.tag() == gimli::DW_TAG_subprogram && at != offset {
                    hidden = hidden.or(Some(depth));
                }
                entries.skip_attributes(abbreviation.attributes()).map_err(failed)?;
                continue;
            }
            if around.len() >= MOST_NESTED {
                return Err(format!(
                    "more than {MOST_NESTED} calls inlined into each other at {:#x}",
                    at.0
                ));
            }
            let callee = DebugEntry { of: part, offset: in_section(unit, at) };
            let from = LineSpot { file: 0, line: 0, column: 0 };
            let within = around.last().map(|&(_, number)| number);
            let mut call = Call { callee, from, within };
            let mut code = CodeAttributes::default();
            for spec in abbreviation.attributes() {
                let attribute = entries.read_attribute(*spec).map_err(failed)?;
                code.take(attribute.name(), attribute.value());
                call.take(unit, &attribute);
            }
            let number = u32::try_from(calls.len()).map_err(|_| "too many calls".to_owned())?;
            calls.push(call);
            around.push((depth, number));
            code.each(dwarf, unit, first, |start, end| {
                spans.push(OwnedSpan { start, end, owner: number });
                Ok(())
            })
            .map_err(failed)?;
        }
        calls.shrink_to_fit();
        Ok(Calls { pieces: Pieces::new(spans), calls })
    }

    /// The calls at an address, the innermost first.
    pub(crate) fn find(&self, address: u64) -> impl Iterator<Item = &Call> {
        let call = |number: u32| self.calls.get(usize::try_from(number).ok()?);
        let innermost = self.pieces.find(address).and_then(call);
        std::iter::successors(innermost, move |inner| call(inner.within?))
    }

    fn size(&self) -> usize {
        self.pieces.size() + self.calls.len() * size_of::<Call>()
    }
}

impl Call {
    fn take(
        &mut self,
        unit: &Unit<SectionReader<'_>>,
        attribute: &gimli::Attribute<SectionReader<'_>>,
    ) {
        let number = || u32::try_from(attribute.udata_value().unwrap_or(0)).unwrap_or(u32::MAX);
        match attribute.name() {
            gimli::DW_AT_abstract_origin => {
                if let Some(callee) = refers_to(unit, self.callee.of, attribute.value()) {
                    self.callee = callee;
                }
            }
            gimli::DW_AT_call_file => {
                if let AttributeValue::FileIndex(file) = attribute.value() {
                    self.from.file = u32::try_from(file).unwrap_or(u32::MAX);
                }
            }
            gimli::DW_AT_call_line => self.from.line = number(),
            gimli::DW_AT_call_column => self.from.column = number(),
            _ => {}
        }
    }
}

/// Whether it begins a list of members.
fn is_type(abbreviation: &gimli::Abbreviation) -> bool {
    abbreviation.has_children()
        && matches!(
            abbreviation.tag(),
            gimli::DW_TAG_structure_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_subroutine_type
                | gimli::DW_TAG_array_type
        )
}

/// Reads an entry; gives where the one after its children begins, if it says.
fn sibling(
    entries: &mut gimli::EntriesRaw<'_, SectionReader<'_>>,
    abbreviation: &gimli::Abbreviation,
) -> gimli::Result<Option<UnitOffset<usize>>> {
    let mut sibling = None;
    for spec in abbreviation.attributes() {
        if spec.name() != gimli::DW_AT_sibling {
            entries.skip_attributes(std::slice::from_ref(spec))?;
        } else if let AttributeValue::UnitRef(at) = entries.read_attribute(*spec)?.value() {
            sibling = Some(at);
        }
    }
    Ok(sibling)
}

/// The entry that an attribute of an entry of `unit` names.
pub(crate) fn refers_to(
    unit: &Unit<SectionReader<'_>>,
    part: DebugPart,
    value: AttributeValue<SectionReader<'_>>,
) -> Option<DebugEntry> {
    Some(match value {
        AttributeValue::UnitRef(at) => DebugEntry { of: part, offset: in_section(unit, at) },
        AttributeValue::DebugInfoRef(at) => DebugEntry { of: part, offset: at.0 },
        AttributeValue::DebugInfoRefSup(at) => {
            DebugEntry { of: DebugPart::Alternate, offset: at.0 }
        }
        _ => return None,
    })
}

fn in_section(unit: &Unit<SectionReader<'_>>, at: UnitOffset<usize>) -> usize {
    let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
    start.saturating_add(at.0)
}
