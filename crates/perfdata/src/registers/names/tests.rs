use super::{instruction_pointer, name, number, perf_name};
use crate::arch::Arch;

#[test]
fn every_name_is_the_name_of_one_number() {
    for (arch, count) in [
        (Arch::X86_64, 24 + 32),
        (Arch::X86, 24 + 32),
        (Arch::Aarch64, 34),
        (Arch::Arm, 16),
        (Arch::PowerPc, 59),
        (Arch::RiscV, 32),
        (Arch::S390, 34),
        (Arch::Mips, 30),
    ] {
        let mut known = 0;
        for bit in 0..64 {
            if let Some(spelling) = name(arch, bit) {
                known += 1;
                assert_eq!(number(arch, spelling), Some(bit), "{spelling}");
                assert_eq!(number(arch, &spelling.to_uppercase()), Some(bit), "{spelling}");
            }
        }
        assert_eq!(known, count, "{arch}");
        let pointer = instruction_pointer(arch).and_then(|bit| name(arch, bit));
        assert!(["ip", "pc", "nip"].contains(&pointer.expect("there is one")), "{arch}");
        assert_eq!(name(arch, 64), None);
        assert_eq!(name(arch, u32::MAX), None);
    }
    assert_eq!(name(Arch::Other, 0), None);
    assert_eq!(number(Arch::Other, "x0"), None);
}

/// arch/x86/include/uapi/asm/perf_regs.h.
#[test]
fn x86_numbers_are_those_of_the_kernel() {
    for (bit, spellings) in [
        (0, &["ax", "rax", "eax", "AX", "RAX"] as &[_]),
        (1, &["bx", "rbx", "ebx"]),
        (2, &["cx", "rcx", "ecx"]),
        (3, &["dx", "rdx", "edx"]),
        (4, &["si", "rsi", "esi"]),
        (5, &["di", "rdi", "edi"]),
        (6, &["bp", "rbp", "ebp"]),
        (7, &["sp", "rsp", "esp"]),
        (8, &["ip", "rip", "eip"]),
        (9, &["flags", "rflags", "eflags"]),
        (10, &["cs"]),
        (11, &["ss"]),
        (15, &["gs"]),
        (16, &["r8", "r8d", "R8"]),
        (23, &["r15", "r15w"]),
        (32, &["xmm0", "xmm0l"]),
        (63, &["xmm15h"]),
    ] {
        for spelling in spellings {
            assert_eq!(number(Arch::X86_64, spelling), Some(bit), "{spelling}");
        }
    }
    for none in ["", "r", "rcs", "ecs", "rr8", "r16", "ah", "x0", "xmm16", "xmm0hl", "rrax"] {
        assert_eq!(number(Arch::X86_64, none), None, "{none}");
    }
}

/// arch/arm64/include/uapi/asm/perf_regs.h.
#[test]
fn aarch64_numbers_are_those_of_the_kernel() {
    for (bit, spellings) in [
        (0, &["x0", "w0", "X0"] as &[_]),
        (28, &["x28", "w28"]),
        (29, &["x29", "fp"]),
        (30, &["lr", "x30", "w30"]),
        (31, &["sp", "wsp"]),
        (32, &["pc"]),
        (46, &["vg"]),
    ] {
        for spelling in spellings {
            assert_eq!(number(Arch::Aarch64, spelling), Some(bit), "{spelling}");
        }
    }
    for none in ["x31", "w31", "xzr", "ax", "w"] {
        assert_eq!(number(Arch::Aarch64, none), None, "{none}");
    }
}

/// Taken from perf script 6.1, of recordings that say they are of that machine.
#[test]
fn perf_spells_names_in_its_own_way() {
    for (arch, bit, spelling) in [
        (Arch::X86_64, 0, "AX"),
        (Arch::X86, 9, "FLAGS"),
        (Arch::X86_64, 24, "unknown"),
        (Arch::X86_64, 62, "XMM15"),
        (Arch::X86_64, 63, "XMM15"),
        (Arch::Aarch64, 29, "x29"),
        (Arch::Aarch64, 30, "lr"),
        (Arch::Aarch64, 46, "vg"),
        (Arch::Arm, 11, "fp"),
        (Arch::PowerPc, 34, "orig_r3"),
        (Arch::PowerPc, 58, "siar"),
        (Arch::RiscV, 31, "t6"),
        (Arch::S390, 31, "FP15"),
        (Arch::S390, 32, "MASK"),
        (Arch::Mips, 0, "PC"),
        (Arch::Mips, 26, "unknown"),
        (Arch::Other, 0, "unknown"),
    ] {
        assert_eq!(perf_name(arch, bit), spelling, "{arch} {bit}");
    }
}
