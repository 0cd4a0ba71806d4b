//! The running kernel.

use std::fmt;

use perfdata::Arch;

use super::tree::{FactsError, Tree};
use super::{Cpus, Pmu};
use crate::machine::pmu_format::{BitField, ConfigWord};

/// First three numbers of a release; missing ones are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u32, pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelFacts {
    /// `uname -r`: "6.12.117-amd64".
    pub release: Option<String>,
    /// The numbers at the front of `release`.
    pub version: Option<Version>,
    /// `uname -v`: build number and date.
    pub build: Option<String>,
    /// `uname -n`.
    pub hostname: Option<String>,
    /// `uname -m`.
    pub machine: Option<String>,
    /// Whether the NMI watchdog has a counter of each CPU
    /// (kernel.nmi_watchdog).
    pub nmi_watchdog: Option<bool>,
}

impl KernelFacts {
    pub(super) fn read(tree: &Tree<'_>, cpus: &Cpus) -> Result<KernelFacts, FactsError> {
        let file = "proc/sys/kernel/osrelease";
        let release = tree.word(file)?;
        let version = match &release {
            Some(text) => Some(
                parse_version(text)
                    .ok_or_else(|| tree.malformed(file, 1, text, "kernel release"))?,
            ),
            None => None,
        };
        Ok(KernelFacts {
            release,
            version,
            build: tree.word("proc/sys/kernel/version")?,
            hostname: tree.word("proc/sys/kernel/hostname")?,
            machine: tree.word("proc/sys/kernel/arch")?.or_else(|| machine(cpus)),
            nmi_watchdog: tree.word("proc/sys/kernel/nmi_watchdog")?.map(|word| word != "0"),
        })
    }

    /// The architecture; the one this program was built for when unknown.
    pub fn arch(&self) -> Arch {
        self.machine.as_deref().map_or_else(Arch::here, Arch::from_machine)
    }
}

/// Kernels before 6.1 have no /proc/sys/kernel/arch: what the CPUs show.
fn machine(cpus: &Cpus) -> Option<String> {
    if cpus.has("lm") {
        Some("x86_64".to_owned())
    } else if cpus.has("asimd") {
        Some("aarch64".to_owned())
    } else {
        None
    }
}

/// What machine a copy of its PMUs and of the first lines of its
/// /proc/cpuinfo shows.
pub(super) fn machine_of(cpus: &Cpus, pmus: &[Pmu]) -> Option<String> {
    const X86: [&str; 5] =
        ["GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "  Shanghai  "];
    let starts = |prefix: &str| pmus.iter().any(|pmu| pmu.name.starts_with(prefix));
    let vendor = cpus.vendor.as_deref().unwrap_or("");
    let name = if let Some(name) = machine(cpus) {
        return Some(name);
    } else if X86.iter().any(|maker| maker.trim() == vendor) || pmus.iter().any(is_x86) {
        "x86_64"
    } else if ["armv8", "armv9", "arm_spe", "apple_"].into_iter().any(starts) {
        "aarch64"
    } else if starts("cpum_") {
        "s390x"
    } else {
        return None;
    };
    Some(name.to_owned())
}

/// AMD's IBS, Intel's hybrids, or a `cpu` with the event selector of x86.
fn is_x86(pmu: &Pmu) -> bool {
    let bits = |name| {
        let formats = pmu.description.as_ref().map(|description| &description.formats)?;
        formats.bits(name).filter(|bits| bits.word() == ConfigWord::Config).map(BitField::mask)
    };
    match pmu.name.as_str() {
        "cpu_core" | "cpu_atom" | "cpu_lowpower" | "ibs_op" | "ibs_fetch" => true,
        "cpu" => {
            let starts_with = |name, low| bits(name).is_some_and(|mask| mask & 0xffff == low);
            starts_with("event", 0xff) && starts_with("umask", 0xff00)
        }
        _ => false,
    }
}

fn parse_version(release: &str) -> Option<Version> {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let mut numbers = release[..end].split('.').filter(|word| !word.is_empty());
    let major = numbers.next()?.parse().ok()?;
    let mut next = || numbers.next().map_or(Some(0), |word| word.parse().ok());
    Some(Version(major, next()?, next()?))
}
