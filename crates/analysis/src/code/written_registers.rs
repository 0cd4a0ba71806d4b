//! Which registers an instruction gives other values.

use iced_x86::{InstructionInfo, OpAccess, Register};

/// The registers that are written, whole or in part, in full width.
pub(crate) fn written(info: &InstructionInfo) -> Vec<Register> {
    let used = info.used_registers().iter();
    used.filter(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead))
        .map(|used| used.register().full_register())
        .collect()
}
