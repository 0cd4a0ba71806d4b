//! What an instruction does, without what the next build of its routine may choose otherwise.

use iced_x86::{Instruction, OpKind, Register};
use std::fmt::Write;

/// Where programs begin that are loaded at addresses of their own choice: a displacement from
/// there on is an address.
const FIRST_ADDRESS: u64 = 0x40_0000;

/// Bytes of a routine's start that tell whether it keeps a frame pointer.
const KEEPS_POINTER: [&[u8]; 2] = [
    &[0x55, 0x48, 0x89, 0xe5], // push %rbp; mov %rsp,%rbp
    &[0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5], // endbr64 before these
];

/// Whether a routine with this code at its start has rbp point into its stack.
pub(crate) fn keeps_pointer(start: &[u8]) -> bool {
    KEEPS_POINTER.iter().any(|known| start.starts_with(known))
}

/// Mnemonic and operands, destination first: registers by their width or kind, memory by its
/// width, what its address is made of, and the displacement from a pointer. Constants, targets,
/// addresses and places in the stack are left out.
pub(crate) fn operand_shape(instruction: &Instruction, keeps_pointer: bool) -> String {
    let mut text = String::new();
    for (has, prefix) in [
        (instruction.has_lock_prefix(), "lock "),
        (instruction.has_rep_prefix(), "rep "),
        (instruction.has_repne_prefix(), "repne "),
    ] {
        text.push_str(if has { prefix } else { "" });
    }
    text.push_str(&format!("{:?}", instruction.mnemonic()).to_ascii_lowercase());
    for operand in 0..instruction.op_count() {
        text.push_str(if operand == 0 { " " } else { ", " });
        match instruction.op_kind(operand) {
            OpKind::Register => text.push_str(&register_kind(instruction.op_register(operand))),
            OpKind::NearBranch16
            | OpKind::NearBranch32
            | OpKind::NearBranch64
            | OpKind::FarBranch16
            | OpKind::FarBranch32 => text.push_str("target"),
            OpKind::Memory => memory(instruction, keeps_pointer, &mut text),
            OpKind::MemorySegSI
            | OpKind::MemorySegESI
            | OpKind::MemorySegRSI
            | OpKind::MemorySegDI
            | OpKind::MemorySegEDI
            | OpKind::MemorySegRDI
            | OpKind::MemoryESDI
            | OpKind::MemoryESEDI
            | OpKind::MemoryESRDI => {
                width(instruction, &mut text);
                text.push_str("[r]");
            }
            _ => text.push_str("imm"),
        }
    }
    text
}

fn width(instruction: &Instruction, text: &mut String) {
    let bits = instruction.memory_size().size().saturating_mul(8);
    if bits > 0 {
        // Writing to a String cannot fail.
        let _ = write!(text, "m{bits}");
    }
}

fn memory(instruction: &Instruction, keeps_pointer: bool, text: &mut String) {
    let (base, index) = (instruction.memory_base(), instruction.memory_index());
    let is_stack = match base.full_register() {
        Register::RSP => true,
        Register::RBP => keeps_pointer,
        _ => false,
    };
    width(instruction, text);
    text.push('[');
    match instruction.segment_prefix() {
        Register::FS => text.push_str("fs:"),
        Register::GS => text.push_str("gs:"),
        _ => {}
    }
    let displacement = instruction.memory_displacement64().cast_signed();
    let is_address = base == Register::None || displacement.unsigned_abs() >= FIRST_ADDRESS;
    let mut parts = Vec::new();
    match base {
        Register::RIP | Register::EIP => parts.push("rip".to_owned()),
        Register::None => {}
        _ if is_stack => parts.push("stack".to_owned()),
        _ => parts.push("r".to_owned()),
    }
    if index != Register::None {
        let kind = if index.is_gpr() { "r".to_owned() } else { register_kind(index) };
        parts.push(match instruction.memory_index_scale() {
            1 => kind,
            scale => format!("{kind}*{scale}"),
        });
    }
    let is_left_out = is_stack || base.is_ip() || (base == Register::None && displacement == 0);
    if is_address && !is_left_out {
        parts.push("address".to_owned());
    }
    text.push_str(&parts.join("+"));
    if !is_address && !is_left_out {
        let _ = match displacement {
            0 => Ok(()),
            1.. => write!(text, "+{displacement:#x}"),
            _ => write!(text, "-{:#x}", displacement.unsigned_abs()),
        };
    }
    text.push(']');
}

/// By its width, or its kind where it is none for whole numbers.
fn register_kind(register: Register) -> String {
    match register {
        // Which have one meaning each.
        Register::RSP | Register::ESP => "rsp".to_owned(),
        it if it.is_gpr8() => "r8".to_owned(),
        it if it.is_gpr16() => "r16".to_owned(),
        it if it.is_gpr32() => "r32".to_owned(),
        it if it.is_gpr64() => "r64".to_owned(),
        it if it.is_segment_register() => format!("{it:?}").to_ascii_lowercase(),
        // xmm, ymm, zmm, k, mm, st, cr, dr, bnd, tmm, without their numbers.
        it => {
            let name = format!("{it:?}").to_ascii_lowercase();
            name.trim_end_matches(|it: char| it.is_ascii_digit()).to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::instruction_class::decode;

    #[test]
    fn shapes_are_the_same_with_other_registers_and_addresses() {
        let of =
            |bytes: &[u8], pointer| operand_shape(&decode(bytes, 64, 0x1000).unwrap(), pointer);
        for (codes, shape) in [
            // mov 0x28(%rcx),%rdx; mov 0x28(%r14),%rax
            (
                &[&[0x48, 0x8b, 0x51, 0x28][..], &[0x49, 0x8b, 0x46, 0x28]][..],
                "mov r64, m64[r+0x28]",
            ),
            // add (%rdi,%rcx,8),%rax; add (%r8,%r9,8),%r10
            (&[&[0x48, 0x03, 0x04, 0xcf], &[0x4f, 0x03, 0x14, 0xc8]], "add r64, m64[r+r*8]"),
            // mov 0x10(%rip),%eax; mov 0x2000(%rip),%esi
            (&[&[0x8b, 0x05, 0x10, 0, 0, 0], &[0x8b, 0x35, 0, 0x20, 0, 0]], "mov r32, m32[rip]"),
            // mov 8(%rsp),%rax; mov 0x20(%rsp),%rbx
            (
                &[&[0x48, 0x8b, 0x44, 0x24, 8], &[0x48, 0x8b, 0x5c, 0x24, 0x20]],
                "mov r64, m64[stack]",
            ),
            // mov 0x1000000(,%rcx,8),%rax; mov 0x404060(,%rdx,8),%rsi
            (
                &[
                    &[0x48, 0x8b, 0x04, 0xcd, 0, 0, 0, 1],
                    &[0x48, 0x8b, 0x34, 0xd5, 0x60, 0x40, 0x40, 0],
                ],
                "mov r64, m64[r*8+address]",
            ),
            // addsd (%rax),%xmm0; addsd (%rdx),%xmm3
            (&[&[0xf2, 0x0f, 0x58, 0x00], &[0xf2, 0x0f, 0x58, 0x1a]], "addsd xmm, m64[r]"),
            // add $1,(%rax); add $2,(%rbx)
            (&[&[0x48, 0x83, 0, 1], &[0x48, 0x83, 3, 2]], "add m64[r], imm"),
            // sub $0x18,%rsp; sub $0x28,%rsp
            (&[&[0x48, 0x83, 0xec, 0x18], &[0x48, 0x83, 0xec, 0x28]], "sub rsp, imm"),
            (&[&[0x55], &[0x53]], "push r64"),
            (&[&[0xe8, 0, 0, 0, 0], &[0xe8, 1, 2, 3, 0]], "call target"),
            (&[&[0x48, 0xa5]], "movsq m64[r], m64[r]"),
            (&[&[0xf0, 0x48, 0x0f, 0xb1, 0x0e]], "lock cmpxchg m64[r], r64"),
            // mov %fs:0x28,%rax
            (&[&[0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0]], "mov r64, m64[fs:address]"),
            (&[&[0x48, 0x8d, 0x51, 0x28]], "lea r64, [r+0x28]"),
            (&[&[0xc5, 0xfd, 0x6f, 0x06]], "vmovdqa ymm, m256[r]"),
            (&[&[0xc3]], "ret"),
        ] {
            for code in codes {
                assert_eq!(of(code, false), shape, "{code:x?}");
            }
        }
        // mov -8(%rbp),%rax: a local variable only where rbp points into the stack.
        assert_eq!(of(&[0x48, 0x8b, 0x45, 0xf8], true), "mov r64, m64[stack]");
        assert_eq!(of(&[0x48, 0x8b, 0x45, 0xf8], false), "mov r64, m64[r-0x8]");
        assert!(keeps_pointer(&[0x55, 0x48, 0x89, 0xe5, 0x90]) && !keeps_pointer(&[0x55, 0x48]));
    }
}
