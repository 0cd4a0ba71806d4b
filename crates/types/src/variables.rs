//! Which variables of a program lie where.
//!
//! Debug info tells of each variable of a routine in which register, or where
//! in memory, it is while the routine is at an address (DWARF 5, 2.6; its
//! lists of locations are those that a debugger reads). Variables that are
//! nowhere, or where only a computation leads, are not listed.

use crate::table::{NameId, TypeId};
use gimli::{Encoding, Expression, Operation};
use std::ops::Range;
use symbolizer::SectionReader;

/// A variable, or a part of one, over a stretch of its routine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalVariable {
    pub name: Option<NameId>,
    pub of: TypeId,
    /// Link-time addresses of instructions that find it there.
    pub addresses: Range<u64>,
    pub place: VariablePlace,
    /// The byte of the variable that the part begins with.
    pub first: u64,
    /// Bytes of the part; None: to the variable's end.
    pub bytes: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticVariable {
    pub name: Option<NameId>,
    pub of: TypeId,
    /// Its link-time address.
    pub start: u64,
}

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoutineStretch {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) routine: u32,
    pub(crate) is_entry: bool,
}

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariablePlace {
    pub base: PlaceBase,
    pub offset: i64,
    pub is: PlaceUse,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceBase {
    /// A register, by DWARF's number (psABI x86-64, figure 3.36).
    Register(u16),
    /// The canonical frame address: what the stack pointer was before the call.
    Frame,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceUse {
    /// The value itself.
    Value,
    /// The address where it lies.
    Memory,
    /// The address of a pointer to where it lies.
    Reference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocatedPart {
    /// In a register or in memory.
    Local(VariablePlace),
    /// At a link-time address.
    Static(u64),
    Nowhere,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocatedBytes {
    pub(crate) first: u64,
    pub(crate) bytes: Option<u64>,
    pub(crate) part: LocatedPart,
}

/// What places of a routine's frame are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameBase(pub(crate) Option<VariablePlace>);

/// Numbers that an expression has at hand.
const MOST_HELD: usize = 16;
/// Parts of one variable.
const MOST_PARTS: usize = 64;

#[derive(Clone, Copy, Debug)]
enum ExpressionValue {
    Number(i64),
    Sum {
        base: PlaceBase,
        offset: i64,
    },
    /// What lies at a sum.
    Loaded {
        base: PlaceBase,
        offset: i64,
    },
    Address(u64),
}

/// The parts that an expression tells of. `address`: of those that a unit has
/// in a list, by number.
pub(crate) fn located(
    expression: Expression<SectionReader<'_>>,
    encoding: Encoding,
    frame: FrameBase,
    address: impl Fn(usize) -> Option<u64>,
) -> Vec<LocatedBytes> {
    let mut parts = Vec::new();
    let mut held: Vec<ExpressionValue> = Vec::new();
    let mut in_register: Option<u16> = None;
    let (mut is_value, mut is_known) = (false, true);
    let mut first = 0_u64;
    let mut operations = expression.operations(encoding);
    loop {
        let operation = match operations.next() {
            Ok(Some(operation)) => operation,
            Ok(None) => break,
            Err(_) => {
                is_known = false;
                break;
            }
        };
        if held.len() > MOST_HELD || parts.len() > MOST_PARTS {
            is_known = false;
            break;
        }
        match operation {
            Operation::Piece { size_in_bits, .. } => {
                let part = part(in_register.take(), held.last().copied(), is_value, is_known);
                parts.push(LocatedBytes { first, bytes: Some(size_in_bits / 8), part });
                held.clear();
                (is_value, is_known) = (false, true);
                first = first.saturating_add(size_in_bits / 8);
            }
            Operation::Register { register } => in_register = Some(register.0),
            Operation::RegisterOffset { register, offset, .. } => {
                held.push(ExpressionValue::Sum { base: PlaceBase::Register(register.0), offset });
            }
            Operation::FrameOffset { offset } => match frame.0 {
                Some(VariablePlace { base, offset: more, .. }) => {
                    held.push(ExpressionValue::Sum { base, offset: offset.wrapping_add(more) });
                }
                None => is_known = false,
            },
            Operation::CallFrameCFA => {
                held.push(ExpressionValue::Sum { base: PlaceBase::Frame, offset: 0 });
            }
            Operation::Address { address } => held.push(ExpressionValue::Address(address)),
            Operation::AddressIndex { index } => match address(index.0) {
                Some(address) => held.push(ExpressionValue::Address(address)),
                None => is_known = false,
            },
            Operation::UnsignedConstant { value } => {
                held.push(ExpressionValue::Number(value.cast_signed()));
            }
            Operation::SignedConstant { value } => held.push(ExpressionValue::Number(value)),
            Operation::PlusConstant { value } => {
                let added = held.pop().and_then(|it| plus(it, value.cast_signed()));
                is_known &= push(&mut held, added);
            }
            Operation::Plus | Operation::Minus => {
                let (right, left) = (held.pop(), held.pop());
                let sum = match (left, right) {
                    (Some(left), Some(ExpressionValue::Number(number))) => {
                        let is_plus = matches!(operation, Operation::Plus);
                        plus(left, if is_plus { number } else { number.wrapping_neg() })
                    }
                    _ => None,
                };
                is_known &= push(&mut held, sum);
            }
            Operation::Deref { space: false, .. } => {
                let loaded = match held.pop() {
                    Some(ExpressionValue::Sum { base, offset }) => {
                        Some(ExpressionValue::Loaded { base, offset })
                    }
                    _ => None,
                };
                is_known &= push(&mut held, loaded);
            }
            Operation::StackValue => is_value = true,
            Operation::Nop => {}
            _ => is_known = false,
        }
    }
    if parts.is_empty() || !held.is_empty() || in_register.is_some() {
        let part = part(in_register, held.last().copied(), is_value, is_known);
        parts.push(LocatedBytes { first, bytes: None, part });
    }
    parts
}

fn push(held: &mut Vec<ExpressionValue>, what: Option<ExpressionValue>) -> bool {
    held.extend(what);
    what.is_some()
}

fn plus(held: ExpressionValue, number: i64) -> Option<ExpressionValue> {
    Some(match held {
        ExpressionValue::Number(other) => ExpressionValue::Number(other.wrapping_add(number)),
        ExpressionValue::Sum { base, offset } => {
            ExpressionValue::Sum { base, offset: offset.wrapping_add(number) }
        }
        ExpressionValue::Address(address) => {
            ExpressionValue::Address(address.wrapping_add_signed(number))
        }
        ExpressionValue::Loaded { .. } if number == 0 => held,
        ExpressionValue::Loaded { .. } => return None,
    })
}

fn part(
    in_register: Option<u16>,
    held: Option<ExpressionValue>,
    is_value: bool,
    is_known: bool,
) -> LocatedPart {
    if !is_known {
        return LocatedPart::Nowhere;
    }
    let place = |base, offset, is| LocatedPart::Local(VariablePlace { base, offset, is });
    match (in_register, held) {
        (Some(register), None) => place(PlaceBase::Register(register), 0, PlaceUse::Value),
        (None, Some(ExpressionValue::Sum { base, offset })) if is_value => {
            place(base, offset, PlaceUse::Value)
        }
        (None, Some(ExpressionValue::Sum { base, offset })) => {
            place(base, offset, PlaceUse::Memory)
        }
        (None, Some(ExpressionValue::Loaded { base, offset })) if is_value => {
            // A value that lies there is a variable that lies there.
            place(base, offset, PlaceUse::Memory)
        }
        (None, Some(ExpressionValue::Loaded { base, offset })) => {
            place(base, offset, PlaceUse::Reference)
        }
        (None, Some(ExpressionValue::Address(address))) if !is_value => {
            LocatedPart::Static(address)
        }
        _ => LocatedPart::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::{EndianSlice, Format, RunTimeEndian};

    fn parts(bytes: &[u8]) -> Vec<LocatedBytes> {
        let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 5 };
        let expression = Expression(EndianSlice::new(bytes, RunTimeEndian::Little));
        let base = PlaceBase::Register(6);
        let frame = FrameBase(Some(VariablePlace { base, offset: 16, is: PlaceUse::Value }));
        located(expression, encoding, frame, |index| (index == 1).then_some(0x4000))
    }

    fn local(base: PlaceBase, offset: i64, is: PlaceUse) -> LocatedPart {
        LocatedPart::Local(VariablePlace { base, offset, is })
    }

    #[test]
    fn expressions_of_one_part() {
        let (rax, rbp) = (PlaceBase::Register(0), PlaceBase::Register(6));
        for (bytes, expected) in [
            (&[0x50][..], local(rax, 0, PlaceUse::Value)),
            (&[0x70, 0x08], local(rax, 8, PlaceUse::Memory)),
            (&[0x70, 0x78, 0x9f], local(rax, -8, PlaceUse::Value)),
            (&[0x91, 0x68], local(rbp, -8, PlaceUse::Memory)),
            (&[0x91, 0x68, 0x06], local(rbp, -8, PlaceUse::Reference)),
            (&[0x91, 0x68, 0x06, 0x9f], local(rbp, -8, PlaceUse::Memory)),
            (&[0x9c], local(PlaceBase::Frame, 0, PlaceUse::Memory)),
            (&[0x9c, 0x08, 0x10, 0x1c], local(PlaceBase::Frame, -16, PlaceUse::Memory)),
            (&[0x03, 0, 0x40, 0, 0, 0, 0, 0, 0, 0x23, 4], LocatedPart::Static(0x4004)),
            (&[0xa1, 1], LocatedPart::Static(0x4000)),
            (&[0xa1, 2], LocatedPart::Nowhere),
            (&[0xa3, 1, 0x55, 0x9f], LocatedPart::Nowhere),
            (&[0x30, 0x9f], LocatedPart::Nowhere),
            (&[0x70], LocatedPart::Nowhere),
            (&[], LocatedPart::Nowhere),
        ] {
            let expected = [LocatedBytes { first: 0, bytes: None, part: expected }];
            assert_eq!(parts(bytes), expected, "{bytes:x?}");
        }
    }

    #[test]
    fn parts_are_told_apart() {
        // rax, 8 bytes; nothing, 8 bytes; rbp-16, 4 bytes.
        let found = parts(&[0x50, 0x93, 8, 0x93, 8, 0x91, 0x60, 0x93, 4]);
        let at = |first, bytes, part| LocatedBytes { first, bytes: Some(bytes), part };
        let rbp = PlaceBase::Register(6);
        assert_eq!(
            found,
            [
                at(0, 8, local(PlaceBase::Register(0), 0, PlaceUse::Value)),
                at(8, 8, LocatedPart::Nowhere),
                at(16, 4, local(rbp, -16, PlaceUse::Memory)),
            ]
        );
    }
}
