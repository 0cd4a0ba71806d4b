//! The CPUs: which are online, and what they call themselves.

use std::path::Path;

use perfdata::Cpu;

use super::tree::{FactsError, Tree};

const ONLINE: &str = "sys/devices/system/cpu/online";
const CPUINFO: &str = "proc/cpuinfo";

/// Bytes that hold the first CPU's part of /proc/cpuinfo many times over;
/// the whole of it takes milliseconds on a machine of hundreds of CPUs.
const FRONT: usize = 1 << 16;

/// The machine's CPUs. Identity is that of the first one in /proc/cpuinfo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// Online CPUs, ascending; None when unknown.
    pub online: Option<Vec<Cpu>>,
    /// "GenuineIntel", "AuthenticAMD"; on Arm the implementer, "0x41".
    pub vendor: Option<String>,
    /// CPU family (x86).
    pub family: Option<u32>,
    /// Model number (x86).
    pub model: Option<u32>,
    /// Stepping (x86).
    pub stepping: Option<u32>,
    pub name: Option<String>,
    /// Feature words ("flags", on Arm "Features").
    pub flags: Vec<String>,
}

/// The CPUs that are online, ascending; None: the kernel does not say.
pub fn online_cpus(root: &Path) -> Option<Vec<Cpu>> {
    cpu_list(&Tree::new(root).word(ONLINE).ok()??).ok()
}

impl Cpus {
    pub(super) fn read(tree: &Tree<'_>) -> Result<Cpus, FactsError> {
        let mut cpus = Cpus::read_identity(tree, CPUINFO)?;
        if let Some(list) = tree.word(ONLINE)? {
            let parsed = cpu_list(&list)
                .map_err(|token| tree.malformed(ONLINE, 1, &token, "CPU or range of CPUs"))?;
            cpus.online = Some(parsed);
        }
        Ok(cpus)
    }

    /// What the first CPU in `file`, of the form of /proc/cpuinfo, calls
    /// itself; everything unknown when there is no such file.
    pub(super) fn read_identity(tree: &Tree<'_>, file: &str) -> Result<Cpus, FactsError> {
        let mut cpus = Cpus::default();
        let Some(text) = tree.front(file, FRONT)? else { return Ok(cpus) };
        if text.len() >= FRONT && !text.contains("\n\n") {
            return Err(tree.malformed(file, 1, &text, "description of CPUs"));
        }
        cpus.identify(tree, file, &text)?;
        Ok(cpus)
    }

    /// Takes what is unknown from the CPUID instruction. [SDM CPUID]
    #[cfg(target_arch = "x86_64")]
    pub(super) fn ask_cpu(&mut self) {
        let cpuid = raw_cpuid::CpuId::new();
        if self.vendor.is_none() {
            self.vendor = cpuid.get_vendor_info().map(|vendor| vendor.as_str().to_owned());
        }
        if let Some(features) = cpuid.get_feature_info() {
            self.family = self.family.or_else(|| Some(features.family_id().into()));
            self.model = self.model.or_else(|| Some(features.model_id().into()));
            self.stepping = self.stepping.or_else(|| Some(features.stepping_id().into()));
        }
        if self.name.is_none() {
            let name = cpuid.get_processor_brand_string();
            self.name = name.map(|name| name.as_str().trim().to_owned());
        }
    }

    /// Only x86 tells a program which CPU it runs on.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn ask_cpu(&mut self) {}

    fn identify(&mut self, tree: &Tree<'_>, file: &str, cpuinfo: &str) -> Result<(), FactsError> {
        let first = cpuinfo.lines().take_while(|line| !line.trim().is_empty());
        for (index, line) in first.enumerate() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let number = || {
                let error = || tree.malformed(file, index + 1, value, "number");
                value.parse::<u32>().map_err(|_| error()).map(Some)
            };
            match key.trim() {
                "vendor_id" | "CPU implementer" => self.vendor = Some(value.to_owned()),
                // Other architectures have words under these keys.
                "cpu family" if self.vendor.is_some() => self.family = number()?,
                "model" if self.vendor.is_some() => self.model = number()?,
                // Some virtual machines say "unknown" here.
                "stepping" => self.stepping = value.parse().ok(),
                "model name" => self.name = Some(value.to_owned()),
                "flags" | "Features" => {
                    self.flags = value.split_ascii_whitespace().map(str::to_owned).collect();
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|have| have == flag)
    }
}

/// CPUs in ascending order as the kernel lists them: "0-3,8".
pub fn listed(cpus: &[Cpu]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu.0) => *last = cpu.0,
            _ => ranges.push((cpu.0, cpu.0)),
        }
    }
    let words = ranges.iter().map(|&(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    words.collect::<Vec<_>>().join(",")
}

/// More CPUs than any kernel is built for: a guard against a range that
/// would fill the memory.
const MAX_CPUS: u32 = 1 << 16;

/// The kernel's CPU lists: "0-3,8,10-11"; ascending, each once.
///
/// # Errors
/// The word that is neither a number nor a range upwards.
pub fn cpu_list(text: &str) -> Result<Vec<Cpu>, String> {
    let mut cpus = Vec::new();
    for word in text.trim().split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(word.to_owned());
        };
        if first > last || last >= MAX_CPUS {
            return Err(word.to_owned());
        }
        cpus.extend((first..=last).map(Cpu));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}
