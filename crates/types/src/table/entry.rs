//! What a type is.

use super::names::NameId;
use std::ops::Range;

/// A type's place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub(crate) u32);

impl TypeId {
    /// `void`, and what a file leaves out to mean it.
    pub const VOID: TypeId = TypeId(0);

    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// For who keeps things by type.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A member's place in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub(crate) u32);

impl MemberId {
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeEntry {
    /// What it is, and of what.
    pub kind: TypeKind,
    /// Without what it is in; None: it has none.
    pub name: Option<NameId>,
    /// Bytes, where the file says so.
    pub size: Option<u64>,
    /// Bytes, where the file says so.
    pub align: Option<u64>,
    /// The namespace or type that it is in.
    pub(crate) scope: Option<u32>,
    /// The unit that it was read from.
    pub(crate) unit: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Something refers to it, and it is not there, or is nothing that is
    /// known.
    Unread,
    /// `void`.
    Void,
    /// A number, a character, a truth.
    Number(NumberSort),
    /// An address.
    Pointer {
        /// What lies there.
        to: TypeId,
        /// How it is written.
        sort: PointerSort,
    },
    /// Several of one type; those of several dimensions are arrays of arrays.
    Array {
        /// The element.
        of: TypeId,
        /// How many; None: as many as there is room for.
        count: Option<u64>,
    },
    /// Several members.
    Composite(Composite),
    /// Names for numbers.
    Enumeration {
        /// The number that it is, where the file says so.
        of: Option<TypeId>,
        /// Its constants, for [`super::TypeTable::enumerators`].
        values: Range<u32>,
    },
    /// A name for another type.
    Alias {
        /// That one.
        of: TypeId,
    },
    /// Another type that cannot be changed, or changes by itself.
    Qualified {
        /// That one.
        of: TypeId,
        /// In which way.
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
        /// As what.
        sort: CompositeSort,
        /// Where, if it is in this file.
        definition: Option<TypeId>,
    },
}

/// How a number is written and meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberSort {
    Signed,
    /// Without.
    Unsigned,
    /// A fraction.
    Float,
    Character,
    /// True or false.
    Truth,
    /// Something else.
    Other,
}

/// How an address is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointerSort {
    /// `*`.
    Pointer,
    /// `&`.
    Reference,
    /// `&&`.
    RvalueReference,
    /// To a member of a class.
    Member,
}

/// What a file calls several members together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompositeSort {
    /// `struct`.
    Struct,
    /// `class`.
    Class,
    /// `union`.
    Union,
    /// `enum`, as a declaration.
    Enum,
}

/// Several members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composite {
    /// What it is called.
    pub sort: CompositeSort,
    /// For [`super::TypeTable::members`].
    pub(crate) members: Range<u32>,
    /// Some members are there in some of its values only.
    pub has_variants: bool,
}

/// What a type is qualified by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Qualifier {
    /// `const`.
    Const,
    /// `volatile`.
    Volatile,
    /// `restrict`.
    Restrict,
    /// `_Atomic`.
    Atomic,
    /// Something that no source shows.
    Other,
}

/// A part of a structure, class or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeMember {
    /// None: an anonymous structure or union, or padding of bits.
    pub name: Option<NameId>,
    /// Its type.
    pub of: TypeId,
    /// Bits from the start of what it is in; None: the object tells where it
    /// is, as for virtual bases. In files of big-endian machines bits of a
    /// byte count from its most significant one.
    pub bit: Option<u64>,
    /// Bits that it has, if it is a bit field.
    pub bits: Option<u64>,
    /// Bytes that it was told to be aligned to.
    pub align: Option<u64>,
    /// What it is there for.
    pub sort: MemberSort,
}

impl TypeMember {
    /// Bytes from the start of what it is in; of a bit field those of its
    /// first bit.
    pub fn offset(&self) -> Option<u64> {
        self.bit.map(|bit| bit / 8)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberSort {
    /// What was written.
    Field,
    /// A base class.
    Base,
    /// A virtual base class.
    VirtualBase,
    /// What tells which variant a value is.
    Discriminant,
    /// There in one variant only, by number for [`super::TypeTable::variant`].
    Variant(u32),
}

/// One of several things that a value can be.
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

/// A constant of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator {
    /// What it is called.
    pub name: NameId,
    /// What it stands for.
    pub value: i128,
}

/// How types are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeLanguage {
    /// C and its kin.
    C,
    /// C++.
    Cpp,
    Rust,
    /// Spelled as C.
    Other,
}

/// A unit that types were read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeUnit {
    /// Its source file, as its compiler has it.
    pub name: String,
    pub language: TypeLanguage,
}
