//! PMUs that the kernel offers: /sys/bus/event_source/devices.

use perfdata::{Cpu, EventType};

use super::PmuDescription;
use super::cpu::cpu_list;
use super::tree::{FactsError, Tree};

/// Where the kernel lists its PMUs.
pub(super) const DEVICES: &str = "sys/bus/event_source/devices";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pmu {
    /// Its directory's name: "cpu", "cpu_core", "ibs_op", "software".
    pub name: String,
    /// The number for `perf_event_attr.type`; None when it has none.
    pub kind: Option<EventType>,
    /// CPUs to open its events on, ascending: `cpus` (those it belongs to)
    /// or `cpumask` (one of each group that shares it). None when the PMU
    /// has neither file, or was not described.
    pub cpus: Option<Vec<Cpu>>,
    /// What it says of itself; None when that was not read.
    pub description: Option<PmuDescription>,
}

impl Pmu {
    /// Whether this PMU counts or samples what a CPU core does: "cpu",
    /// "cpu_core", "cpu_atom", Arm's "armv8_*" and kin, s390's "cpum_*",
    /// and the sampling units AMD IBS and Arm SPE.
    pub fn is_core(&self) -> bool {
        matches!(self.name.as_str(), "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower")
            || ["armv6", "armv7", "armv8", "armv9", "cpum_", "ibs_", "arm_spe", "apple_"]
                .iter()
                .any(|start| self.name.starts_with(start))
    }

    /// Whether this PMU has counters of a CPU core: no sampling unit beside
    /// them.
    pub fn counts_events(&self) -> bool {
        self.is_core()
            && !["ibs_", "arm_spe", "cpum_cf"].iter().any(|start| self.name.starts_with(start))
    }

    /// The highest `precise_ip` that it says it takes (caps/max_precise; 0 on
    /// every AMD, IBS or not); None: it does not say.
    pub fn most_precise(&self) -> Option<u8> {
        self.description.as_ref()?.caps.get("max_precise")?.trim().parse().ok()
    }

    /// Whether it says what it can and names no branch records, which a kernel
    /// that found some does (caps/branches, since Linux 4.14).
    pub fn lacks_branches(&self) -> bool {
        let caps = self.description.as_ref().map(|description| &description.caps);
        caps.is_some_and(|caps| caps.contains_key("max_precise") && !caps.contains_key("branches"))
    }

    /// Reads CPUs and description, unless that was done.
    pub(super) fn describe(&mut self, tree: &Tree<'_>, devices: &str) -> Result<(), FactsError> {
        if self.description.is_none() {
            let directory = format!("{devices}/{}", self.name);
            self.cpus = match read_cpus(tree, &format!("{directory}/cpus"))? {
                None => read_cpus(tree, &format!("{directory}/cpumask"))?,
                cpus => cpus,
            };
            self.description = Some(PmuDescription::read(tree, &directory)?);
        }
        Ok(())
    }
}

/// A list of CPUs; an empty one when all of the PMU's are offline.
fn read_cpus(tree: &Tree<'_>, file: &str) -> Result<Option<Vec<Cpu>>, FactsError> {
    let Some(text) = tree.attribute(file)? else { return Ok(None) };
    if text.trim().is_empty() {
        return Ok(Some(Vec::new()));
    }
    let wrong = |token: String| tree.malformed(file, 1, &token, "CPU or range of CPUs");
    cpu_list(&text).map(Some).map_err(wrong)
}

/// Name and number of every PMU in `devices`; None when there is no such
/// directory. Servers have hundreds, most of them outside the cores: those
/// are described on demand.
pub(super) fn read(tree: &Tree<'_>, devices: &str) -> Result<Option<Vec<Pmu>>, FactsError> {
    let Some(names) = tree.names(devices)? else { return Ok(None) };
    let mut pmus = Vec::new();
    for name in names {
        let directory = format!("{devices}/{name}");
        if name.bytes().any(|byte| byte.is_ascii_control() || byte >= 0x80) {
            return Err(tree.malformed(devices, 1, &name, "name of a PMU"));
        }
        let file = format!("{directory}/type");
        let kind = match tree.attribute(&file)?.as_deref().map(str::trim) {
            None | Some("") if tree.path(&directory).is_dir() => None,
            None | Some("") => continue,
            Some(word) => {
                let number = word.parse();
                Some(number.map_err(|_| tree.malformed(&file, 1, word, "number in range"))?)
            }
        };
        pmus.push(Pmu { name, kind: kind.map(EventType), ..Pmu::default() });
    }
    Ok(Some(pmus))
}

#[cfg(test)]
mod tests;
