//! Tables and stacks of strangers.

use super::frame_pointer;
use super::frame_rule::CalleeFrame;
use super::register_file::{RegisterFile, UnwindMachine};
use super::stack_copy::StackCopy;
use super::unwind_tables::UnwindTables;
use crate::process::vdso::OwnVdso;
use gimli::UnwindContext;
use proptest::prelude::*;
use std::path::Path;

const MACHINE: UnwindMachine = UnwindMachine::X86_64;
const STACK: u64 = 0x7fff_0000_0000;

/// Follows a rule, or the frame pointer, wherever it leads.
fn follow(tables: &mut UnwindTables, address: u64, stack: &[u8], frame: u64) {
    let mut registers = RegisterFile::default();
    for register in 0..17 {
        registers.set(register, Some(STACK + frame * u64::from(register)));
    }
    registers.set(MACHINE.stack_pointer(), Some(STACK));
    let stack = StackCopy { start: STACK, bytes: stack, is_whole: false };
    let mut context = UnwindContext::new();
    for is_interrupted in [false, true] {
        let registers = &registers;
        let keeps_pointer = !is_interrupted;
        let of = CalleeFrame {
            machine: MACHINE,
            registers,
            stack: &stack,
            is_interrupted,
            keeps_pointer,
        };
        let mut caller = RegisterFile::default();
        if let Ok(Some(rule)) = tables.rule(address, &mut context)
            && rule.caller(of, &mut caller).is_ok()
        {
            let pointer = caller.get(MACHINE.stack_pointer());
            assert!(pointer > Some(STACK) || rule.is_signal, "{pointer:x?}");
        }
        if frame_pointer::caller(of, &mut caller).is_ok() {
            assert!(caller.get(MACHINE.stack_pointer()) > Some(STACK));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// The vdso with some bytes changed: whatever its tables say then, a caller
    /// lies further out, and nothing panics.
    #[test]
    fn damaged_tables_lead_outwards_or_nowhere(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        addresses in proptest::collection::vec(any::<prop::sample::Index>(), 1..40),
        stack in proptest::collection::vec(any::<u8>(), 0..512),
        frame in 0_u64..64,
    ) {
        let Ok(own) = OwnVdso::of(Path::new("/")) else { return Ok(()) };
        let mut bytes = own.bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(mut tables) = UnwindTables::of_bytes(&bytes) {
            for address in addresses {
                follow(&mut tables, address.index(bytes.len()) as u64, &stack, frame * 8);
            }
        }
    }
}
