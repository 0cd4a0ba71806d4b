//! What an instruction accesses, in the registers' own names.

use crate::code::instruction_class::{reads, writes};
use crate::code::{register_number, written};
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, Register, UsedMemory};
use serde::Serialize;
use std::fmt::Write;

/// A place in memory that an instruction accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operand {
    /// For example `[rcx+0x28]`, `[rdi+rcx*8]`, `fs:[0x28]`.
    pub text: String,
    /// It is read.
    pub reads: bool,
    /// It is written.
    pub writes: bool,
    /// What its address is made of, base first.
    pub registers: Vec<OperandRegister>,
}

/// A register of an operand's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OperandRegister {
    /// As the operand names it: `rcx`, `ecx`.
    pub name: String,
    /// Its number in the kernel's masks of registers to sample; None: it
    /// cannot be sampled.
    #[serde(skip)]
    pub number: Option<u32>,
    /// The instruction gives it another value.
    pub overwritten: bool,
}

/// What an instruction accesses; empty: nothing, or what no address tells.
pub(crate) fn operands(instruction: &Instruction) -> Vec<Operand> {
    if instruction.is_invalid() {
        return Vec::new();
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let written = written(info);
    let accessed = info.used_memory().iter().filter(|it| it.access() != OpAccess::NoMemAccess);
    accessed.map(|memory| operand(memory, &written)).collect()
}

fn operand(memory: &UsedMemory, written: &[Register]) -> Operand {
    let (base, index) = (memory.base(), memory.index());
    let is_relative = matches!(base, Register::RIP | Register::EIP);
    let mut text = match memory.segment() {
        Register::FS => "fs:[".to_owned(),
        Register::GS => "gs:[".to_owned(),
        _ => "[".to_owned(),
    };
    if base != Register::None && !is_relative {
        text.push_str(&name(base));
    }
    if index != Register::None {
        let plus = if text.ends_with('[') { "" } else { "+" };
        // Writing to a String cannot fail.
        let _ = match memory.scale() {
            1 => write!(text, "{plus}{}", name(index)),
            scale => write!(text, "{plus}{}*{scale}", name(index)),
        };
    }
    let displacement = memory.displacement().cast_signed();
    let _ = match (text.ends_with('['), displacement) {
        (true, _) => write!(text, "{:#x}", memory.displacement()),
        (false, 0) => Ok(()),
        (false, 1..) => write!(text, "+{displacement:#x}"),
        (false, _) => write!(text, "-{:#x}", displacement.unsigned_abs()),
    };
    text.push(']');
    let parts = [base, index].into_iter();
    let parts = parts.filter(|part| *part != Register::None && !is_instruction_pointer(*part));
    Operand {
        text,
        reads: reads(memory.access()),
        writes: writes(memory.access()),
        registers: parts
            .map(|part| OperandRegister {
                name: name(part),
                number: register_number(part.full_register()),
                overwritten: written.contains(&part.full_register()),
            })
            .collect(),
    }
}

fn is_instruction_pointer(register: Register) -> bool {
    matches!(register, Register::RIP | Register::EIP)
}

fn name(register: Register) -> String {
    format!("{register:?}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::instruction_class::decode;

    fn of(bytes: &[u8]) -> Vec<Operand> {
        operands(&decode(bytes, 64, 0x1000).unwrap())
    }

    #[test]
    fn operands_are_named_by_encoding() {
        for (bytes, expected) in [
            (&[0x48, 0x8b, 0x51, 0x28][..], &["[rcx+0x28]"][..]), // mov 0x28(%rcx),%rdx
            (&[0x48, 0x8b, 0x51, 0xd8], &["[rcx-0x28]"]),         // mov -0x28(%rcx),%rdx
            (&[0x48, 0x8b, 0x11], &["[rcx]"]),
            (&[0x48, 0x03, 0x04, 0xcf], &["[rdi+rcx*8]"]), // add (%rdi,%rcx,8),%rax
            (&[0x48, 0x8b, 0x44, 0x0f, 0x10], &["[rdi+rcx+0x10]"]),
            (&[0x48, 0x8b, 0x04, 0xcd, 0, 0, 0, 1], &["[rcx*8+0x1000000]"]),
            (&[0x67, 0x8b, 0x10], &["[eax]"]), // mov (%eax),%edx
            (&[0x48, 0x8b, 0x05, 0x10, 0, 0, 0], &["[0x1017]"]), // 0x10(%rip)
            (&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0], &["fs:[0x28]"]),
            (&[0x65, 0x48, 0x8b, 0x00], &["gs:[rax]"]),
            (&[0x4c, 0x89, 0x3c, 0x24], &["[rsp]"]), // mov %r15,(%rsp)
            (&[0x55], &["[rsp-0x8]"]),               // push %rbp
            (&[0x5d], &["[rsp]"]),                   // pop %rbp
            (&[0xc3], &["[rsp]"]),                   // ret
            (&[0xe8, 0, 0, 0, 0], &["[rsp-0x8]"]),   // call
            (&[0x48, 0xa5], &["[rdi]", "[rsi]"]),    // movsq
            (&[0xf0, 0x48, 0x0f, 0xb1, 0x0e], &["[rsi]"]), // lock cmpxchg %rcx,(%rsi)
            (&[0xc5, 0xfd, 0x6f, 0x06], &["[rsi]"]), // vmovdqa (%rsi),%ymm0
            (&[0x48, 0x8d, 0x51, 0x28], &[]),        // lea
            (&[0x0f, 0x1f, 0x40, 0x00], &[]),        // nopl 0x0(%rax)
            (&[0x48, 0x01, 0xc8], &[]),              // add %rcx,%rax
        ] {
            let mut found: Vec<String> = of(bytes).into_iter().map(|it| it.text).collect();
            found.sort();
            assert_eq!(found, expected, "{bytes:x?}");
        }
    }

    #[test]
    fn a_register_that_does_not_survive_is_told() {
        let chase = of(&[0x48, 0x8b, 0x00]); // mov (%rax),%rax
        let rax = OperandRegister { name: "rax".into(), number: Some(0), overwritten: true };
        assert_eq!(chase[0].registers, [rax]);
        let narrow = of(&[0x8b, 0x40, 0x08]); // mov 0x8(%rax),%eax
        assert!(narrow[0].registers[0].overwritten);
        let kept = of(&[0x48, 0x8b, 0x51, 0x28]);
        assert!(!kept[0].registers[0].overwritten && kept[0].reads && !kept[0].writes);
        let store = of(&[0x48, 0x89, 0x51, 0x28]);
        assert!(store[0].writes && !store[0].reads);
        let both = of(&[0x48, 0xff, 0x00]); // incq (%rax)
        assert!(both[0].writes && both[0].reads);
    }
}
