//! What each kind of entry is in the arena.

use super::attributes::{EntryAttributes, MemberPlace};
use super::open::{EntryPlace, OpenComposite, OpenEntry, OpenKind, WaitingBits};
use super::unit_reader::TypeReader;
use crate::table::{
    Composite, CompositeKind, Enumerator, MemberKind, NumberKind, PointerKind, Qualifier,
    TypeEntry, TypeId, TypeKind, TypeLanguage, TypeMember, Variant,
};

/// The scope of an entry's children, and what is gathered of them.
type Begun = (Option<u32>, OpenKind);

impl TypeReader {
    pub(super) fn entry(
        &mut self,
        at: EntryPlace,
        said: &EntryAttributes<'_>,
        name: Option<&[u8]>,
        stack: &mut [OpenEntry],
    ) -> Option<Begun> {
        match at.tag {
            gimli::DW_TAG_namespace | gimli::DW_TAG_module => {
                let name = self.builder.name(name.unwrap_or(b"(anonymous namespace)"))?;
                Some((Some(self.builder.scope(at.scope, name)), OpenKind::Other))
            }
            gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_interface_type
            | gimli::DW_TAG_union_type => self.composite(at, said, name),
            gimli::DW_TAG_enumeration_type => self.enumeration(at, said, name),
            gimli::DW_TAG_member | gimli::DW_TAG_inheritance => {
                self.member(at, said, name, stack);
                None
            }
            gimli::DW_TAG_variant_part => {
                let owner = owner(stack)?;
                Some((at.scope, OpenKind::VariantPart { owner }))
            }
            gimli::DW_TAG_variant => {
                let owner = owner(stack)?;
                let values = said.discriminants.clone().into();
                let number = self.builder.variant(Variant { values });
                Some((at.scope, OpenKind::Variant { owner, number }))
            }
            gimli::DW_TAG_enumerator => {
                let name = self.builder.name(name.unwrap_or_default())?;
                if let (OpenKind::Enumeration { values, .. }, Some(value)) =
                    (&mut stack.last_mut()?.what, said.value)
                {
                    values.push(Enumerator { name, value });
                }
                None
            }
            gimli::DW_TAG_subrange_type => {
                match stack.last_mut().map(|open| &mut open.what) {
                    Some(OpenKind::Array { counts, .. }) => counts.push(count(said)),
                    _ => {
                        let of = self.id_of(said.of);
                        self.define(at, said, name, TypeKind::Alias { of });
                    }
                }
                None
            }
            gimli::DW_TAG_formal_parameter => {
                if let Some(OpenKind::Function { .. }) = stack.last().map(|open| &open.what) {
                    let of = self.id_of(said.of);
                    if let OpenKind::Function { parameters, .. } = &mut stack.last_mut()?.what {
                        parameters.push(of);
                    }
                }
                None
            }
            gimli::DW_TAG_unspecified_parameters => {
                if let OpenKind::Function { is_open, .. } = &mut stack.last_mut()?.what {
                    *is_open = true;
                }
                None
            }
            gimli::DW_TAG_array_type => {
                let of = self.id_of(said.of);
                let id = self.define(at, said, name, TypeKind::Array { of, count: None });
                Some((at.scope, OpenKind::Array { id, of, counts: Vec::new() }))
            }
            gimli::DW_TAG_subroutine_type => {
                let returns = self.id_of(said.of);
                let kind = TypeKind::Function { returns, parameters: 0..0, is_open: false };
                let id = self.define(at, said, name, kind);
                let what = OpenKind::Function { id, parameters: Vec::new(), is_open: false };
                Some((at.scope, what))
            }
            _ => {
                self.simple(at, said, name);
                None
            }
        }
    }

    fn simple(&mut self, at: EntryPlace, said: &EntryAttributes<'_>, name: Option<&[u8]>) {
        let qualified = |by| move |of| TypeKind::Qualified { of, by };
        let pointer = |sort| move |to| TypeKind::Pointer { to, sort };
        let kind = match at.tag {
            gimli::DW_TAG_base_type => TypeKind::Number(sort(said.encoding)),
            gimli::DW_TAG_unspecified_type | gimli::DW_TAG_string_type | gimli::DW_TAG_set_type => {
                TypeKind::Number(NumberKind::Other)
            }
            gimli::DW_TAG_const_type | gimli::DW_TAG_immutable_type => {
                qualified(Qualifier::Const)(self.id_of(said.of))
            }
            gimli::DW_TAG_volatile_type => qualified(Qualifier::Volatile)(self.id_of(said.of)),
            gimli::DW_TAG_restrict_type => qualified(Qualifier::Restrict)(self.id_of(said.of)),
            gimli::DW_TAG_atomic_type => qualified(Qualifier::Atomic)(self.id_of(said.of)),
            gimli::DW_TAG_packed_type | gimli::DW_TAG_shared_type => {
                qualified(Qualifier::Other)(self.id_of(said.of))
            }
            gimli::DW_TAG_typedef | gimli::DW_TAG_template_alias => {
                TypeKind::Alias { of: self.id_of(said.of) }
            }
            gimli::DW_TAG_pointer_type => pointer(PointerKind::Pointer)(self.id_of(said.of)),
            gimli::DW_TAG_reference_type => pointer(PointerKind::Reference)(self.id_of(said.of)),
            gimli::DW_TAG_rvalue_reference_type => {
                pointer(PointerKind::RvalueReference)(self.id_of(said.of))
            }
            gimli::DW_TAG_ptr_to_member_type => pointer(PointerKind::Member)(self.id_of(said.of)),
            _ => return,
        };
        let sort = match kind {
            TypeKind::Pointer { sort, .. } => Some(sort),
            _ => None,
        };
        let id = self.define(at, said, name, kind);
        match sort {
            Some(PointerKind::Member) => self.wait_for_target(id, at.address_size),
            Some(_) => {
                self.builder.entry(id).size.get_or_insert(u64::from(at.address_size));
            }
            None => {}
        }
    }

    fn define(
        &mut self,
        at: EntryPlace,
        said: &EntryAttributes<'_>,
        name: Option<&[u8]>,
        kind: TypeKind,
    ) -> TypeId {
        let id = self.id_of(Some(at.key));
        let name = self.builder.name(name.unwrap_or_default());
        let (size, align) = (said.size, said.align);
        let entry = TypeEntry { kind, name, size, align, scope: at.scope, unit: at.unit };
        self.builder.set(id, entry);
        id
    }

    fn composite(
        &mut self,
        at: EntryPlace,
        said: &EntryAttributes<'_>,
        name: Option<&[u8]>,
    ) -> Option<Begun> {
        let sort = match at.tag {
            gimli::DW_TAG_union_type => CompositeKind::Union,
            gimli::DW_TAG_class_type | gimli::DW_TAG_interface_type => CompositeKind::Class,
            _ => CompositeKind::Struct,
        };
        let kind = match said.is_elsewhere() {
            true => self.declared(sort, said),
            false => TypeKind::Composite(Composite { sort, members: 0..0, has_variants: false }),
        };
        let id = self.define(at, said, name, kind);
        self.as_specified(id, said);
        let inner = self.inner_scope(id, at);
        let what = match said.is_elsewhere() {
            true => OpenKind::Other,
            false => {
                OpenKind::Composite(OpenComposite { id, members: Vec::new(), waiting: Vec::new() })
            }
        };
        Some((inner, what))
    }

    /// A type that is defined apart from its declaration has that one's name.
    fn as_specified(&mut self, id: TypeId, said: &EntryAttributes<'_>) {
        if said.specification.is_none() {
            return;
        }
        let declared = self.id_of(said.specification);
        let (name, scope) = {
            let entry = self.builder.entry(declared);
            (entry.name, entry.scope)
        };
        let entry = self.builder.entry(id);
        if entry.name.is_none() {
            entry.name = name;
            entry.scope = scope;
        }
    }

    /// What the types in a type are in; those of C are beside it.
    fn inner_scope(&mut self, id: TypeId, at: EntryPlace) -> Option<u32> {
        let entry = self.builder.entry(id);
        let (name, scope) = (entry.name, entry.scope);
        match (name, self.builder.language(at.unit)) {
            (Some(name), TypeLanguage::Cpp | TypeLanguage::Rust) => {
                Some(self.builder.scope(scope, name))
            }
            _ => at.scope,
        }
    }

    fn declared(&mut self, sort: CompositeKind, said: &EntryAttributes<'_>) -> TypeKind {
        let definition = said.signature.map(|signature| self.id_of(Some(signature)));
        TypeKind::Declared { sort, definition }
    }

    fn enumeration(
        &mut self,
        at: EntryPlace,
        said: &EntryAttributes<'_>,
        name: Option<&[u8]>,
    ) -> Option<Begun> {
        let kind = match said.is_elsewhere() {
            true => self.declared(CompositeKind::Enum, said),
            false => {
                let of = said.of.map(|of| self.id_of(Some(of)));
                TypeKind::Enumeration { of, values: 0..0 }
            }
        };
        let id = self.define(at, said, name, kind);
        self.as_specified(id, said);
        let what = match said.is_elsewhere() {
            true => OpenKind::Other,
            false => OpenKind::Enumeration { id, values: Vec::new() },
        };
        Some((at.scope, what))
    }

    fn member(
        &mut self,
        at: EntryPlace,
        said: &EntryAttributes<'_>,
        name: Option<&[u8]>,
        stack: &mut [OpenEntry],
    ) {
        // A static one is elsewhere.
        if said.is_external || said.is_declaration {
            return;
        }
        let (owner, sort) = match stack.last().map(|open| &open.what) {
            Some(OpenKind::Composite(_)) => (stack.len() - 1, MemberKind::Field),
            Some(OpenKind::VariantPart { owner }) => (*owner, MemberKind::Discriminant),
            Some(OpenKind::Variant { owner, number }) => (*owner, MemberKind::Variant(*number)),
            _ => return,
        };
        let sort = match at.tag {
            gimli::DW_TAG_inheritance if said.is_virtual => MemberKind::VirtualBase,
            gimli::DW_TAG_inheritance => MemberKind::Base,
            _ => sort,
        };
        let of = self.id_of(said.of);
        let name = self.builder.name(name.unwrap_or_default());
        let Some(OpenKind::Composite(composite)) = stack.get_mut(owner).map(|open| &mut open.what)
        else {
            return;
        };
        let bytes = match said.place {
            Some(MemberPlace::Bytes(bytes)) => Some(bytes),
            Some(MemberPlace::Computed) => None,
            None => Some(0),
        };
        let mut bit = bytes.and_then(|bytes| bytes.checked_mul(8));
        if let Some(bits) = said.data_bit_offset {
            bit = Some(bits);
        } else if let (Some(bytes), Some(from_top), Some(bits)) =
            (bytes, said.bit_offset, said.bit_size)
        {
            let member = u32::try_from(composite.members.len()).unwrap_or(u32::MAX);
            let waiting = WaitingBits { member, bytes, from_top, bits };
            match said.size {
                Some(size) => bit = waiting.place(size, self.is_little),
                None => composite.waiting.push(waiting),
            }
        }
        let (bits, align) = (said.bit_size, said.align);
        composite.members.push(TypeMember { name, of, bit, bits, align, sort });
    }
}

/// The structure that the top of the stack is a part of.
fn owner(stack: &[OpenEntry]) -> Option<usize> {
    match stack.last()?.what {
        OpenKind::Composite(_) => Some(stack.len() - 1),
        OpenKind::VariantPart { owner } | OpenKind::Variant { owner, .. } => Some(owner),
        _ => None,
    }
}

/// Elements of one dimension; None: as many as there is room for.
fn count(said: &EntryAttributes<'_>) -> Option<u64> {
    if let Some(count) = said.count {
        return u64::try_from(count).ok();
    }
    let upper = said.upper?;
    // What no element is written as, in as many bits as the compiler took.
    if upper == i128::from(u64::MAX) || upper == i128::from(u32::MAX) {
        return Some(0);
    }
    let count = upper.checked_add(1)?.checked_sub(said.lower.unwrap_or(0))?;
    Some(u64::try_from(count).unwrap_or(0))
}

fn sort(encoding: Option<gimli::DwAte>) -> NumberKind {
    match encoding {
        Some(gimli::DW_ATE_signed | gimli::DW_ATE_signed_fixed) => NumberKind::Signed,
        Some(gimli::DW_ATE_unsigned | gimli::DW_ATE_unsigned_fixed) => NumberKind::Unsigned,
        Some(
            gimli::DW_ATE_float
            | gimli::DW_ATE_complex_float
            | gimli::DW_ATE_imaginary_float
            | gimli::DW_ATE_decimal_float,
        ) => NumberKind::Float,
        Some(
            gimli::DW_ATE_signed_char
            | gimli::DW_ATE_unsigned_char
            | gimli::DW_ATE_UTF
            | gimli::DW_ATE_UCS
            | gimli::DW_ATE_ASCII,
        ) => NumberKind::Character,
        Some(gimli::DW_ATE_boolean) => NumberKind::Truth,
        _ => NumberKind::Other,
    }
}
