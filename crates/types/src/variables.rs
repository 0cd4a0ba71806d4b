//! Which variables of a program lie where.
//!
//! Debug info tells of each variable of a routine in which register, or where
//! in memory, it is while the routine is at an address (DWARF 5, 2.6; its
//! lists of locations are those that a debugger reads). Variables that are
//! nowhere, or where only a computation leads, are not listed.

pub(crate) mod place;

pub(crate) use place::{FrameBase, located};
pub use place::{PlaceBase, PlaceUse, VariablePlace};

use crate::table::{NameId, TypeId};
use std::ops::Range;

/// A variable, or a part of one, over a stretch of its routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    pub name: Option<NameId>,
    /// The type of the whole variable.
    pub of: TypeId,
    /// Link-time addresses of instructions that find it there.
    pub addresses: Range<u64>,
    /// Where.
    pub place: VariablePlace,
    /// The byte of the variable that the part begins with.
    pub first: u64,
    /// Bytes of the part; None: to the variable's end.
    pub bytes: Option<u64>,
}

/// A variable that lies at one address for as long as its program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticVariable {
    pub name: Option<NameId>,
    /// Its type.
    pub of: TypeId,
    /// Its link-time address.
    pub start: u64,
}

/// The variables of one file.
#[derive(Debug, Default)]
pub struct VariableTable {
    pub(crate) locals: Vec<LocalVariable>,
    /// By address.
    pub(crate) statics: Vec<StaticVariable>,
    /// By start.
    pub(crate) stretches: Vec<RoutineStretch>,
    /// By routine number.
    pub(crate) routines: Vec<RoutineVariables>,
}

/// Code of one routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoutineStretch {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) routine: u32,
    /// The routine is called here.
    pub(crate) is_entry: bool,
}

/// What is known of one routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RoutineVariables {
    pub(crate) returns: TypeId,
    pub(crate) locals: Range<u32>,
}

impl VariableTable {
    fn routine(&self, address: u64) -> Option<(&RoutineVariables, RoutineStretch)> {
        let after = self.stretches.partition_point(|stretch| stretch.start <= address);
        let stretch = *self.stretches.get(after.checked_sub(1)?)?;
        let routine = self.routines.get(usize::try_from(stretch.routine).ok()?)?;
        (address < stretch.end).then_some((routine, stretch))
    }

    /// The variables of the routine that has code at a link-time address, over
    /// all of its stretches; None: no routine of the debug info has.
    pub fn locals(&self, address: u64) -> Option<&[LocalVariable]> {
        let (routine, _) = self.routine(address)?;
        let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        self.locals.get(at(routine.locals.start)..at(routine.locals.end))
    }

    /// What the routine returns that begins at a link-time address; None: none
    /// begins there.
    pub fn returned_by(&self, address: u64) -> Option<TypeId> {
        let (routine, stretch) = self.routine(address)?;
        (stretch.start == address && stretch.is_entry).then_some(routine.returns)
    }

    /// Whether a routine is called at a link-time address, and not a part of it
    /// that the compiler moved elsewhere begins there.
    pub fn is_entry(&self, address: u64) -> bool {
        let moved =
            |(_, stretch): (_, RoutineStretch)| stretch.start == address && !stretch.is_entry;
        !self.routine(address).is_some_and(moved)
    }

    /// The static variable that begins last at or before a link-time address.
    /// Whether it reaches there, its type's size tells.
    pub fn static_before(&self, address: u64) -> Option<StaticVariable> {
        let after = self.statics.partition_point(|variable| variable.start <= address);
        self.statics.get(after.checked_sub(1)?).copied()
    }

    /// How many routines it knows.
    pub fn routine_count(&self) -> usize {
        self.routines.len()
    }
}
