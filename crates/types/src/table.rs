//! Types as values: one arena, in which they refer to each other by number.

pub(crate) mod builder;
mod entry;
mod extent;
mod lookup;
pub(crate) mod names;

pub use entry::{
    Composite, CompositeKind, DiscriminantRange, Enumerator, MemberId, MemberKind, NumberKind,
    PointerKind, Qualifier, TypeEntry, TypeId, TypeKind, TypeLanguage, TypeMember, TypeUnit,
    Variant,
};
pub use names::NameId;

use names::Names;
use std::ops::Range;

/// Types that stand for each other: typedefs of typedefs, arrays of arrays.
pub(crate) const MOST_STEPS: usize = 64;
/// Bytes of a name with its namespaces.
const LONGEST_NAME: usize = 4096;

#[derive(Debug)]
pub struct TypeTable {
    types: Vec<TypeEntry>,
    members: Vec<TypeMember>,
    enumerators: Vec<Enumerator>,
    variants: Vec<Variant>,
    parameters: Vec<TypeId>,
    names: Names,
    scopes: Vec<Scope>,
    units: Vec<TypeUnit>,
    /// Definitions by their own name, without what they are in.
    by_name: Vec<(NameId, TypeId)>,
    notes: Vec<String>,
    is_little: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    pub(crate) parent: Option<u32>,
    pub(crate) name: NameId,
}

impl TypeTable {
    pub fn get(&self, id: TypeId) -> &TypeEntry {
        &self.types[id.index()]
    }

    /// All of them, in the order in which they were told of.
    pub fn ids(&self) -> impl Iterator<Item = TypeId> + use<> {
        (0..u32::try_from(self.types.len()).unwrap_or(u32::MAX)).map(TypeId)
    }

    pub fn text(&self, name: NameId) -> &str {
        self.names.text(name)
    }

    pub fn member(&self, member: MemberId) -> &TypeMember {
        &self.members[member.index()]
    }

    pub fn members(&self, composite: &Composite) -> impl Iterator<Item = MemberId> + use<> {
        composite.members.clone().map(MemberId)
    }

    pub fn enumerators(&self, values: &Range<u32>) -> &[Enumerator] {
        slice(&self.enumerators, values)
    }

    pub fn parameters(&self, parameters: &Range<u32>) -> &[TypeId] {
        slice(&self.parameters, parameters)
    }

    pub fn variant(&self, variant: u32) -> Option<&Variant> {
        self.variants.get(usize::try_from(variant).ok()?)
    }

    pub fn unit(&self, id: TypeId) -> &TypeUnit {
        &self.units[usize::try_from(self.get(id).unit).unwrap_or(0)]
    }

    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The structures, classes, unions and enumerations that have a size.
    pub fn definitions(&self) -> impl Iterator<Item = TypeId> + '_ {
        self.ids().filter(|&id| {
            let entry = self.get(id);
            let is_whole =
                matches!(entry.kind, TypeKind::Composite(_) | TypeKind::Enumeration { .. });
            is_whole && entry.size.is_some()
        })
    }

    /// A name with the namespaces and types it is in; empty for what has
    /// none.
    pub fn full_name(&self, id: TypeId) -> String {
        let entry = self.get(id);
        let Some(name) = entry.name else { return String::new() };
        let mut parts = vec![self.text(name)];
        let mut scope = entry.scope;
        let mut length = 0;
        while let Some(at) = scope {
            let Some(outer) = self.scopes.get(usize::try_from(at).unwrap_or(usize::MAX)) else {
                break;
            };
            let part = self.text(outer.name);
            length += part.len();
            if length > LONGEST_NAME || parts.len() > MOST_STEPS {
                parts.push("...");
                break;
            }
            parts.push(part);
            scope = outer.parent;
        }
        parts.reverse();
        parts.join("::")
    }
}

fn slice<'t, T>(all: &'t [T], range: &Range<u32>) -> &'t [T] {
    let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    all.get(at(range.start)..at(range.end)).unwrap_or_default()
}
