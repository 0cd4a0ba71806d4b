//! Loads that cross the border of a 64-byte line.

use super::rule::RegistersOf;
use crate::code::instruction_class::reads;
use crate::code::{SampledInstruction, register_number, written};
use iced_x86::{Instruction, InstructionInfoFactory, Register, UsedMemory};

/// Bytes of a cache line on every x86 CPU with 64-bit code.
const LINE: u64 = 64;

/// Whether the instruction loads across the border of a line; None: where it
/// loads from cannot be told.
pub(super) fn is_split_load(
    instruction: &Instruction,
    sampled: &SampledInstruction<'_>,
    registers: RegistersOf,
) -> Option<bool> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let loads: Vec<&UsedMemory> =
        info.used_memory().iter().filter(|memory| reads(memory.access())).collect();
    if sampled.address != 0
        && let [load] = loads.as_slice()
    {
        return crosses(sampled.address, load);
    }
    let written = written(info);
    let value = |register: Register| {
        let full = register.full_register();
        let kept = match registers {
            RegistersOf::Before => true,
            RegistersOf::After => !written.contains(&full),
            RegistersOf::Other => false,
        };
        let value = (sampled.register)(register_number(full)?).filter(|_| kept)?;
        Some(if register.size() == 4 { value & 0xffff_ffff } else { value })
    };
    let mut split = Some(false);
    for load in loads {
        let address = load.virtual_address(0, |register, _, _| match register {
            // Bases that are not 0 are not sampled.
            Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
            Register::FS | Register::GS => None,
            register => value(register),
        });
        match address.filter(|_| load.vsib_size() == 0).and_then(|it| crosses(it, load)) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => split = None,
        }
    }
    split
}

/// None: how much is loaded depends on more than the instruction.
fn crosses(address: u64, load: &UsedMemory) -> Option<bool> {
    let size = u64::try_from(load.memory_size().size()).ok().filter(|&size| size > 0)?;
    Some(address % LINE + size > LINE)
}
