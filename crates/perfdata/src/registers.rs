//! Register files of samples: which register is which word, by name.

use crate::arch::Arch;
use crate::bytes::RecordWords;

/// `PERF_SAMPLE_REGS_ABI_*`: the word before the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RegsAbi {
    /// 0: the task had no user registers; no words follow (trap 14).
    #[default]
    None,
    /// 1: a 32-bit task.
    Bits32,
    /// 2: a 64-bit task.
    Bits64,
}

/// Registers of one sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers<'a> {
    /// Width of the task, or none.
    pub abi: RegsAbi,
    /// Bit n set: register number n is there. 0 when `abi` is None.
    pub mask: u64,
    /// One word a set bit, lowest bit first.
    pub words: RecordWords<'a>,
}

impl Registers<'_> {
    /// Value of register number `bit`, when it was sampled.
    #[inline]
    pub fn get(&self, bit: u32) -> Option<u64> {
        if bit >= 64 || self.mask >> bit & 1 == 0 {
            return None;
        }
        let below = self.mask & ((1u64 << bit) - 1);
        self.words.get(below.count_ones() as usize)
    }
}

/// The general registers, instruction pointer and flags: what hardmeter asks
/// for (x86-64: 0xff03ff, trap 16; aarch64: x0 to x30, sp, pc).
pub fn general(arch: Arch) -> u64 {
    match arch {
        Arch::X86_64 => 0x00ff_03ff,
        Arch::Aarch64 => 0x1_ffff_ffff,
        _ => 0,
    }
}

/// Bits 0 to 23 of asm/perf_regs.h, x86: not the order of DWARF, nor that of
/// the instruction encoding (trap 14).
const X86: [&str; 24] = [
    "ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", "ds", "es", "fs",
    "gs", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
];

/// Bits 32 to 63: the low and the high word of each vector register. perf
/// calls both words by the register's name; a column needs a name of its own.
const X86_XMM: [&str; 32] = [
    "xmm0", "xmm0h", "xmm1", "xmm1h", "xmm2", "xmm2h", "xmm3", "xmm3h", "xmm4", "xmm4h", "xmm5",
    "xmm5h", "xmm6", "xmm6h", "xmm7", "xmm7h", "xmm8", "xmm8h", "xmm9", "xmm9h", "xmm10", "xmm10h",
    "xmm11", "xmm11h", "xmm12", "xmm12h", "xmm13", "xmm13h", "xmm14", "xmm14h", "xmm15", "xmm15h",
];

/// Bits 0 to 32 of asm/perf_regs.h, arm64.
const AARCH64: [&str; 33] = [
    "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
    "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27",
    "x28", "x29", "lr", "sp", "pc",
];

/// Vector granule: length of an SVE register in units of 8 bytes.
const AARCH64_VG: u32 = 46;

/// Bits 0 to 15 of asm/perf_regs.h, arm.
const ARM: [&str; 16] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "fp", "ip", "sp", "lr", "pc",
];

/// Bits 0 to 58 of asm/perf_regs.h, powerpc.
const POWERPC: [&str; 59] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27",
    "r28", "r29", "r30", "r31", "nip", "msr", "orig_r3", "ctr", "link", "xer", "ccr", "softe",
    "trap", "dar", "dsisr", "sier", "mmcra", "mmcr0", "mmcr1", "mmcr2", "mmcr3", "sier2", "sier3",
    "pmc1", "pmc2", "pmc3", "pmc4", "pmc5", "pmc6", "sdar", "siar",
];

/// Bits 0 to 31 of asm/perf_regs.h, riscv.
const RISCV: [&str; 32] = [
    "pc", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5",
    "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5",
    "t6",
];

/// Bits 0 to 33 of asm/perf_regs.h, s390; `mask` and `pc` are the two halves
/// of the program status word.
const S390: [&str; 34] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
    "r15", "fp0", "fp1", "fp2", "fp3", "fp4", "fp5", "fp6", "fp7", "fp8", "fp9", "fp10", "fp11",
    "fp12", "fp13", "fp14", "fp15", "mask", "pc",
];

/// Bits 0 to 31 of asm/perf_regs.h, mips; 26 and 27 are the kernel's own.
const MIPS: [&str; 32] = [
    "pc", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$9", "$10", "$11", "$12", "$13", "$14",
    "$15", "$16", "$17", "$18", "$19", "$20", "$21", "$22", "$23", "$24", "$25", "", "", "$28",
    "$29", "$30", "$31",
];

/// The names of an architecture from bit 0 on; empty: no register.
fn table(arch: Arch) -> &'static [&'static str] {
    match arch {
        Arch::X86_64 | Arch::X86 => &X86,
        Arch::Aarch64 => &AARCH64,
        Arch::Arm => &ARM,
        Arch::PowerPc => &POWERPC,
        Arch::RiscV => &RISCV,
        Arch::S390 => &S390,
        Arch::Mips => &MIPS,
        Arch::Other => &[],
    }
}

/// The kernel's name of register number `bit`, in lower case where perf
/// script prints capitals ("AX:" there, "ax" here; arm64 names are the same).
/// The upper half of an x86 vector register ends in `h`. None when the
/// architecture has no register of that number.
pub fn name(arch: Arch, bit: u32) -> Option<&'static str> {
    let index = usize::try_from(bit).ok()?;
    let vector = || match arch {
        Arch::X86_64 | Arch::X86 => X86_XMM.get(index.checked_sub(32)?).copied(),
        Arch::Aarch64 if bit == AARCH64_VG => Some("vg"),
        _ => None,
    };
    table(arch).get(index).copied().or_else(vector).filter(|name| !name.is_empty())
}

/// Register number `bit` as perf script calls it: in capitals on x86, s390
/// and mips, both halves of an x86 vector register alike, and "unknown" where
/// there is no register of that number.
pub fn perf_name(arch: Arch, bit: u32) -> String {
    let Some(name) = name(arch, bit) else {
        return "unknown".to_owned();
    };
    match arch {
        Arch::X86_64 | Arch::X86 => name.trim_end_matches('h').to_ascii_uppercase(),
        Arch::S390 | Arch::Mips => name.to_ascii_uppercase(),
        _ => name.to_owned(),
    }
}

/// The number of the instruction pointer.
pub fn instruction_pointer(arch: Arch) -> Option<u32> {
    match arch {
        Arch::X86_64 | Arch::X86 => Some(8),
        Arch::Aarch64 | Arch::PowerPc => Some(32),
        Arch::Arm => Some(15),
        Arch::S390 => Some(33),
        Arch::RiscV | Arch::Mips => Some(0),
        Arch::Other => None,
    }
}

/// Register number of a name in any usual spelling and case: what [`name`]
/// gives, and "rax", "eax", "rip", "eip", "rflags", "eflags", "r8d", "xmm0l"
/// on x86; "w0", "fp", "x30" on aarch64.
pub fn number(arch: Arch, name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    match arch {
        Arch::X86_64 | Arch::X86 => x86_number(&name),
        Arch::Aarch64 => aarch64_number(&name),
        _ => position(table(arch), &name),
    }
}

fn x86_number(name: &str) -> Option<u32> {
    position(&X86, name)
        .or_else(|| {
            // Only the registers that have a width in their name: not "rcs".
            let short = name.strip_prefix(['r', 'e'])?;
            position(&X86[..10], short)
        })
        .or_else(|| {
            let full = name.strip_suffix(['d', 'w', 'b'])?;
            position(&X86[16..], full).map(|at| at + 16)
        })
        .or_else(|| {
            let low = name.strip_suffix('l').filter(|low| !low.ends_with('h'));
            position(&X86_XMM, low.unwrap_or(name)).map(|at| at + 32)
        })
}

fn aarch64_number(name: &str) -> Option<u32> {
    match name {
        "fp" => Some(29),
        "x30" | "w30" => Some(30),
        "wsp" => Some(31),
        "vg" => Some(AARCH64_VG),
        _ => position(&AARCH64, name).or_else(|| {
            let digits = name.strip_prefix('w')?;
            position(&AARCH64[..30], &format!("x{digits}"))
        }),
    }
}

fn position(names: &[&str], name: &str) -> Option<u32> {
    if name.is_empty() {
        return None;
    }
    u32::try_from(names.iter().position(|&known| known == name)?).ok()
}

#[cfg(test)]
mod tests {
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
}
