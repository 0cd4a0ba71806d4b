//! What of samples, and of what surrounds them, a question needs.

use crate::query::Query;
use crate::query::filter::FilterCondition;
use crate::query::key::Key;
use std::ops::BitOr;

/// A set of such needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs(u16);

impl Needs {
    pub(crate) const NONE: Needs = Needs(0);
    /// What served an access, and its weight.
    pub(crate) const ACCESS: Needs = Needs(1);
    /// Classes of misses.
    pub(crate) const CLASS: Needs = Needs(1 << 1);
    /// Call chains.
    pub(crate) const CALLERS: Needs = Needs(1 << 2);
    /// Whose stack an address lies in; the callers tell in which frame.
    pub(crate) const STACKS: Needs = Needs(1 << 3 | Needs::CALLERS.0);
    /// Blocks of the heap, or what they tell of: types, and objects.
    pub(crate) const HEAP: Needs = Needs(1 << 4);
    /// All registers.
    pub(crate) const REGISTERS: Needs = Needs(1 << 5);
    /// Types of what is accessed, apart from their members.
    pub(crate) const TYPES: Needs = Needs(1 << 6);
    /// A note that says of how many samples the type is known.
    pub(crate) const TYPE_NOTE: Needs = Needs(1 << 7);
    /// Parts of the run that the program marks.
    pub(crate) const REGIONS: Needs = Needs(1 << 8);

    pub(crate) fn has(self, all: Needs) -> bool {
        self.0 & all.0 == all.0
    }

    /// Whether types are told, of members or of all.
    pub(crate) fn has_types(self) -> bool {
        self.0 & (Needs::TYPES.0 | Needs::TYPE_NOTE.0) != 0
    }

    fn when(self, is_needed: bool) -> Needs {
        if is_needed { self } else { Needs::NONE }
    }
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs(self.0 | other.0)
    }
}

impl Query {
    /// What its rows, filters and registers need. Its views say themselves what they need.
    pub(crate) fn needs(&self) -> Needs {
        let mut needs = Needs::ACCESS.when(self.accesses)
            | Needs::CALLERS.when(!self.frames.is_none())
            | Needs::REGISTERS.when(self.registers.is_some());
        for key in &self.keys {
            needs = needs | key.needs();
        }
        for filter in &self.filters {
            needs = needs
                | match filter.condition {
                    FilterCondition::Access(..) | FilterCondition::Weight(_) => Needs::ACCESS,
                    FilterCondition::Miss(_) => Needs::CLASS,
                    FilterCondition::Frame(_) => Needs::CALLERS,
                    FilterCondition::Region(_) => Needs::REGIONS,
                    _ => Needs::NONE,
                };
        }
        needs
    }
}

impl Key {
    fn needs(&self) -> Needs {
        let of_types = Needs::HEAP | Needs::REGISTERS | Needs::TYPE_NOTE;
        match self {
            Key::Access(_) => Needs::ACCESS,
            Key::Miss => Needs::CLASS,
            Key::Caller | Key::Callee | Key::Stack => Needs::CALLERS,
            Key::Alloc | Key::AllocLine | Key::Block => Needs::HEAP,
            Key::Holder => Needs::HEAP | Needs::STACKS,
            Key::Type => of_types | Needs::TYPES,
            Key::Member => of_types,
            Key::AddrBefore => Needs::REGISTERS,
            Key::Region => Needs::REGIONS,
            _ => Needs::NONE,
        }
    }
}
