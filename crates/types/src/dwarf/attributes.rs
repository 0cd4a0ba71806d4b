//! What an entry says.

use crate::table::{DiscriminantRange, TypeLanguage};
use gimli::{Abbreviation, AttributeValue, EntriesRaw, Reader as _};
use symbolizer::{DebugSections, SectionReader};

type Value<'a> = AttributeValue<SectionReader<'a>>;

/// Bits of a key that are an offset.
const OFFSET_BITS: u32 = 44;

/// An entry by its section and offset, or a unit of types by its signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EntryKey {
    At(u64),
    Signed(u64),
}

impl EntryKey {
    pub(super) fn at(section: u32, offset: usize) -> EntryKey {
        EntryKey::At(u64::from(section) << OFFSET_BITS | offset as u64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberPlace {
    Bytes(u64),
    /// The object tells it.
    Computed,
}

#[derive(Debug, Default)]
pub(super) struct EntryAttributes<'a> {
    pub(super) name: Option<Value<'a>>,
    pub(super) of: Option<EntryKey>,
    pub(super) specification: Option<EntryKey>,
    pub(super) signature: Option<EntryKey>,
    pub(super) size: Option<u64>,
    pub(super) align: Option<u64>,
    pub(super) bit_size: Option<u64>,
    pub(super) bit_offset: Option<i64>,
    pub(super) data_bit_offset: Option<u64>,
    pub(super) place: Option<MemberPlace>,
    pub(super) encoding: Option<gimli::DwAte>,
    pub(super) language: Option<TypeLanguage>,
    pub(super) count: Option<i128>,
    pub(super) upper: Option<i128>,
    pub(super) lower: Option<i128>,
    pub(super) value: Option<i128>,
    pub(super) discriminants: Vec<DiscriminantRange>,
    pub(super) is_declaration: bool,
    pub(super) is_external: bool,
    pub(super) is_virtual: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct UnitPlace {
    pub(super) section: u32,
    pub(super) info: u32,
    pub(super) start: usize,
}

impl<'a> EntryAttributes<'a> {
    pub(super) fn read(
        entries: &mut EntriesRaw<'_, SectionReader<'a>>,
        abbreviation: &Abbreviation,
        place: UnitPlace,
    ) -> gimli::Result<EntryAttributes<'a>> {
        let mut said = EntryAttributes::default();
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            said.take(attribute.name(), attribute.value(), place);
        }
        Ok(said)
    }

    /// Whether a type is defined by another entry: of this file or none, or
    /// of a unit of its own.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.is_declaration || self.signature.is_some()
    }

    fn take(&mut self, name: gimli::DwAt, value: Value<'a>, place: UnitPlace) {
        match name {
            gimli::DW_AT_name => self.name = Some(value),
            gimli::DW_AT_type => self.of = key(value, place),
            gimli::DW_AT_specification => self.specification = key(value, place),
            gimli::DW_AT_signature => self.signature = key(value, place),
            gimli::DW_AT_byte_size => self.size = value.udata_value(),
            gimli::DW_AT_alignment => self.align = value.udata_value(),
            gimli::DW_AT_bit_size => self.bit_size = value.udata_value(),
            // Of packed fields it can be below 0.
            gimli::DW_AT_bit_offset => {
                self.bit_offset = match value {
                    AttributeValue::Sdata(bits) => Some(bits),
                    _ => value.udata_value().map(u64::cast_signed),
                };
            }
            gimli::DW_AT_data_bit_offset => self.data_bit_offset = value.udata_value(),
            gimli::DW_AT_data_member_location => self.place = Some(member_place(value)),
            gimli::DW_AT_encoding => {
                if let AttributeValue::Encoding(encoding) = value {
                    self.encoding = Some(encoding);
                }
            }
            gimli::DW_AT_language => {
                if let AttributeValue::Language(language) = value {
                    self.language = Some(spelled_as(language));
                }
            }
            gimli::DW_AT_count => self.count = number(value),
            gimli::DW_AT_upper_bound => self.upper = number(value),
            gimli::DW_AT_lower_bound => self.lower = number(value),
            gimli::DW_AT_const_value => self.value = number(value),
            gimli::DW_AT_discr_value => {
                if let Some(value) = number(value) {
                    self.discriminants.push(DiscriminantRange { first: value, last: value });
                }
            }
            gimli::DW_AT_discr_list => {
                if let AttributeValue::Block(list) = value {
                    self.discriminants.extend(listed(list));
                }
            }
            gimli::DW_AT_declaration => self.is_declaration = value == AttributeValue::Flag(true),
            gimli::DW_AT_external => self.is_external = value == AttributeValue::Flag(true),
            gimli::DW_AT_virtuality => {
                self.is_virtual = matches!(value, AttributeValue::Virtuality(how)
                    if how != gimli::DW_VIRTUALITY_none);
            }
            _ => {}
        }
    }
}

pub(super) fn key(value: Value<'_>, place: UnitPlace) -> Option<EntryKey> {
    Some(match value {
        AttributeValue::UnitRef(offset) => {
            EntryKey::at(place.section, place.start.checked_add(offset.0)?)
        }
        AttributeValue::DebugInfoRef(offset) => EntryKey::at(place.info, offset.0),
        AttributeValue::DebugInfoRefSup(offset) => EntryKey::at(DebugSections::ALTERNATE, offset.0),
        AttributeValue::DebugTypesRef(signature) => EntryKey::Signed(signature.0),
        _ => return None,
    })
}

/// What a number says, whose sign its form tells.
fn number(value: Value<'_>) -> Option<i128> {
    match value {
        AttributeValue::Sdata(number) => Some(i128::from(number)),
        _ => value.udata_value().map(i128::from),
    }
}

fn member_place(value: Value<'_>) -> MemberPlace {
    let bytes = match value {
        AttributeValue::Exprloc(expression) => constant(expression.0),
        AttributeValue::Block(expression) => constant(expression),
        _ => value.udata_value(),
    };
    bytes.map_or(MemberPlace::Computed, MemberPlace::Bytes)
}

/// What an expression adds to an address, if it does no more than that.
fn constant(mut expression: SectionReader<'_>) -> Option<u64> {
    let operation = gimli::DwOp(expression.read_u8().ok()?);
    let bytes = match operation {
        gimli::DW_OP_plus_uconst | gimli::DW_OP_constu => expression.read_uleb128().ok()?,
        _ => return None,
    };
    let plus = match operation {
        gimli::DW_OP_constu => gimli::DwOp(expression.read_u8().ok()?) == gimli::DW_OP_plus,
        _ => true,
    };
    (plus && expression.is_empty()).then_some(bytes)
}

/// A list of discriminants; those up to the first that is damaged.
fn listed(mut list: SectionReader<'_>) -> Vec<DiscriminantRange> {
    let mut next = || -> gimli::Result<DiscriminantRange> {
        let is_range = list.read_u8()? == gimli::DW_DSC_range.0;
        let first = i128::from(list.read_uleb128()?);
        let last = if is_range { i128::from(list.read_uleb128()?) } else { first };
        Ok(DiscriminantRange { first, last })
    };
    std::iter::from_fn(|| next().ok()).collect()
}

fn spelled_as(language: gimli::DwLang) -> TypeLanguage {
    match language {
        gimli::DW_LANG_C
        | gimli::DW_LANG_C89
        | gimli::DW_LANG_C99
        | gimli::DW_LANG_C11
        | gimli::DW_LANG_C17 => TypeLanguage::C,
        gimli::DW_LANG_C_plus_plus
        | gimli::DW_LANG_C_plus_plus_03
        | gimli::DW_LANG_C_plus_plus_11
        | gimli::DW_LANG_C_plus_plus_14
        | gimli::DW_LANG_C_plus_plus_17
        | gimli::DW_LANG_C_plus_plus_20
        | gimli::DW_LANG_ObjC_plus_plus => TypeLanguage::Cpp,
        gimli::DW_LANG_Rust => TypeLanguage::Rust,
        _ => TypeLanguage::Other,
    }
}
