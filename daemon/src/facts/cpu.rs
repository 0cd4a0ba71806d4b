//! The CPUs: which are online, and what they call themselves.

use record::Cpu;

use super::tree::{FactsError, Tree};

const ONLINE: &str = "sys/devices/system/cpu/online";
const CPUINFO: &str = "proc/cpuinfo";

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
    /// Marketing name.
    pub name: Option<String>,
    /// Feature words ("flags", on Arm "Features").
    pub flags: Vec<String>,
}

impl Cpus {
    pub(super) fn read(tree: &Tree<'_>) -> Result<Cpus, FactsError> {
        let mut cpus = Cpus::default();
        if let Some(text) = tree.text(CPUINFO)? {
            cpus.identify(tree, &text)?;
        }
        if let Some(list) = tree.word(ONLINE)? {
            let parsed = parse_list(&list)
                .map_err(|token| tree.malformed(ONLINE, 1, &token, "CPU or range of CPUs"))?;
            cpus.online = Some(parsed);
        }
        Ok(cpus)
    }

    fn identify(&mut self, tree: &Tree<'_>, cpuinfo: &str) -> Result<(), FactsError> {
        let first = cpuinfo.lines().take_while(|line| !line.trim().is_empty());
        for (index, line) in first.enumerate() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            let number = || {
                let error = || tree.malformed(CPUINFO, index + 1, value, "number");
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

    /// Whether the first CPU has the feature word.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|have| have == flag)
    }
}

/// More CPUs than any kernel is built for: a guard against a range that
/// would fill the memory.
const MOST: u32 = 1 << 16;

/// The kernel's CPU lists: "0-3,8,10-11". The error is the word that is
/// neither a number nor a range upwards.
pub(super) fn parse_list(text: &str) -> Result<Vec<Cpu>, String> {
    let mut cpus = Vec::new();
    for word in text.trim().split(',') {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse::<u32>())
        else {
            return Err(word.to_owned());
        };
        if first > last || last >= MOST {
            return Err(word.to_owned());
        }
        cpus.extend((first..=last).map(Cpu));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}
