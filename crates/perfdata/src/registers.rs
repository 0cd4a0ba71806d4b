//! Register files of samples: which register is which word, by name.

mod names;

pub use names::{instruction_pointer, name, number, perf_name};

use crate::arch::Arch;
use crate::bytes::RecordWords;

/// `PERF_SAMPLE_REGS_ABI_*`: the word before the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RegsAbi {
    /// 0: the task had no user registers; no words follow (trap 14).
    #[default]
    None,
    /// 1: a 32-bit task.
    Bits32,
    /// 2: a 64-bit task.
    Bits64,
}

/// Registers of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers<'a> {
    /// Width of the task, or none.
    pub abi: RegsAbi,
    /// Bit n set: register number n is there. 0 when `abi` is None.
    pub mask: u64,
    /// One word a set bit, lowest bit first.
    pub words: RecordWords<'a>,
}

impl Registers<'_> {
    /// Value of register number `bit`, when it was sampled.
    #[inline]
    pub fn get(&self, bit: u32) -> Option<u64> {
        if bit >= 64 || self.mask >> bit & 1 == 0 {
            return None;
        }
        let below = self.mask & ((1u64 << bit) - 1);
        self.words.get(below.count_ones() as usize)
    }
}

/// The general registers, instruction pointer and flags: what hardmeter asks
/// for (x86-64: 0xff03ff, trap 16; aarch64: x0 to x30, sp, pc).
pub fn general(arch: Arch) -> u64 {
    match arch {
        Arch::X86_64 => 0x00ff_03ff,
        Arch::Aarch64 => 0x1_ffff_ffff,
        _ => 0,
    }
}
