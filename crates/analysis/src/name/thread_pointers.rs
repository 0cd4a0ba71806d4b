//! Where the variables are that each thread has for itself.
//!
//! No sample tells the thread pointer (the base of FS). An access to a fixed place behind or
//! before it does, by its data address.

use super::place_names::PlaceNames;
use crate::bounded::{Bounded, MOST_PLACES};
use crate::code::written;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, Mnemonic, Register};
use perfdata::{Pid, Tid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use symbolizer::{ObjectId, Place, Resolution, SampledAddress, Symbolizer};

/// Threads that are remembered.
const MOST_THREADS: usize = 1 << 16;

#[derive(Debug, Default)]
pub(crate) struct ThreadPointers {
    known: FxHashMap<Pid, BTreeMap<u64, ThreadPointer>>,
    kept: usize,
    facts: Bounded<Place, InstructionFacts, MOST_PLACES>,
    names: Bounded<(ObjectId, u64), u32, MOST_PLACES>,
}

#[derive(Clone, Debug)]
struct ThreadPointer {
    tid: Tid,
    program: ObjectId,
    /// Bytes below it that are the program's.
    size: u64,
    during: RangeInclusive<Time>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct InstructionFacts {
    /// It changes the stack pointer, or may.
    pub(crate) moves_stack: bool,
    /// It accesses what lies so far from the thread pointer.
    pub(crate) from_pointer: Option<i64>,
}

impl ThreadPointers {
    pub(crate) fn of_thread(&self, pid: Pid, tid: Tid) -> impl Iterator<Item = u64> + '_ {
        let known = self.known.get(&pid).into_iter().flatten();
        known.filter(move |(_, it)| it.tid == tid).map(|(pointer, _)| *pointer)
    }

    pub(crate) fn facts(
        &mut self,
        at: SampledAddress,
        place: Place,
        symbolizer: &mut Symbolizer,
    ) -> InstructionFacts {
        if let Some(known) = self.facts.get(&place) {
            return *known;
        }
        let code = symbolizer.code(at);
        let facts = code.map_or_else(
            // Nobody knows that it does not.
            |_| InstructionFacts { moves_stack: true, from_pointer: None },
            |code| InstructionFacts::of(code.bytes(), code.bits, at.address),
        );
        self.facts.insert(place, facts);
        facts
    }

    /// An access told where the thread pointer is.
    pub(crate) fn learn(
        &mut self,
        at: SampledAddress,
        tid: Tid,
        pointer: u64,
        symbolizer: &mut Symbolizer,
    ) {
        let SampledAddress { pid, time, .. } = at;
        let known = self.known.get(&pid).and_then(|known| known.get(&pointer));
        if known.is_some_and(|it| it.tid == tid && it.during.contains(&time)) {
            return;
        }
        let Some(program) = symbolizer.program(pid, time) else { return };
        let size = symbolizer.thread_data_size(program.object);
        let new = ThreadPointer { tid, program: program.object, size, during: program.during };
        if self.kept >= MOST_THREADS {
            self.known.clear();
            self.kept = 0;
        }
        self.kept += 1;
        self.known.entry(pid).or_default().insert(pointer, new);
    }

    /// What of the program an address below a known thread pointer is, in words, by number.
    pub(crate) fn variable(
        &mut self,
        pid: Pid,
        time: Time,
        address: u64,
        places: &mut PlaceNames,
    ) -> Option<u32> {
        let known = self.known.get(&pid)?;
        let (pointer, of) = known.range(address.checked_add(1)?..).next()?;
        let below = pointer - address;
        if below > of.size || !of.during.contains(&time) {
            return None;
        }
        let program = of.program;
        if let Some(name) = self.names.get(&(program, below)) {
            return Some(*name);
        }
        let name = match places.symbolizer.resolve_thread_data(program, below) {
            Resolution::Routine(variable) => format!("{}, thread-local", variable.name),
            Resolution::Unknown(_) => {
                format!("thread-local of {}", places.symbolizer.object_name(program))
            }
        };
        let number = places.texts.number(&name);
        self.names.insert((program, below), number);
        Some(number)
    }
}

impl InstructionFacts {
    fn of(bytes: &[u8], bits: u32, address: u64) -> InstructionFacts {
        let instruction = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE).decode();
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&instruction);
        let accesses = !info.used_memory().is_empty() && instruction.mnemonic() != Mnemonic::Lea;
        let is_fixed = instruction.memory_segment() == Register::FS
            && instruction.memory_base() == Register::None
            && instruction.memory_index() == Register::None;
        let displacement = instruction.memory_displacement64().cast_signed();
        InstructionFacts {
            moves_stack: written(info).contains(&Register::RSP),
            from_pointer: (bits == 64 && accesses && is_fixed).then_some(displacement),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_places_of_threads_are_told() {
        let of = |bytes: &[u8]| InstructionFacts::of(bytes, 64, 0x1000);
        // mov %fs:0x0,%rax
        let own = of(&[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0]);
        assert_eq!((own.from_pointer, own.moves_stack), (Some(0), false));
        // addl $1,%fs:-4
        let before = of(&[0x64, 0x83, 0x04, 0x25, 0xfc, 0xff, 0xff, 0xff, 1]);
        assert_eq!(before.from_pointer, Some(-4));
        // mov %fs:(%rax),%eax: anywhere
        assert_eq!(of(&[0x64, 0x8b, 0x00]).from_pointer, None);
        // push %rbx
        let push = of(&[0x53]);
        assert_eq!((push.from_pointer, push.moves_stack), (None, true));
    }
}
