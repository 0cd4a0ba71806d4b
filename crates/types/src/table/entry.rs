//! What a type is.

use super::names::NameId;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) u32);

impl TypeId {
    /// `void`, and what a file leaves out to mean it.
    pub const VOID: TypeId = TypeId(0);

    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    pub fn number(self) -> u32 {
        self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub(crate) u32);

impl MemberId {
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeEntry {
    pub kind: TypeKind,
    /// Without what it is in; None: it has none.
    pub name: Option<NameId>,
    /// Bytes, where the file says so.
    pub size: Option<u64>,
    /// Bytes, where the file says so.
    pub align: Option<u64>,
    /// The namespace or type that it is in.
    pub(crate) scope: Option<u32>,
    pub(crate) unit: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Something refers to it, and it is not there, or is nothing that is
    /// known.
    Unread,
    Void,
    Number(NumberKind),
    Pointer {
        to: TypeId,
        sort: PointerKind,
    },
    Array {
        of: TypeId,
        /// How many; None: as many as there is room for.
        count: Option<u64>,
    },
    Composite(Composite),
    Enumeration {
        /// The number that it is, where the file says so.
        of: Option<TypeId>,
        /// Its constants, for [`super::TypeTable::enumerators`].
        values: Range<u32>,
    },
    Alias {
        of: TypeId,
    },
    /// Another type that cannot be changed, or changes by itself.
    Qualified {
        of: TypeId,
        by: Qualifier,
    },
    Function {
        returns: TypeId,
        /// What it takes, for [`super::TypeTable::parameters`].
        parameters: Range<u32>,
        /// Whether more may follow.
        is_open: bool,
    },
    /// Declared here, and defined elsewhere.
    Declared {
        sort: CompositeKind,
        /// Where, if it is in this file.
        definition: Option<TypeId>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    Signed,
    Unsigned,
    Float,
    Character,
    Truth,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerKind {
    Pointer,
    Reference,
    RvalueReference,
    /// To a member of a class.
    Member,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompositeKind {
    Struct,
    Class,
    Union,
    Enum,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composite {
    pub sort: CompositeKind,
    /// For [`super::TypeTable::members`].
    pub(crate) members: Range<u32>,
    /// Some members are there in some of its values only.
    pub has_variants: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualifier {
    Const,
    Volatile,
    Restrict,
    Atomic,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMember {
    /// None: an anonymous structure or union, or padding of bits.
    pub name: Option<NameId>,
    pub of: TypeId,
    /// Bits from the start of what it is in; None: the object tells where it
    /// is, as for virtual bases. In files of big-endian machines bits of a
    /// byte count from its most significant one.
    pub bit: Option<u64>,
    /// Bits that it has, if it is a bit field.
    pub bits: Option<u64>,
    /// Bytes that it was told to be aligned to.
    pub align: Option<u64>,
    pub sort: MemberKind,
}

impl TypeMember {
    /// Bytes from the start of what it is in; of a bit field those of its
    /// first bit.
    pub fn offset(&self) -> Option<u64> {
        self.bit.map(|bit| bit / 8)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    Field,
    Base,
    VirtualBase,
    Discriminant,
    /// There in one variant only, by number for [`super::TypeTable::variant`].
    Variant(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// What the discriminant is then; empty: anything that no other variant
    /// has.
    pub values: Box<[DiscriminantRange]>,
}

/// Values of a discriminant, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscriminantRange {
    pub first: i128,
    pub last: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator {
    pub name: NameId,
    pub value: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeLanguage {
    C,
    Cpp,
    Rust,
    /// Spelled as C.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeUnit {
    /// Its source file, as its compiler has it.
    pub name: String,
    pub language: TypeLanguage,
}
