//! Layouts of types, and which member an offset is in.
//!
//! [`TypeTable::open`] reads all types of a file from its debug info (DWARF 2
//! to 5, or BTF), [`TypeTable::named`] finds some by name, and
//! [`TypeTable::member_at`] tells the members that hold a byte: through
//! nested structures, arrays, base classes, unions and variants of Rust's
//! enums. [`ProgramTypes`] has the variables of a program besides: in which
//! register or stack slot each is while its routine is where.
//! [`Layout`](ClassLayout) is what a person wants to see of one: members
//! with offsets, holes, lines.
//!
//! Rooms, each of which takes from those before it alone: `table` (types as
//! values), `variables` (where variables are), `dwarf` and `btf` (readers), `source` (which of
//! them reads a file; types and variables together),
//! `path` (members by offset), `spelling` (types as their language writes them),
//! `layout`. Files come from strangers: every walk has a bound, and what was
//! left out is told by [`TypeTable::notes`].
//!
//! ```
//! use types::TypeTable;
//!
//! let none = TypeTable::parse(b"no ELF file").unwrap_err();
//! assert!(none.to_string().contains("not a sound ELF file"));
//! ```

mod btf;
mod dwarf;
mod layout;
mod path;
mod source;
mod spelling;
mod table;
mod variables;

pub use btf::BtfError;
pub use layout::{BitPlace, ClassLayout, LayoutRow, LayoutSums, MemberRow};
pub use path::{MemberPath, MembersAt, OpenArray, PathEnd, PathStep};
pub use source::{ProgramTypes, TypesError};
pub use spelling::Declarator;
pub use table::{
    Composite, CompositeKind, DiscriminantRange, Enumerator, MemberId, MemberKind, NameId,
    NumberKind, PointerKind, Qualifier, TypeEntry, TypeId, TypeKind, TypeLanguage, TypeMember,
    TypeTable, TypeUnit, Variant,
};
pub use variables::{
    LocalVariable, PlaceBase, PlaceUse, StaticVariable, VariablePlace, VariableTable,
};
