//! The runtime's code, as build.rs made it.

use std::sync::OnceLock;

use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess};

include!(concat!(env!("OUT_DIR"), "/runtime_entries.rs"));
static BYTES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/runtime.bin"));

/// Code and constants of the runtime: they may be mapped anywhere, at a
/// multiple of 16, as often as needed. Functions follow the System V ABI;
/// DF must be clear, rdi is the block.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeImage {
    /// What to map; empty where this crate has no translator.
    pub bytes: &'static [u8],
    /// Offset of `quick(block, address) -> u64`: see [`target::sys::quick`](super::guest::sys::quick).
    pub quick: usize,
    /// Offset of `access(block) -> u64`: see [`target::sys::access`](super::guest::sys::access).
    pub access: usize,
    /// Offset of `record(block) -> u64`: see [`target::sys::record`](super::guest::sys::record).
    pub record: usize,
    /// Offset of `lookup(block) -> u64`: see [`target::sys::lookup`](super::guest::sys::lookup).
    pub lookup: usize,
    /// Offset of `turn(block) -> u64`: see [`target::sys::turn`](super::guest::sys::turn).
    pub turn: usize,
    /// One bit for each xmm register that the code changes. It changes no
    /// wider part of these, no mask register, no x87 state.
    pub vectors: u16,
}

pub fn image() -> RuntimeImage {
    static VECTORS: OnceLock<u16> = OnceLock::new();
    let vectors = *VECTORS.get_or_init(|| changed_vectors(BYTES.get(TEXT..).unwrap_or_default()));
    RuntimeImage {
        bytes: BYTES,
        quick: QUICK,
        access: ACCESS,
        record: RECORD,
        lookup: LOOKUP,
        turn: TURN,
        vectors,
    }
}

/// The xmm registers that any instruction in there names as changed. Bytes
/// that are no code may add some.
fn changed_vectors(code: &[u8]) -> u16 {
    let mut found = 0;
    let mut factory = InstructionInfoFactory::new();
    for instruction in Decoder::new(64, code, DecoderOptions::NONE).iter() {
        for used in factory.info(&instruction).used_registers() {
            let reads = matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            if used.register().is_vector_register() && !reads {
                let number = u32::try_from(used.register().number()).unwrap_or(u32::MAX);
                found |= 1_u16.checked_shl(number).unwrap_or(0);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The panic handler is a jump to itself; nothing else is.
    #[test]
    fn no_panic_is_reachable() {
        let code = BYTES.get(TEXT..).unwrap();
        let mut decoded = 0;
        for instruction in Decoder::with_ip(64, code, 0x1000, DecoderOptions::NONE).iter() {
            let to_itself = instruction.is_jmp_short_or_near()
                && instruction.near_branch_target() == instruction.ip();
            assert!(!to_itself, "at {:#x}", instruction.ip() - 0x1000);
            decoded += 1;
        }
        assert!(decoded > 1000, "there is code");
    }

    #[test]
    fn functions_are_in_the_image() {
        let RuntimeImage { bytes, quick, access, record, lookup, turn, vectors } = image();
        for entry in [quick, access, record, lookup, turn] {
            assert!(entry >= TEXT && entry < bytes.len());
        }
        assert!(vectors.count_ones() <= 4, "{vectors:#b}: each is saved at every slow path");
    }
}
