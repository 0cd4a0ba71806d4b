//! Where registers point within a routine's frame, and which variable has a byte of it.

use super::object_types::ObjectTypes;
use super::routine_flow::FrameRegisters;
use std::ops::Range;
use symbolizer::{Place, SampledAddress, Symbolizer};
use types::{LocalVariable, PlaceBase, PlaceUse, ProgramTypes, VariablePlace};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameByte {
    /// The instruction that the routine is at, or the last byte of the call that it waits in.
    pub(crate) place: Place,
    /// The same at run time.
    pub(crate) at: SampledAddress,
    /// Bytes from the canonical frame address.
    pub(crate) slot: i64,
    pub(crate) registers: FrameRegisters,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FrameVariable {
    pub(crate) name: String,
    /// Bytes from the canonical frame address.
    pub(crate) slots: Range<i64>,
}

impl ObjectTypes {
    /// Where registers point before the instruction at a place, as far as the code tells.
    pub(crate) fn frame_registers(
        &mut self,
        at: SampledAddress,
        place: Place,
        symbolizer: &mut Symbolizer,
    ) -> Option<FrameRegisters> {
        let (_, flow) = self.flow(at, place, symbolizer).ok()?;
        flow.frame(place.address)
    }

    /// The variable that has a byte of a frame, by debug info.
    pub(crate) fn frame_variable(
        &mut self,
        of: FrameByte,
        symbolizer: &mut Symbolizer,
    ) -> Option<FrameVariable> {
        let program = self.program(of.place.object, symbolizer).ok()?;
        let locals = program.variables.locals(of.place.address)?;
        let live = locals.iter().filter(|it| it.addresses.contains(&of.place.address));
        let mut found = live.filter_map(|it| Some((slots(&program, it, of.registers)?, it)));
        let (slots, variable) = found.find(|(slots, _)| slots.contains(&of.slot))?;
        let name = variable.name.map_or("[no name]", |name| program.types.text(name));
        Some(FrameVariable { name: name.to_owned(), slots })
    }
}

/// The bytes of its routine's frame that a variable has; None: it is not there.
fn slots(
    program: &ProgramTypes,
    variable: &LocalVariable,
    registers: FrameRegisters,
) -> Option<Range<i64>> {
    let VariablePlace { base, offset, is: PlaceUse::Memory } = variable.place else {
        return None;
    };
    let base = match base {
        PlaceBase::Frame => 0,
        PlaceBase::Register(number) => registers.get(number)?,
    };
    let start = base.wrapping_add(offset);
    let whole = || program.types.size_of(variable.of)?.checked_sub(variable.first);
    let bytes = i64::try_from(variable.bytes.or_else(whole)?).ok()?;
    Some(start..start.checked_add(bytes)?)
}
