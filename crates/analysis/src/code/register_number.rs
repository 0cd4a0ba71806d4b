//! Registers by the numbers that samples have them under.

use iced_x86::Register;

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
