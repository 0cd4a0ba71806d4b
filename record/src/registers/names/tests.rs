use super::{name, number};
use crate::arch::Arch;

#[test]
fn every_name_is_the_name_of_one_number() {
    for arch in [Arch::X86_64, Arch::Aarch64] {
        let mut known = 0;
        for bit in 0..64 {
            if let Some(spelling) = name(arch, bit) {
                known += 1;
                assert_eq!(number(arch, spelling), Some(bit), "{spelling}");
                assert_eq!(number(arch, &spelling.to_uppercase()), Some(bit), "{spelling}");
            }
        }
        assert_eq!(known, if arch == Arch::X86_64 { 24 + 32 } else { 34 });
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
