//! Which definitions are the same.

use crate::table::{MemberId, TypeId, TypeKind, TypeTable};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Types that stand for each other, looked at to tell two members apart.
const MOST_LOOKS: usize = 8;
/// Types without names within each other.
const MOST_NESTED: usize = 8;

impl TypeTable {
    /// A number that is the same for definitions with the same name, size and
    /// members: units that include one header have one each.
    pub fn fingerprint(&self, id: TypeId) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash_definition(id, 0, &mut hasher);
        hasher.finish()
    }

    fn hash_definition(&self, id: TypeId, depth: usize, hasher: &mut FxHasher) {
        let entry = self.get(id);
        (entry.name, entry.scope, entry.size, self.keyword(id)).hash(hasher);
        match &entry.kind {
            TypeKind::Composite(composite) => {
                for member in self.members(composite) {
                    self.hash_member(member, depth, hasher);
                }
            }
            TypeKind::Enumeration { values, .. } => {
                for one in self.enumerators(values) {
                    (one.name, one.value).hash(hasher);
                }
            }
            TypeKind::Alias { of } if depth < MOST_NESTED => {
                self.hash_definition(*of, depth + 1, hasher);
            }
            _ => {}
        }
    }

    fn hash_member(&self, number: MemberId, depth: usize, hasher: &mut FxHasher) {
        let member = self.member(number);
        (member.name, member.bit, member.bits, self.size_of(member.of)).hash(hasher);
        if let Some(inner) = self.shown_within(number).filter(|_| depth < MOST_NESTED) {
            return self.hash_definition(inner, depth + 1, hasher);
        }
        let mut at = member.of;
        for _ in 0..MOST_LOOKS {
            let entry = self.get(at);
            (entry.name, std::mem::discriminant(&entry.kind)).hash(hasher);
            if entry.name.is_some() {
                break;
            }
            at = match entry.kind {
                TypeKind::Pointer { to, .. } => to,
                TypeKind::Array { of, count } => {
                    count.hash(hasher);
                    of
                }
                TypeKind::Qualified { of, .. } => of,
                _ => break,
            };
        }
    }
}
