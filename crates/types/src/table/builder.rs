//! How readers fill the arena.

use super::names::Names;
use super::{
    CompositeKind, Enumerator, MemberId, NameId, Scope, TypeEntry, TypeId, TypeKind, TypeLanguage,
    TypeMember, TypeTable, TypeUnit, Variant,
};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Types, and members, of one file.
const MOST: usize = 1 << 26;
/// Notes that are kept; the last says that there were more.
const MOST_NOTES: usize = 32;

#[derive(Debug)]
pub(crate) struct TableBuilder {
    table: TypeTable,
    known_scopes: FxHashMap<Scope, u32>,
    more_notes: usize,
    names_are_full: bool,
}

impl TableBuilder {
    /// `text`: bytes of names that the file can have.
    pub(crate) fn new(text: usize, is_little: bool) -> TableBuilder {
        let table = TypeTable {
            types: Vec::new(),
            members: Vec::new(),
            enumerators: Vec::new(),
            variants: Vec::new(),
            parameters: Vec::new(),
            names: Names::new(text.saturating_mul(4).saturating_add(1 << 20)),
            scopes: Vec::new(),
            units: Vec::new(),
            by_name: Vec::new(),
            notes: Vec::new(),
            is_little,
        };
        let mut builder = TableBuilder {
            table,
            known_scopes: FxHashMap::default(),
            more_notes: 0,
            names_are_full: false,
        };
        let unit = builder.unit(String::new(), TypeLanguage::Other);
        let kind = TypeKind::Void;
        builder.table.types.push(TypeEntry {
            kind,
            name: None,
            size: None,
            align: None,
            scope: None,
            unit,
        });
        builder
    }

    pub(crate) fn name(&mut self, raw: &[u8]) -> Option<NameId> {
        if raw.is_empty() {
            return None;
        }
        let name = self.table.names.keep(raw);
        if name.is_none() && !std::mem::replace(&mut self.names_are_full, true) {
            self.note("more names than the file can hold: some are left out".to_owned());
        }
        name
    }

    pub(crate) fn unit(&mut self, name: String, language: TypeLanguage) -> u32 {
        self.table.units.push(TypeUnit { name, language });
        number(self.table.units.len() - 1)
    }

    pub(crate) fn language(&self, unit: u32) -> TypeLanguage {
        let unit = self.table.units.get(usize::try_from(unit).unwrap_or(usize::MAX));
        unit.map_or(TypeLanguage::Other, |unit| unit.language)
    }

    pub(crate) fn describe_unit(&mut self, unit: u32, said: TypeUnit) {
        if let Some(unit) = self.table.units.get_mut(usize::try_from(unit).unwrap_or(usize::MAX)) {
            *unit = said;
        }
    }

    pub(crate) fn scope(&mut self, parent: Option<u32>, name: NameId) -> u32 {
        let scope = Scope { parent, name };
        let (known, scopes) = (&mut self.known_scopes, &mut self.table.scopes);
        *known.entry(scope).or_insert_with(|| {
            scopes.push(scope);
            number(scopes.len() - 1)
        })
    }

    /// A place for a type that is told of later. `void` when there is no
    /// more room.
    pub(crate) fn reserve(&mut self) -> TypeId {
        if self.is_full() {
            return TypeId::VOID;
        }
        self.table.types.push(TypeEntry {
            kind: TypeKind::Unread,
            name: None,
            size: None,
            align: None,
            scope: None,
            unit: 0,
        });
        TypeId(number(self.table.types.len() - 1))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.table.types.len() >= MOST || self.table.members.len() >= MOST
    }

    pub(crate) fn set(&mut self, id: TypeId, entry: TypeEntry) {
        if let Some(place) = self.table.types.get_mut(id.index())
            && place.kind == TypeKind::Unread
        {
            *place = entry;
        }
    }

    pub(crate) fn entry(&mut self, id: TypeId) -> &mut TypeEntry {
        &mut self.table.types[id.index()]
    }

    pub(crate) fn members(&mut self, members: Vec<TypeMember>) -> Range<u32> {
        append(&mut self.table.members, members)
    }

    pub(crate) fn member(&mut self, member: MemberId) -> &mut TypeMember {
        &mut self.table.members[member.index()]
    }

    pub(crate) fn member_count(&self) -> u32 {
        number(self.table.members.len())
    }

    pub(crate) fn enumerators(&mut self, values: Vec<Enumerator>) -> Range<u32> {
        append(&mut self.table.enumerators, values)
    }

    pub(crate) fn parameters(&mut self, parameters: Vec<TypeId>) -> Range<u32> {
        append(&mut self.table.parameters, parameters)
    }

    pub(crate) fn variant(&mut self, variant: Variant) -> u32 {
        self.table.variants.push(variant);
        number(self.table.variants.len() - 1)
    }

    pub(crate) fn note(&mut self, why: String) {
        match self.table.notes.len() < MOST_NOTES {
            true => self.table.notes.push(why),
            false => self.more_notes += 1,
        }
    }

    pub(crate) fn size_of(&self, id: TypeId) -> Option<u64> {
        self.table.size_of(id)
    }

    pub(crate) fn finish(mut self) -> TypeTable {
        if self.more_notes > 0 {
            self.table.notes.push(format!("and {} more of the kind", self.more_notes));
        }
        self.table.index_names();
        self.resolve();
        self.table
    }

    /// A type in a unit of its own may not say what it is in: those that
    /// declare it do.
    fn place_signed(&mut self) {
        let types = &mut self.table.types;
        for at in 0..types.len() {
            let TypeEntry { kind, scope, name, .. } = &types[at];
            let TypeKind::Declared { definition: Some(definition), .. } = *kind else { continue };
            let (scope, name) = (*scope, *name);
            let place = &mut types[definition.index()];
            if place.scope.is_none() && (place.name == name || name.is_none()) {
                place.scope = scope;
            }
        }
    }

    /// Leads declarations to their definitions: in the same unit, else the
    /// first of that name.
    fn resolve(&mut self) {
        self.place_signed();
        let types = &self.table.types;
        let mut found = Vec::new();
        for (at, entry) in types.iter().enumerate() {
            let TypeKind::Declared { sort, definition: None } = entry.kind else { continue };
            let Some(name) = entry.name else { continue };
            let fits = |&id: &TypeId| {
                let other = &types[id.index()];
                other.scope == entry.scope && is_defined_as(&other.kind, sort)
            };
            let same = |id: &TypeId| types[id.index()].unit == entry.unit;
            let mut all = self.table.with_own_name(name).take(MOST_SAME);
            let first = all.clone().find(fits);
            if let Some(id) = all.find(|id| fits(id) && same(id)).or(first) {
                found.push((at, sort, id));
            }
        }
        for (at, sort, id) in found {
            self.table.types[at].kind = TypeKind::Declared { sort, definition: Some(id) };
        }
    }
}

/// Definitions of one name that are looked at for a declaration.
const MOST_SAME: usize = 256;

fn is_defined_as(kind: &TypeKind, declared: CompositeKind) -> bool {
    match kind {
        TypeKind::Composite(composite) => {
            (composite.sort == CompositeKind::Union) == (declared == CompositeKind::Union)
                && declared != CompositeKind::Enum
        }
        TypeKind::Enumeration { .. } => declared == CompositeKind::Enum,
        _ => false,
    }
}

fn append<T>(all: &mut Vec<T>, more: Vec<T>) -> Range<u32> {
    let start = number(all.len());
    all.extend(more);
    start..number(all.len())
}

/// Room for so many is bounded far below.
fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
