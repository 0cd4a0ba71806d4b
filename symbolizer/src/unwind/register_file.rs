//! Registers by their DWARF numbers.

use perfdata::{Arch, Registers};

/// Numbers below this are followed: the general registers and the
/// instruction pointer of both machines.
const MOST: usize = 33;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnwindMachine {
    X86_64,
    Aarch64,
}

/// DWARF numbers by perf's (arch/x86/include/uapi/asm/perf_regs.h; psABI
/// AMD64, figure 3.36).
const OF_X86: [(u32, u8); 17] = [
    (0, 0),
    (1, 3),
    (2, 2),
    (3, 1),
    (4, 4),
    (5, 5),
    (6, 6),
    (7, 7),
    (8, 16),
    (16, 8),
    (17, 9),
    (18, 10),
    (19, 11),
    (20, 12),
    (21, 13),
    (22, 14),
    (23, 15),
];

impl UnwindMachine {
    pub(crate) fn of(arch: Arch) -> Option<UnwindMachine> {
        match arch {
            Arch::X86_64 => Some(UnwindMachine::X86_64),
            Arch::Aarch64 => Some(UnwindMachine::Aarch64),
            _ => None,
        }
    }

    pub(crate) fn instruction_pointer(self) -> u8 {
        match self {
            UnwindMachine::X86_64 => 16,
            UnwindMachine::Aarch64 => 32,
        }
    }

    pub(crate) fn stack_pointer(self) -> u8 {
        match self {
            UnwindMachine::X86_64 => 7,
            UnwindMachine::Aarch64 => 31,
        }
    }

    pub(crate) fn frame_pointer(self) -> u8 {
        match self {
            UnwindMachine::X86_64 => 6,
            UnwindMachine::Aarch64 => 29,
        }
    }

    /// Bytes from a signal handler's frame to the stack pointer of what it
    /// interrupted, where both are on one stack: what the kernel saves, vectors
    /// and tiles included (AT_MINSIGSTKSZ: 12 KiB with AMX, up to 72 KiB with SME).
    pub(crate) fn largest_signal_frame(self) -> u64 {
        match self.has_link_register() {
            false => 16 << 10,
            true => 128 << 10,
        }
    }

    /// Whether a callee that keeps nothing on the stack has its return address
    /// in a register, so that its frame may be empty.
    pub(crate) fn has_link_register(self) -> bool {
        self == UnwindMachine::Aarch64
    }

    /// A return address without what signs it: user space has addresses of
    /// 48 bits where pointers are signed.
    pub(crate) fn stripped(self, address: u64) -> u64 {
        match self {
            UnwindMachine::X86_64 => address,
            UnwindMachine::Aarch64 => address & 0xffff_ffff_ffff,
        }
    }

    pub(crate) fn sampled(self, sampled: &Registers<'_>) -> RegisterFile {
        let mut file = RegisterFile::default();
        let mut take = |perf, dwarf| file.set(dwarf, sampled.get(perf));
        match self {
            UnwindMachine::X86_64 => OF_X86.iter().for_each(|&(perf, dwarf)| take(perf, dwarf)),
            UnwindMachine::Aarch64 => (0..33).for_each(|number| take(number.into(), number)),
        }
        file
    }
}

/// Values of registers at a frame. What the caller had in a register may have
/// been lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegisterFile {
    values: [u64; MOST],
    known: u64,
}

impl Default for RegisterFile {
    fn default() -> RegisterFile {
        RegisterFile { values: [0; MOST], known: 0 }
    }
}

impl RegisterFile {
    #[inline]
    pub(crate) fn get(&self, register: u8) -> Option<u64> {
        let value = self.values.get(usize::from(register))?;
        (self.known >> register & 1 == 1).then_some(*value)
    }

    /// A number that is not followed changes nothing.
    #[inline]
    pub(crate) fn set(&mut self, register: u8, value: Option<u64>) {
        if let Some(place) = self.values.get_mut(usize::from(register)) {
            *place = value.unwrap_or_default();
            self.known &= !(1 << register);
            self.known |= u64::from(value.is_some()) << register;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::ByteOrder;
    use perfdata::bytes::RecordWords;
    use perfdata::registers::{RegsAbi, name};

    #[test]
    fn registers_of_a_sample_have_the_numbers_of_tables() {
        let mask = perfdata::registers::general(Arch::X86_64);
        let bytes: Vec<u8> =
            (0..64_u64).filter(|bit| mask >> bit & 1 == 1).flat_map(u64::to_le_bytes).collect();
        let words = RecordWords::new(&bytes, ByteOrder::Little);
        let sampled = Registers { abi: RegsAbi::Bits64, mask, words };
        let file = UnwindMachine::X86_64.sampled(&sampled);
        // psABI AMD64, figure 3.36, in its order.
        let order = ["ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11"];
        for (dwarf, expected) in order.iter().enumerate() {
            let perf = file.get(u8::try_from(dwarf).unwrap()).unwrap();
            let named = name(Arch::X86_64, u32::try_from(perf).unwrap()).unwrap();
            assert!(named.ends_with(expected), "{dwarf} is {named}, not {expected}");
        }
        assert_eq!(file.get(16), Some(8), "the instruction pointer");
        assert_eq!(file.get(17), None);
    }
}
