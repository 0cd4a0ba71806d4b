//! The bytes of sampled instructions.
//!
//! From the mapped file where there is one that proves to be the mapped one,
//! from the process's memory while it lives, from /proc/kcore for the
//! kernel. A few bytes are read at a time, and none are taken on trust: what
//! cannot be told to be the sampled code is refused.

mod error;
mod kernel_memory;
mod mapped_code;
mod process_memory;

pub use error::CodeError;
pub(crate) use kernel_memory::KernelMemory;
pub(crate) use process_memory::{ProcessCode, ProcessMemories};

use crate::Reason;
use mapped_code::MappedCode;

/// Most bytes that an x86 instruction has.
pub(crate) const LONGEST: usize = 15;
/// Bytes of a routine at most. The longest that compilers made of real
/// programs have some 2 MiB.
pub(crate) const MOST_TEXT: u64 = 4 << 20;

/// Bytes from an instruction on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionBytes {
    bytes: [u8; LONGEST],
    length: usize,
    /// Width of the code it belongs to: 32 or 64.
    pub bits: u32,
}

impl InstructionBytes {
    /// Up to 15 bytes, fewer where the code ends.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// None without any byte.
    pub(crate) fn new(bytes: &[u8], bits: u32) -> Option<InstructionBytes> {
        let length = bytes.len().min(LONGEST);
        let mut code = InstructionBytes { bytes: [0; LONGEST], length, bits };
        code.bytes[..length].copy_from_slice(&bytes[..length]);
        (length > 0).then_some(code)
    }
}

/// A stretch of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBytes {
    /// From its first address on; fewer than asked for where the code ends.
    pub bytes: Vec<u8>,
    /// Width of x86 code, 32 or 64; None: the code is of another machine.
    pub bits: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineCode {
    /// Fewer than asked for where the code ends.
    pub(crate) bytes: Vec<u8>,
    /// `e_machine` of what holds it.
    pub(crate) machine: u16,
}

/// What is kept open to read code from.
#[derive(Debug, Default)]
pub(crate) struct CodeSources {
    pub(crate) files: MappedCode,
    pub(crate) processes: ProcessMemories,
    pub(crate) kernel: Option<Result<KernelMemory, CodeError>>,
}

impl From<Reason> for CodeError {
    fn from(reason: Reason) -> CodeError {
        CodeError::Place(reason)
    }
}
