//! Which instruction is of which class: the rules behind the execution types
//! and the emulated memory types.
//!
//! Classes follow the events of the Pentium 4 that hardmeter's types were
//! made for ("packed_SP_uop" and its kin, Intel SDM volume 3, events of the
//! NetBurst microarchitecture), told of instructions instead of micro-ops:
//!
//! - *Packed* and *scalar*, *single* and *double*: what a vector instruction
//!   does to its floating-point elements, whichever way: arithmetic, logic,
//!   comparison, conversion, rearrangement. A conversion belongs to the
//!   single or double type that it reads, or else writes. Half precision is
//!   of no class.
//! - *mmx64* and *mmx128*: the same with integer elements, and with bits of
//!   no type; in MMX registers, or in xmm, ymm, zmm registers.
//! - *x87*: arithmetic, comparison, constants. Control instructions are of no
//!   class.
//! - *`x87_simd_moves`*: loads, stores and copies of an x87, MMX or vector
//!   register, whole or in part, masked, gathered or broadcast; the x87 ones
//!   convert on the way. A move is of none of the classes above.
//! - Memory: any operand in memory that is read or written, the stack of
//!   `push` and `ret` and a copy's two sides too; not what `lea`, `nop`,
//!   prefetches and cache line flushes name. What is read or written under a
//!   condition counts as if it held.

mod computing;

use iced_x86::{Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic, OpAccess};
use perfdata::{InstructionClass, InstructionClasses};

/// The instruction at the start of `bytes`, in code of 16, 32 or 64 `bits`
/// that lies at `address`; None when there is none, or it is cut off.
pub(crate) fn decode(bytes: &[u8], bits: u32, address: u64) -> Option<Instruction> {
    if ![16, 32, 64].contains(&bits) {
        return None;
    }
    let instruction = Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE).decode();
    (!instruction.is_invalid()).then_some(instruction)
}

/// The classes of an instruction, without [`InstructionClass::SplitLoad`],
/// which depends on where its data lies.
pub fn classes(instruction: &Instruction) -> InstructionClasses {
    memory(instruction).into_iter().chain(computing::class(instruction)).collect()
}

fn memory(instruction: &Instruction) -> Vec<InstructionClass> {
    let mut classes = Vec::new();
    if flushes(instruction.mnemonic()) {
        return classes;
    }
    let mut factory = InstructionInfoFactory::new();
    let used = factory.info(instruction).used_memory();
    let reads = used.iter().any(|memory| reads(memory.access()));
    // The decoder names no memory of the one that zeroes a line.
    let zeroes = instruction.mnemonic() == Mnemonic::Clzero;
    let writes = zeroes || used.iter().any(|memory| writes(memory.access()));
    for (holds, class) in [
        (reads, InstructionClass::ReadsMemory),
        (writes, InstructionClass::WritesMemory),
        (reads || writes, InstructionClass::AccessesMemory),
    ] {
        if holds {
            classes.push(class);
        }
    }
    classes
}

pub(crate) fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

pub(crate) fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// The decoder has these read their line.
fn flushes(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Clflush | Mnemonic::Clflushopt | Mnemonic::Clwb | Mnemonic::Cldemote
    )
}

#[cfg(test)]
mod tests;
