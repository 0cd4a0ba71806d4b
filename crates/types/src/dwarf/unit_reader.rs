//! Goes over the entries of units.

use super::attributes::{EntryAttributes, EntryKey, UnitPlace};
use super::open::{EntryPlace, OpenEntry, OpenKind, WaitingBits};
use crate::table::builder::TableBuilder;
use crate::table::{
    MemberId, MemberKind, PointerKind, TypeEntry, TypeId, TypeKind, TypeLanguage, TypeMember,
    TypeTable, TypeUnit,
};
use gimli::UnitType;
use rustc_hash::FxHashMap;
use symbolizer::{SectionReader, SectionUnit};

/// Entries within each other.
const MOST_NESTED: usize = 4096;

#[derive(Debug)]
pub(super) struct TypeReader {
    pub(super) builder: TableBuilder,
    known: FxHashMap<EntryKey, TypeId>,
    waiting: Vec<(MemberId, WaitingBits)>,
    /// Pointers to members, whose size depends on what they point to.
    member_pointers: Vec<(TypeId, u8)>,
    pub(super) is_little: bool,
    told_full: bool,
}

impl TypeReader {
    /// `text`: bytes of names that the file can have.
    pub(super) fn new(text: usize, is_little: bool) -> TypeReader {
        TypeReader {
            builder: TableBuilder::new(text, is_little),
            known: FxHashMap::default(),
            waiting: Vec::new(),
            member_pointers: Vec::new(),
            is_little,
            told_full: false,
        }
    }

    pub(super) fn note(&mut self, why: String) {
        self.builder.note(why);
    }

    /// The place of a type that something refers to; `void`: to nothing.
    pub(super) fn id_of(&mut self, key: Option<EntryKey>) -> TypeId {
        let Some(key) = key else { return TypeId::VOID };
        *self.known.entry(key).or_insert_with(|| self.builder.reserve())
    }

    /// Reads the types of a unit, up to where it is damaged.
    pub(super) fn unit(&mut self, unit: &SectionUnit<'_, '_>) {
        if self.builder.is_full() {
            if !std::mem::replace(&mut self.told_full, true) {
                self.note("more types than are kept: units are left out".to_owned());
            }
            return;
        }
        let start = unit.unit.header.offset().0;
        let place = UnitPlace { section: unit.section, info: unit.info, start };
        if let UnitType::Type { type_signature, type_offset }
        | UnitType::SplitType { type_signature, type_offset } = unit.unit.header.type_()
        {
            let id = self.id_of(Some(EntryKey::Signed(type_signature.0)));
            let key = EntryKey::at(place.section, start.saturating_add(type_offset.0));
            self.known.entry(key).or_insert(id);
        }
        let number = self.builder.unit(String::new(), TypeLanguage::Other);
        let mut stack = Vec::new();
        if let Err(why) = self.entries(unit, place, number, &mut stack) {
            self.note(format!("unit at {start:#x}: {why}"));
        }
        while let Some(open) = stack.pop() {
            self.close(open);
        }
    }

    fn entries<'a>(
        &mut self,
        unit: &SectionUnit<'_, 'a>,
        place: UnitPlace,
        number: u32,
        stack: &mut Vec<OpenEntry>,
    ) -> Result<(), String> {
        let failed = |error: gimli::Error| error.to_string();
        let mut entries = unit.unit.entries_raw(None).map_err(failed)?;
        while !entries.is_empty() {
            let offset = entries.next_offset().0;
            let depth = entries.next_depth();
            let Some(abbreviation) = entries.read_abbreviation().map_err(failed)? else { continue };
            while let Some(open) = stack.pop_if(|open| open.depth >= depth) {
                self.close(open);
            }
            let scope = stack.last().and_then(|open| open.scope);
            let (tag, has_children) = (abbreviation.tag(), abbreviation.has_children());
            if has_children && stack.len() >= MOST_NESTED {
                return Err(format!("entries are nested deeper than {MOST_NESTED}"));
            }
            if !is_read(tag) {
                entries.skip_attributes(abbreviation.attributes()).map_err(failed)?;
                if has_children {
                    stack.push(OpenEntry { depth, scope, what: OpenKind::Other });
                }
                continue;
            }
            let said = EntryAttributes::read(&mut entries, abbreviation, place).map_err(failed)?;
            let name = said.name.and_then(|name| unit.dwarf.attr_string(&unit.unit, name).ok());
            let name = name.map(|name: SectionReader<'a>| name.slice());
            if is_unit(tag) {
                let name = String::from_utf8_lossy(name.unwrap_or_default());
                // rustc puts the part of the crate behind.
                let name = name.split("/@/").next().unwrap_or_default().to_owned();
                let language = said.language.unwrap_or(TypeLanguage::Other);
                self.builder.describe_unit(number, TypeUnit { name, language });
            }
            let key = EntryKey::at(place.section, place.start.saturating_add(offset));
            let address_size = unit.unit.header.address_size();
            let at = EntryPlace { key, tag, scope, unit: number, address_size };
            let open = self.entry(at, &said, name, stack);
            if has_children {
                let (scope, what) = open.unwrap_or((scope, OpenKind::Other));
                stack.push(OpenEntry { depth, scope, what });
            } else if let Some((scope, what)) = open {
                self.close(OpenEntry { depth, scope, what });
            }
        }
        Ok(())
    }

    fn close(&mut self, open: OpenEntry) {
        match open.what {
            OpenKind::Other | OpenKind::VariantPart { .. } | OpenKind::Variant { .. } => {}
            OpenKind::Composite(composite) => {
                let has_variants = composite.members.iter().any(TypeMember::is_of_variants);
                let range = self.builder.members(composite.members);
                let wait = composite
                    .waiting
                    .into_iter()
                    .map(|bits| (MemberId(range.start.saturating_add(bits.member)), bits));
                self.waiting.extend(wait);
                if let TypeKind::Composite(kept) = &mut self.builder.entry(composite.id).kind
                    && kept.members == (0..0)
                {
                    kept.members = range;
                    kept.has_variants = has_variants;
                }
            }
            OpenKind::Enumeration { id, values } => {
                let range = self.builder.enumerators(values);
                if let TypeKind::Enumeration { values, .. } = &mut self.builder.entry(id).kind
                    && *values == (0..0)
                {
                    *values = range;
                }
            }
            OpenKind::Array { id, of, counts } => self.close_array(id, of, counts),
            OpenKind::Function { id, parameters, is_open } => {
                let range = self.builder.parameters(parameters);
                if let TypeKind::Function { parameters, is_open: kept, .. } =
                    &mut self.builder.entry(id).kind
                    && *parameters == (0..0)
                {
                    *parameters = range;
                    *kept = is_open;
                }
            }
        }
    }

    /// The outermost dimension comes first: others are arrays in it.
    fn close_array(&mut self, id: TypeId, of: TypeId, counts: Vec<Option<u64>>) {
        let unit = self.builder.entry(id).unit;
        let mut inner = of;
        for &count in counts.iter().skip(1).rev() {
            let array = self.builder.reserve();
            let kind = TypeKind::Array { of: inner, count };
            let entry = TypeEntry { kind, name: None, size: None, align: None, scope: None, unit };
            self.builder.set(array, entry);
            inner = array;
        }
        if let TypeKind::Array { of, count } = &mut self.builder.entry(id).kind {
            *of = inner;
            *count = counts.first().copied().flatten();
        }
    }

    pub(super) fn wait_for_target(&mut self, pointer: TypeId, address_size: u8) {
        self.member_pointers.push((pointer, address_size));
    }

    pub(super) fn finish(mut self) -> TypeTable {
        for (member, bits) in std::mem::take(&mut self.waiting) {
            let of = self.builder.member(member).of;
            let Some(size) = self.builder.size_of(of) else { continue };
            let place = bits.place(size, self.is_little);
            self.builder.member(member).bit = place;
        }
        for (pointer, address_size) in std::mem::take(&mut self.member_pointers) {
            let TypeKind::Pointer { to, sort: PointerKind::Member } =
                self.builder.entry(pointer).kind
            else {
                continue;
            };
            let is_function = matches!(self.builder.entry(to).kind, TypeKind::Function { .. });
            // A function's address, and what is to be added to `this`.
            let size = u64::from(address_size) * if is_function { 2 } else { 1 };
            self.builder.entry(pointer).size.get_or_insert(size);
        }
        self.builder.finish()
    }
}

impl WaitingBits {
    /// Bits before it, where its number has `size` bytes.
    pub(super) fn place(&self, size: u64, is_little: bool) -> Option<u64> {
        let start = self.bytes.checked_mul(8)?;
        match is_little {
            false => start.checked_add_signed(self.from_top),
            true => {
                let end = start.checked_add(size.checked_mul(8)?)?;
                end.checked_sub_signed(self.from_top)?.checked_sub(self.bits)
            }
        }
    }
}

impl TypeMember {
    fn is_of_variants(&self) -> bool {
        matches!(self.sort, MemberKind::Discriminant | MemberKind::Variant(_))
    }
}

fn is_unit(tag: gimli::DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit | gimli::DW_TAG_type_unit)
}

fn is_read(tag: gimli::DwTag) -> bool {
    is_unit(tag)
        || matches!(
            tag,
            gimli::DW_TAG_base_type
                | gimli::DW_TAG_unspecified_type
                | gimli::DW_TAG_pointer_type
                | gimli::DW_TAG_reference_type
                | gimli::DW_TAG_rvalue_reference_type
                | gimli::DW_TAG_ptr_to_member_type
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_restrict_type
                | gimli::DW_TAG_atomic_type
                | gimli::DW_TAG_immutable_type
                | gimli::DW_TAG_packed_type
                | gimli::DW_TAG_shared_type
                | gimli::DW_TAG_typedef
                | gimli::DW_TAG_template_alias
                | gimli::DW_TAG_array_type
                | gimli::DW_TAG_subrange_type
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_interface_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type
                | gimli::DW_TAG_enumerator
                | gimli::DW_TAG_subroutine_type
                | gimli::DW_TAG_formal_parameter
                | gimli::DW_TAG_unspecified_parameters
                | gimli::DW_TAG_member
                | gimli::DW_TAG_inheritance
                | gimli::DW_TAG_variant_part
                | gimli::DW_TAG_variant
                | gimli::DW_TAG_namespace
                | gimli::DW_TAG_module
                | gimli::DW_TAG_string_type
                | gimli::DW_TAG_set_type
        )
}
