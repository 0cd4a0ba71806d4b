//! The store in the same routine that holds a part of what a load reads.

use crate::code::instruction_class::{decode, reads, writes};
use crate::code::written;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, OpAccess, UsedMemory};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoreBefore {
    /// Of the instruction.
    pub(crate) address: u64,
    /// Bytes that it writes.
    pub(crate) width: u64,
}

impl StoreBefore {
    /// The last store in front of the load at `load` that holds some of its bytes and
    /// not all, by the same registers, which keep their values in between. `code` is
    /// the routine's, from `start` on; None: none is found so.
    pub(crate) fn find(code: &[u8], bits: u32, start: u64, load: u64) -> Option<StoreBefore> {
        let mut factory = InstructionInfoFactory::new();
        let mut before: Vec<Instruction> = Vec::new();
        let (mut rest, mut at) = (code, start);
        while at < load {
            let next = decode(rest, bits, at)?;
            rest = rest.get(next.len()..)?;
            at = next.next_ip();
            before.push(next);
        }
        let load = decode(rest, bits, at).filter(|_| at == load)?;
        let loads = factory.info(&load).used_memory().iter().find(|it| reads(it.access()));
        let loads = *loads?;
        for candidate in before.iter().rev() {
            if !matches!(
                candidate.flow_control(),
                FlowControl::Next | FlowControl::ConditionalBranch
            ) {
                return None;
            }
            let info = factory.info(candidate);
            let stores = info.used_memory().iter().find(|it| {
                it.access() != OpAccess::NoMemAccess && writes(it.access()) && meets(it, &loads)
            });
            if let Some(store) = stores {
                let store = (!holds(store, &loads))
                    .then_some(StoreBefore { address: candidate.ip(), width: size(store) });
                return store;
            }
            let pointers = [loads.base().full_register(), loads.index().full_register()];
            if written(info).iter().any(|register| pointers.contains(register)) {
                return None;
            }
        }
        None
    }
}

fn size(memory: &UsedMemory) -> u64 {
    memory.memory_size().size() as u64
}

/// Whether a store by the same registers has bytes of a load.
fn meets(store: &UsedMemory, load: &UsedMemory) -> bool {
    let registers = |it: &UsedMemory| (it.segment(), it.base(), it.index(), it.scale());
    let offset = load.displacement().wrapping_sub(store.displacement()).cast_signed();
    let (stored, loaded) = (size(store).cast_signed(), size(load).cast_signed());
    registers(store) == registers(load) && offset < stored && -offset < loaded
}

/// Whether it has all of them.
fn holds(store: &UsedMemory, load: &UsedMemory) -> bool {
    let offset = load.displacement().wrapping_sub(store.displacement());
    offset.saturating_add(size(load)) <= size(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(code: &[u8], load: u64) -> Option<StoreBefore> {
        StoreBefore::find(code, 64, 0x1000, 0x1000 + load)
    }

    #[test]
    fn a_narrow_store_is_found() {
        // mov %esi,(%rdi); mov (%rdi),%rax
        let narrow = [0x89, 0x37, 0x48, 0x8b, 0x07];
        assert_eq!(before(&narrow, 2), Some(StoreBefore { address: 0x1000, width: 4 }));
        // mov %esi,4(%rdi); nop; mov (%rdi),%rax
        let upper = [0x89, 0x77, 4, 0x90, 0x48, 0x8b, 0x07];
        assert_eq!(before(&upper, 4), Some(StoreBefore { address: 0x1000, width: 4 }));
    }

    #[test]
    fn others_are_none() {
        // mov %rsi,(%rdi); mov (%rdi),%rax: it holds all
        assert_eq!(before(&[0x48, 0x89, 0x37, 0x48, 0x8b, 0x07], 3), None);
        // mov %esi,8(%rdi); mov (%rdi),%rax: it holds none
        assert_eq!(before(&[0x89, 0x77, 8, 0x48, 0x8b, 0x07], 3), None);
        // mov %esi,(%rdi); add $8,%rdi; mov (%rdi),%rax: another place
        let moved = [0x89, 0x37, 0x48, 0x83, 0xc7, 8, 0x48, 0x8b, 0x07];
        assert_eq!(before(&moved, 6), None);
        // mov %esi,(%rdi); ret; mov (%rdi),%rax
        assert_eq!(before(&[0x89, 0x37, 0xc3, 0x48, 0x8b, 0x07], 3), None);
        assert_eq!(before(&[0x89, 0x37, 0x48], 2), None, "it is cut");
        assert_eq!(before(&[0x48, 0x8b, 0x07], 1), None, "it begins elsewhere");
        assert_eq!(before(&[], 0), None);
    }
}
