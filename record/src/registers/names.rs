//! Register numbers and names of each architecture.

use crate::arch::Arch;

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

/// The kernel's name of register number `bit`, in lower case where perf
/// script prints capitals ("AX:" there, "ax" here; arm64 names are the same).
/// The upper half of an x86 vector register ends in `h`. None when the
/// architecture has no register of that number.
pub fn name(arch: Arch, bit: u32) -> Option<&'static str> {
    let index = usize::try_from(bit).ok()?;
    match arch {
        Arch::X86_64 => X86.get(index).or_else(|| X86_XMM.get(index.checked_sub(32)?)).copied(),
        Arch::Aarch64 if bit == AARCH64_VG => Some("vg"),
        Arch::Aarch64 => AARCH64.get(index).copied(),
        Arch::Other => None,
    }
}

/// Register number of a name in any usual spelling and case: what [`name`]
/// gives, and "rax", "eax", "rip", "eip", "rflags", "eflags", "r8d", "xmm0l"
/// on x86-64; "w0", "fp", "x30" on aarch64.
pub fn number(arch: Arch, name: &str) -> Option<u32> {
    let name = name.to_ascii_lowercase();
    match arch {
        Arch::X86_64 => x86_number(&name),
        Arch::Aarch64 => aarch64_number(&name),
        Arch::Other => None,
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
    u32::try_from(names.iter().position(|&known| known == name)?).ok()
}

#[cfg(test)]
mod tests;
