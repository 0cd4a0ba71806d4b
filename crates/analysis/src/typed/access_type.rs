//! The type of one sampled access, by code and by object.

use super::typed_operand::within;
use super::typed_operand::{CountedFrom, TypedOperand, TypedPlace, element};
use types::{ProgramTypes, TypeTable};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum NoType {
    /// No way through the routine that was followed leads to the instruction,
    /// or its code is none that types are followed through.
    Unfollowed,
    Memory,
    /// What its operand's register holds is of no variable.
    Variable,
    /// It is a slot of the frame that is of no variable: the compiler saved
    /// something there.
    Stack,
}

impl NoType {
    /// In brackets.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            NoType::Unfollowed => "[not-followed]",
            NoType::Memory => "[no-memory]",
            NoType::Variable => "[no-variable]",
            NoType::Stack => "[stack]",
        }
    }

    /// As a sentence.
    pub(crate) fn text(self) -> &'static str {
        match self {
            NoType::Unfollowed => {
                "types were not followed to the instruction: through x86-64 code alone, and not \
                 where a routine has too many ways"
            }
            NoType::Memory => "the instruction accesses no memory",
            NoType::Variable => {
                "debug info tells no variable that leads to what its address is made of"
            }
            NoType::Stack => "it accesses its routine's frame where debug info tells no variable",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessType {
    pub(crate) place: TypedPlace,
    pub(crate) by: TypedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum TypedBy {
    Code,
    Object,
    /// Both, which say the same.
    Both,
    /// Both, which say different things: the object's is shown.
    Disagreement,
    /// What the code of other accesses says of the block of the heap.
    Block,
}

/// By code: of the operands of an instruction, the one that a sample is of.
pub(crate) fn by_code(
    types: &TypeTable,
    operands: &[TypedOperand],
    distance: impl Fn(&CountedFrom) -> Option<i64>,
) -> Result<TypedPlace, NoType> {
    let mut lack = NoType::Memory;
    for operand in operands {
        if let Some(place) = operand.place(types, &distance) {
            return Ok(place);
        }
        lack = match operand.is_in_frame {
            true => NoType::Stack,
            false => NoType::Variable,
        };
    }
    Err(lack)
}

/// By object: the static variable that has a link-time address.
pub(crate) fn by_object(program: &ProgramTypes, address: u64) -> Option<TypedPlace> {
    let variable = program.variables.static_before(address)?;
    let types = &program.types;
    let within = address.checked_sub(variable.start)?;
    if within >= types.size_of(variable.of)? {
        return None;
    }
    let of = element(types, variable.of);
    let size = types.size_of(of).filter(|size| *size > 0)?;
    Some(TypedPlace { of, offset: Some(within % size) })
}

impl AccessType {
    pub(crate) fn of(
        types: &TypeTable,
        code: TypedPlace,
        object: Option<TypedPlace>,
    ) -> AccessType {
        match object {
            None => AccessType { place: code, by: TypedBy::Code },
            // Bytes can be anything.
            Some(place) if code.is_bytes(types) => AccessType { place, by: TypedBy::Object },
            Some(place) if holds(types, place, code) => AccessType { place, by: TypedBy::Both },
            Some(place) => AccessType { place, by: TypedBy::Disagreement },
        }
    }
}

/// Whether what lies at a place of an object is also that place of the type
/// that the code has.
fn holds(types: &TypeTable, object: TypedPlace, code: TypedPlace) -> bool {
    let within = object.offset.and_then(|offset| within(types, object.of, offset, code.of));
    within.is_some_and(|within| code.offset.is_none_or(|offset| offset == within))
}
