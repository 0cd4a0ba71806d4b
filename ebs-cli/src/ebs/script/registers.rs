//! Registers on a line.

use super::column::hex;
use perfdata::registers::{RegsAbi, perf_name};
use perfdata::{Arch, Registers};

/// What stands before the value of each register of a machine.
#[derive(Debug)]
pub(super) struct RegisterNames {
    arch: Arch,
    labels: Vec<Box<[u8]>>,
}

impl RegisterNames {
    pub(super) fn new(arch: Arch) -> RegisterNames {
        let label = |bit| format!("{:>5}:0x", perf_name(arch, bit)).into_bytes().into();
        RegisterNames { arch, labels: (0..64).map(label).collect() }
    }

    pub(super) fn arch(&self) -> Arch {
        self.arch
    }

    /// Appends registers with their names; nothing for a task that has none.
    pub(super) fn write(&self, registers: &Registers<'_>, out: &mut Vec<u8>) {
        out.extend(match registers.abi {
            RegsAbi::None => return,
            RegsAbi::Bits32 => b" ABI:1 ",
            RegsAbi::Bits64 => b" ABI:2 ",
        });
        let mut left = registers.mask;
        for value in registers.words.iter() {
            let bit = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            let label = usize::try_from(bit).ok().and_then(|bit| self.labels.get(bit));
            out.extend_from_slice(label.map_or(b"", |label| label));
            hex(value, 0, out);
            out.push(b' ');
        }
    }
}
