//! Which routine's frame an address lies in, and what variable has it there.
//!
//! The stack pointer of a sample and the unwind table of its code give where its frame begins,
//! which is the stack pointer of its caller, and so on: of all callers that the recording tells,
//! without a copy of the stack. Where the table counts from another register, the code is
//! followed from the routine's first instruction.

use super::lookup::{Lookup, MOST_PLACES};
use super::stacks::{NamedVariable, ThreadPoint};
use crate::typed::frame_registers::{FrameByte, FrameRegisters, FrameVariable};
use symbolizer::{FrameStart, Place, SampledAddress};

/// Callers whose frames are looked at.
const MOST_FRAMES: usize = 256;
/// DWARF's numbers (psABI x86-64, figure 3.36).
const RBP: u8 = 6;
const RSP: u8 = 7;

impl Lookup {
    /// The frame of a thread that an address lies in which it may reach; callers are those of
    /// the chain that was asked for last.
    pub(crate) fn frame_byte(&mut self, of: &ThreadPoint, address: u64) -> Option<FrameByte> {
        let (mut stack, mut base) = (of.stack, of.base);
        for level in 0..MOST_FRAMES {
            let (at, place) = match level {
                0 => (of.at, of.place),
                _ => self.chains.caller_at(of.at, level)?,
            };
            let (start, registers) =
                self.frame_start(FramePlace { at, place, level }, stack, base)?;
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
        &mut self,
        of: FramePlace,
        stack: u64,
        base: Option<u64>,
    ) -> Option<(u64, FrameRegisters)> {
        let own = |start: u64| stack.wrapping_sub(start).cast_signed();
        match self.symbolizer.frame_start(of.place) {
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
        let flow = self.types.objects.frame_registers(at, after, &mut self.symbolizer)?;
        Some((stack.wrapping_sub(flow.stack.cast_unsigned()), flow))
    }

    /// The variable of a frame that a byte is of, and whose frame it is, in words, by number.
    pub(crate) fn frame_name(&mut self, of: FrameByte) -> u32 {
        if let Some(known) = self.stacks.frames.get(&of.place)
            && let Some(found) = known.variables.iter().find(|it| it.slots.contains(&of.slot))
        {
            return found.name;
        }
        let variable = self.types.objects.frame_variable(of, &mut self.symbolizer);
        let known = self.stacks.frames.get(&of.place).and_then(|known| known.otherwise);
        if let (None, Some(known)) = (&variable, known) {
            return known;
        }
        let routine = self.routine_or_mark(of.place);
        let routine = self.name(routine);
        if self.stacks.frames.len() >= MOST_PLACES {
            self.stacks.frames.clear();
        }
        let names = self.stacks.frames.entry(of.place).or_default();
        match variable {
            Some(FrameVariable { name, slots }) => {
                let name = self.names.number(&format!("{name} in the frame of {routine}"));
                names.variables.push(NamedVariable { slots, name });
                name
            }
            None => {
                let name = self.names.number(&format!("frame of {routine}"));
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
