//! Which routine's frame an address lies in, and what variable has it there.
//!
//! The stack pointer of a sample and the unwind table of its code give where its frame begins,
//! which is the stack pointer of its caller, and so on: of all callers that the recording tells,
//! without a copy of the stack. Where the table counts from another register, the code is
//! followed from the routine's first instruction.

use super::call_chains::CallChains;
use super::place_names::PlaceNames;
use super::stacks::ThreadPoint;
use crate::bounded::{Bounded, MOST_PLACES};
use crate::typed::frame_registers::{FrameByte, FrameVariable};
use crate::typed::object_types::ObjectTypes;
use crate::typed::routine_flow::FrameRegisters;
use std::ops::Range;
use symbolizer::{FrameStart, Place, SampledAddress, Symbolizer};

/// Callers whose frames are looked at.
const MOST_FRAMES: usize = 256;
/// DWARF's numbers (psABI x86-64, figure 3.36).
const RBP: u8 = 6;
const RSP: u8 = 7;

/// The frame of a thread that an address lies in which it may reach; callers are those of
/// the chain that was asked for last.
pub(crate) fn frame_byte(
    of: &ThreadPoint,
    address: u64,
    chains: &CallChains,
    types: &mut ObjectTypes,
    symbolizer: &mut Symbolizer,
) -> Option<FrameByte> {
    let (mut stack, mut base) = (of.stack, of.base);
    for level in 0..MOST_FRAMES {
        let (at, place) = match level {
            0 => (of.at, of.place),
            _ => chains.caller_at(of.at, level)?,
        };
        let (start, registers) =
            frame_start(FramePlace { at, place, level }, (stack, base), types, symbolizer)?;
        if start <= stack {
            return None;
        }
        if address < start {
            let slot = address.wrapping_sub(start).cast_signed();
            return Some(FrameByte { place, at, slot, registers });
        }
        (stack, base) = (start, None);
    }
    None
}

/// The canonical frame address of code, and where registers point from there.
fn frame_start(
    of: FramePlace,
    (stack, base): (u64, Option<u64>),
    types: &mut ObjectTypes,
    symbolizer: &mut Symbolizer,
) -> Option<(u64, FrameRegisters)> {
    let own = |start: u64| stack.wrapping_sub(start).cast_signed();
    match symbolizer.frame_start(of.place) {
        Some(FrameStart { register: RSP, offset }) => {
            let start = stack.wrapping_add_signed(offset);
            return Some((start, FrameRegisters { stack: own(start), base: None }));
        }
        Some(FrameStart { register: RBP, offset }) if base.is_some() => {
            let start = base?.wrapping_add_signed(offset);
            let base = Some(offset.wrapping_neg());
            return Some((start, FrameRegisters { stack: own(start), base }));
        }
        _ => {}
    }
    let FramePlace { at, place, level } = of;
    // Behind a call.
    let address = place.address.wrapping_add(u64::from(level > 0));
    let after = Place { address, ..place };
    let flow = types.frame_registers(at, after, symbolizer)?;
    Some((stack.wrapping_sub(flow.stack.cast_unsigned()), flow))
}

/// Names of frames, by where their routine is.
#[derive(Debug, Default)]
pub(crate) struct FrameNames(Bounded<Place, NamesInFrame, MOST_PLACES>);

#[derive(Clone, Debug, Default)]
struct NamesInFrame {
    /// Where no variable is.
    otherwise: Option<u32>,
    variables: Vec<NamedVariable>,
}

#[derive(Clone, Debug)]
struct NamedVariable {
    /// Bytes from the canonical frame address.
    slots: Range<i64>,
    name: u32,
}

impl FrameNames {
    /// The variable of a frame that a byte is of, and whose frame it is, in words, by number.
    pub(crate) fn name(
        &mut self,
        of: FrameByte,
        types: &mut ObjectTypes,
        places: &mut PlaceNames,
    ) -> u32 {
        if let Some(known) = self.0.get(&of.place)
            && let Some(found) = known.variables.iter().find(|it| it.slots.contains(&of.slot))
        {
            return found.name;
        }
        let variable = types.frame_variable(of, &mut places.symbolizer);
        let known = self.0.get(&of.place).and_then(|known| known.otherwise);
        if let (None, Some(known)) = (&variable, known) {
            return known;
        }
        let routine = places.routine_or_mark(of.place);
        let routine = places.name(routine);
        let names = self.0.or_insert_with(of.place, NamesInFrame::default);
        match variable {
            Some(FrameVariable { name, slots }) => {
                let name = places.texts.number(&format!("{name} in the frame of {routine}"));
                names.variables.push(NamedVariable { slots, name });
                name
            }
            None => {
                let name = places.texts.number(&format!("frame of {routine}"));
                names.otherwise = Some(name);
                name
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct FramePlace {
    at: SampledAddress,
    place: Place,
    /// 0: the sampled instruction; else its callers.
    level: usize,
}
