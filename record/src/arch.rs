//! Machine architectures whose registers have names here.

use std::fmt;

/// What `uname -m` says of the recorded machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86, `x86_64`.
    #[default]
    X86_64,
    /// 64-bit Arm, `aarch64`.
    Aarch64,
    /// Anything else: registers have numbers only.
    Other,
}

impl Arch {
    /// From the machine field of uname(2) or the perf.data arch feature.
    pub fn from_machine(machine: &str) -> Arch {
        match machine {
            "x86_64" | "amd64" => Arch::X86_64,
            "aarch64" | "arm64" => Arch::Aarch64,
            _ => Arch::Other,
        }
    }

    /// The architecture this program was built for.
    pub fn here() -> Arch {
        Arch::from_machine(std::env::consts::ARCH)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Arch::X86_64 => "x86_64",
            Arch::Aarch64 => "aarch64",
            Arch::Other => "other",
        })
    }
}
