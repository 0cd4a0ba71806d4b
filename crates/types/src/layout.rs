//! A structure as a person wants to see it: members in order of place, with
//! holes and borders of lines.

mod fingerprint;
mod rows;

use crate::table::{MOST_STEPS, MemberId, MemberKind, TypeId, TypeKind, TypeTable};
use rows::RowMaker;

/// A structure, class, union or enumeration of Rust, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassLayout {
    pub id: TypeId,
    pub rows: Vec<LayoutRow>,
    pub sums: LayoutSums,
    /// Why there may be more rows.
    pub cut: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayoutRow {
    Member(MemberRow),
    /// The members of a type without a name, or of a variant, begin.
    Open(MemberRow),
    Close(MemberRow),
    /// Bytes that nothing is in.
    Hole {
        /// Types around it that have no name.
        depth: usize,
        /// From the start of the whole.
        offset: u64,
        bytes: u64,
    },
    /// Bits that nothing is in.
    BitHole {
        /// Types around it that have no name.
        depth: usize,
        bits: u64,
    },
    /// A line begins before or in the member before this row.
    Border {
        /// Types around it that have no name.
        depth: usize,
        /// Its number, from 0.
        line: u64,
        /// Bytes from its start to the next member.
        ago: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRow {
    /// Types around it that have no name.
    pub depth: usize,
    pub member: MemberId,
    /// Bytes from the start of the whole; None: the object tells.
    pub offset: Option<u64>,
    /// Bytes of its type.
    pub size: Option<u64>,
    /// Bits within the number at `offset`, of a bit field.
    pub bits: Option<BitPlace>,
}

/// Where a bit field is in its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitPlace {
    /// Bits before it.
    pub first: u64,
    pub count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayoutSums {
    /// Bytes of the whole.
    pub size: u64,
    pub line: u64,
    /// Members, bases and variants, those of types within left out.
    pub members: u64,
    pub sum_members: u64,
    pub sum_bits: u64,
    /// Runs of bytes that nothing is in, between members.
    pub holes: u64,
    pub sum_holes: u64,
    /// Runs of bits that nothing is in, between members.
    pub bit_holes: u64,
    pub sum_bit_holes: u64,
    /// Bytes behind the last member.
    pub padding: u64,
    /// Bits behind the last bit field.
    pub bit_padding: u64,
    /// Virtual bases, which lie where each object says.
    pub virtual_bases: u64,
}

impl LayoutSums {
    /// Lines that it takes when it begins with one.
    pub fn lines(&self) -> u64 {
        self.size.div_ceil(self.line.max(1))
    }
}

impl TypeTable {
    /// The layout of a structure, class, union or enumeration of Rust, in
    /// lines of so many bytes. None: it is none, or has no size.
    pub fn layout(&self, id: TypeId, line: u64) -> Option<ClassLayout> {
        let entry = self.get(id);
        let TypeKind::Composite(composite) = &entry.kind else { return None };
        let sums = LayoutSums { size: entry.size?, line: line.max(1), ..LayoutSums::default() };
        let mut maker = RowMaker::new(self, sums);
        maker.whole(composite);
        let RowMaker { rows, sums, cut, .. } = maker;
        Some(ClassLayout { id, rows, sums, cut })
    }

    /// The type whose members are shown in a member's place: that of a
    /// variant, and one without a name, also as the element of an array.
    pub(crate) fn shown_within(&self, member: MemberId) -> Option<TypeId> {
        let member = self.member(member);
        let is_variant = matches!(member.sort, MemberKind::Variant(_));
        let mut at = member.of;
        for _ in 0..MOST_STEPS {
            let entry = self.get(at);
            at = match entry.kind {
                TypeKind::Composite(_) => {
                    return (entry.name.is_none() || is_variant).then_some(at);
                }
                TypeKind::Qualified { of, .. } | TypeKind::Array { of, .. } => of,
                TypeKind::Declared { definition: Some(of), .. } => of,
                _ => return None,
            };
        }
        None
    }
}
