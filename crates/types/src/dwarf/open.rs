//! Entries whose children are being read.

use super::attributes::EntryKey;
use crate::table::{Enumerator, TypeId, TypeMember};

#[derive(Debug)]
pub(super) struct OpenEntry {
    pub(super) depth: isize,
    pub(super) scope: Option<u32>,
    pub(super) what: OpenKind,
}

#[derive(Debug)]
pub(super) enum OpenKind {
    /// Nothing: types among them stand for themselves.
    Other,
    Composite(OpenComposite),
    /// What tells variants apart, and they: of the structure at a place of the
    /// stack.
    VariantPart {
        owner: usize,
    },
    Variant {
        owner: usize,
        number: u32,
    },
    Enumeration {
        id: TypeId,
        values: Vec<Enumerator>,
    },
    Array {
        id: TypeId,
        of: TypeId,
        counts: Vec<Option<u64>>,
    },
    Function {
        id: TypeId,
        parameters: Vec<TypeId>,
        is_open: bool,
    },
}

#[derive(Debug)]
pub(super) struct OpenComposite {
    pub(super) id: TypeId,
    pub(super) members: Vec<TypeMember>,
    pub(super) waiting: Vec<WaitingBits>,
}

/// A bit field whose place depends on the size of its type.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingBits {
    pub(super) member: u32,
    /// Bytes before its number.
    pub(super) bytes: u64,
    /// Bits from the most significant one of its number.
    pub(super) from_top: i64,
    pub(super) bits: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct EntryPlace {
    pub(super) key: EntryKey,
    pub(super) tag: gimli::DwTag,
    pub(super) scope: Option<u32>,
    pub(super) unit: u32,
    pub(super) address_size: u8,
}
