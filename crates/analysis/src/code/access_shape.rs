//! How wide an access is, and whether the next one waits for it.

use crate::code::instruction_class::{decode, reads, writes};
use crate::code::written;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register};

/// Instructions behind an access that are looked at for what moves its pointer
/// on.
const LOOKED_AT: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccessShape {
    /// Bytes; 0: as many as registers say.
    pub(crate) width: u64,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// Its pointer is loaded from where it points to, here or some instructions
    /// on: a walk along a list.
    pub(crate) is_chase: bool,
}

/// The access of the first instruction of `code`, which lies at `address`; None:
/// it is none, or several.
pub(crate) fn access_shape(code: &[u8], bits: u32, address: u64) -> Option<AccessShape> {
    let mut factory = InstructionInfoFactory::new();
    let first = decode(code, bits, address)?;
    let info = factory.info(&first);
    let accessed: Vec<_> =
        info.used_memory().iter().filter(|it| it.access() != OpAccess::NoMemAccess).collect();
    let [memory] = accessed.as_slice() else { return None };
    let width = memory.memory_size().size() as u64;
    let (does_read, does_write) = (reads(memory.access()), writes(memory.access()));
    let pointer = memory.base();
    let can_be_followed = pointer != Register::None && !is_relative(pointer);
    let mut rest = code;
    let mut is_chase = false;
    for _ in 0..LOOKED_AT {
        let Some(next) = decode(rest, bits, address).filter(|_| can_be_followed) else { break };
        if follows(&next, pointer, &mut factory) {
            is_chase = true;
            break;
        }
        let overwrites = written(factory.info(&next)).contains(&pointer.full_register());
        if overwrites || leaves(&next) {
            break;
        }
        rest = rest.get(next.len()..).unwrap_or_default();
    }
    Some(AccessShape { width, reads: does_read, writes: does_write, is_chase })
}

/// Whether an instruction loads a pointer from where this pointer points to.
fn follows(it: &Instruction, pointer: Register, factory: &mut InstructionInfoFactory) -> bool {
    let info = factory.info(it);
    let loads = info.used_memory().iter().any(|memory| {
        memory.base() == pointer && memory.index() == Register::None && reads(memory.access())
    });
    loads && written(info).contains(&pointer.full_register())
        // Pops move the stack pointer on, and load something else.
        && pointer.full_register() != Register::RSP
}

fn leaves(it: &Instruction) -> bool {
    !matches!(it.flow_control(), FlowControl::Next | FlowControl::ConditionalBranch)
}

fn is_relative(register: Register) -> bool {
    matches!(register, Register::RIP | Register::EIP)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: &[u8]) -> Option<AccessShape> {
        access_shape(code, 64, 0x1000)
    }

    #[test]
    fn a_list_is_walked_here_or_some_instructions_on() {
        let shape =
            |width, is_chase| Some(AccessShape { width, reads: true, writes: false, is_chase });
        assert_eq!(of(&[0x48, 0x8b, 0x3f]), shape(8, true)); // mov (%rdi),%rdi
        // mov 8(%rdi),%rsi; mov (%rdi),%rdi
        assert_eq!(of(&[0x48, 0x8b, 0x77, 8, 0x48, 0x8b, 0x3f]), shape(8, true));
        // mov 8(%rdi),%rsi; add $8,%rdi; mov (%rdi),%rdi
        let moved = [0x48, 0x8b, 0x77, 8, 0x48, 0x83, 0xc7, 8, 0x48, 0x8b, 0x3f];
        assert_eq!(of(&moved), shape(8, false), "rdi is another pointer by then");
        // mov 8(%rdi),%rsi; ret; mov (%rdi),%rdi
        assert_eq!(of(&[0x48, 0x8b, 0x77, 8, 0xc3, 0x48, 0x8b, 0x3f]), shape(8, false));
        assert_eq!(of(&[0x48, 0x03, 0x04, 0xcf]), shape(8, false)); // add (%rdi,%rcx,8),%rax
        assert_eq!(of(&[0x8b, 0x05, 0x10, 0, 0, 0]), shape(4, false)); // mov 0x10(%rip),%eax
        assert_eq!(of(&[0x5c]), shape(8, false)); // pop %rsp
        assert_eq!(of(&[0x48, 0x01, 0xc8]), None); // add %rcx,%rax
        assert_eq!(of(&[0x48, 0xa5]), None); // movsq: two
        assert_eq!(of(&[]), None);
    }
}
