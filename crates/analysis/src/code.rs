//! What an instruction is, and what it accesses.

pub(crate) mod access_shape;
pub(crate) mod instruction_class;
pub(crate) mod operand_shape;
pub(crate) mod previous;
pub(crate) mod store_before;

use iced_x86::{InstructionInfo, OpAccess, Register};
use symbolizer::SampledAddress;

/// `enum perf_event_x86_regs` (trap 14).
pub(crate) fn register_number(register: Register) -> Option<u32> {
    Some(match register {
        Register::RAX => 0,
        Register::RBX => 1,
        Register::RCX => 2,
        Register::RDX => 3,
        Register::RSI => 4,
        Register::RDI => 5,
        Register::RBP => 6,
        Register::RSP => 7,
        Register::R8 => 16,
        Register::R9 => 17,
        Register::R10 => 18,
        Register::R11 => 19,
        Register::R12 => 20,
        Register::R13 => 21,
        Register::R14 => 22,
        Register::R15 => 23,
        _ => return None,
    })
}

/// An instruction as a sample has it, and where its data lies.
#[derive(Clone, Copy)]
pub(crate) struct SampledInstruction<'s> {
    pub(crate) at: SampledAddress,
    /// Whether the record says that it is that of the instruction which
    /// caused the event.
    pub(crate) is_exact: bool,
    /// The data address; 0: none.
    pub(crate) address: u64,
    /// Sampled registers by the kernel's number.
    pub(crate) register: &'s dyn Fn(u32) -> Option<u64>,
}

impl std::fmt::Debug for SampledInstruction<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("SampledInstruction");
        shown.field("at", &self.at).field("address", &self.address).finish_non_exhaustive()
    }
}

/// The registers that are written, whole or in part, in full width.
pub(crate) fn written(info: &InstructionInfo) -> Vec<Register> {
    let used = info.used_registers().iter();
    used.filter(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
        .map(|used| used.register().full_register())
        .collect()
}
