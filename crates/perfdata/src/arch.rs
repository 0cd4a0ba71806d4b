//! Machine architectures whose registers have names here.

use crate::header::CpuMode;
use crate::named_enum::named_enum;
use std::fmt;

named_enum! {
    /// What `uname -m` says of the recorded machine.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Arch {
        /// 64-bit x86, `x86_64`.
        #[default]
        X86_64 => "x86_64",
        /// 32-bit x86, `i386` to `i686`.
        X86 => "i686",
        /// 64-bit Arm, `aarch64`.
        Aarch64 => "aarch64",
        /// 32-bit Arm, `armv7l` and others.
        Arm => "arm",
        /// POWER of either width and byte order, `ppc64le` and others.
        PowerPc => "ppc64",
        /// RISC-V of either width, `riscv64` and others.
        RiscV => "riscv64",
        /// IBM Z, `s390x`.
        S390 => "s390x",
        /// MIPS of either width and byte order, `mips64` and others.
        Mips => "mips64",
        /// Anything else: registers have numbers only.
        Other => "other",
    }
}

impl Arch {
    /// From the machine field of uname(2) or the perf.data arch feature.
    pub fn from_machine(machine: &str) -> Arch {
        let is_32_bit_x86 = |machine: &str| {
            let family = machine.strip_prefix('i').and_then(|rest| rest.strip_suffix("86"));
            family.is_some_and(|digit| ["3", "4", "5", "6"].contains(&digit))
        };
        match machine {
            "x86_64" | "amd64" => Arch::X86_64,
            "x86" => Arch::X86,
            _ if is_32_bit_x86(machine) => Arch::X86,
            "aarch64" | "aarch64_be" | "arm64" => Arch::Aarch64,
            _ if machine.starts_with("arm") => Arch::Arm,
            _ if machine.starts_with("ppc") || machine.starts_with("powerpc") => Arch::PowerPc,
            _ if machine.starts_with("riscv") => Arch::RiscV,
            _ if machine.starts_with("s390") => Arch::S390,
            _ if machine.starts_with("mips") => Arch::Mips,
            _ => Arch::Other,
        }
    }

    /// Whose an address is, where the address tells: the kernel has the
    /// upper half of 64 bits, user space the lower. None where both have
    /// address spaces of their own (s390), and below 4 GiB on machines whose
    /// name has no width: their kernels of 32 bits are there.
    pub fn owner(self, address: u64) -> Option<CpuMode> {
        const HALF: u64 = 1 << 63;
        match (self, address) {
            (Arch::S390 | Arch::Other, _) => None,
            (_, HALF..) => Some(CpuMode::Kernel),
            (Arch::X86_64 | Arch::Aarch64, _) | (_, 0x1_0000_0000..) => Some(CpuMode::User),
            _ => None,
        }
    }

    /// The architecture this program was built for.
    pub fn here() -> Arch {
        Arch::from_machine(std::env::consts::ARCH)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::Arch;
    use crate::header::CpuMode;

    #[test]
    fn addresses_tell_whose_they_are_where_both_share_a_space() {
        use CpuMode::{Kernel, User};
        let (text, vmalloc) = (0xffff_ffff_8100_0000, 0xc000_0000_0000_0000);
        for (arch, address, owner) in [
            (Arch::X86_64, 0, Some(User)),
            (Arch::X86_64, 0xc100_0000, Some(User)),
            (Arch::X86_64, 0x7fff_ffff_f000, Some(User)),
            (Arch::Aarch64, text, Some(Kernel)),
            (Arch::X86, 0xc100_0000, None),
            (Arch::PowerPc, vmalloc, Some(Kernel)),
            (Arch::PowerPc, 0x7fff_0000_1000, Some(User)),
            (Arch::Mips, 0x8010_0000, None),
            (Arch::S390, text, None),
            (Arch::Other, text, None),
        ] {
            assert_eq!(arch.owner(address), owner, "{arch} {address:#x}");
        }
    }

    #[test]
    fn machines_are_told_from_what_uname_says() {
        for (machine, arch) in [
            ("x86_64", Arch::X86_64),
            ("i586", Arch::X86),
            ("i86pc", Arch::Other),
            ("ia64", Arch::Other),
            ("arm64", Arch::Aarch64),
            ("armv7l", Arch::Arm),
            ("ppc64le", Arch::PowerPc),
            ("ppc", Arch::PowerPc),
            ("riscv32", Arch::RiscV),
            ("s390x", Arch::S390),
            ("mips", Arch::Mips),
            ("loongarch64", Arch::Other),
            ("", Arch::Other),
        ] {
            assert_eq!(Arch::from_machine(machine), arch, "{machine}");
        }
        for arch in Arch::ALL {
            assert_eq!(Arch::from_machine(&arch.to_string()), arch);
        }
    }
}
