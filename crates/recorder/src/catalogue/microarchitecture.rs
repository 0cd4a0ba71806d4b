//! Which core a PMU counts, from the CPU's identity.

use std::fmt;

use super::table::{self, rows};
use crate::machine::facts::{Cpus, Pmu};

/// A kind of core that the tables know: "skylakex", "alderlake_goldencove",
/// "zen4".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Microarchitecture(pub &'static str);

impl Microarchitecture {
    /// Every core of the tables, each once, sorted.
    pub fn all() -> Vec<Microarchitecture> {
        let mut all: Vec<_> = cpu_rows().map(|row| row.core).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(Microarchitecture).collect()
    }

    pub fn pmu(self) -> Option<&'static str> {
        cpu_rows().find(|row| row.core == self.0).map(|row| row.pmu)
    }

    /// Whether AMD makes it, or makes what it is a copy of: what is precise
    /// there comes from IBS.
    pub fn is_amd(self) -> bool {
        self.0.starts_with("zen")
    }

    /// Whether its branch records can be those of calls that have not returned:
    /// Intel's since Haswell and Goldmont (the kernel's `hsw_lbr_sel_map`, which none before
    /// it has).
    pub fn keeps_calls(self) -> bool {
        const BEFORE: [&str; 9] = [
            "nehalem",
            "westmere",
            "sandybridge",
            "jaketown",
            "ivybridge",
            "ivytown",
            "bonnell",
            "silvermont",
            "knights",
        ];
        !self.is_amd() && !BEFORE.iter().any(|start| self.0.starts_with(start))
    }
}

impl fmt::Display for Microarchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdentifiedCore {
    /// By family, model and stepping.
    Known(Microarchitecture),
    /// The kernel's word for its PMU (caps/pmu_name), which several cores
    /// share; this is one of them.
    ByPmuName(Microarchitecture),
    Unknown,
}

impl IdentifiedCore {
    pub fn core(self) -> Option<Microarchitecture> {
        match self {
            IdentifiedCore::Known(core) | IdentifiedCore::ByPmuName(core) => Some(core),
            IdentifiedCore::Unknown => None,
        }
    }
}

struct CpuRow {
    vendor: &'static str,
    family: &'static str,
    models: &'static str,
    steppings: &'static str,
    pmu: &'static str,
    core: &'static str,
}

fn cpu_rows() -> impl Iterator<Item = CpuRow> {
    rows(table::CPUS).map(|[vendor, family, models, steppings, pmu, core]| CpuRow {
        vendor,
        family,
        models,
        steppings,
        pmu,
        core,
    })
}

/// Which core `pmu` counts. A hybrid CPU has a PMU for each kind of core:
/// "cpu_core", "cpu_atom", "cpu_lowpower"; others have "cpu", to which AMD's
/// "ibs_op" and "ibs_fetch" belong.
pub fn identify(cpus: &Cpus, pmu: &Pmu) -> IdentifiedCore {
    let ibs = matches!(pmu.name.as_str(), "ibs_op" | "ibs_fetch");
    let name = if ibs { "cpu" } else { pmu.name.as_str() };
    if !matches!(name, "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower") {
        return IdentifiedCore::Unknown;
    }
    if let Some(core) = by_identity(cpus, name) {
        return IdentifiedCore::Known(Microarchitecture(core));
    }
    let caps = pmu.description.as_ref().map(|description| &description.caps);
    let word = caps.and_then(|caps| caps.get("pmu_name"));
    word.and_then(|word| by_pmu_name(word, name))
        .map_or(IdentifiedCore::Unknown, |core| IdentifiedCore::ByPmuName(Microarchitecture(core)))
}

fn by_identity(cpus: &Cpus, pmu: &str) -> Option<&'static str> {
    let (vendor, family, model) = (cpus.vendor.as_deref()?, cpus.family?, cpus.model?);
    let candidates: Vec<_> = cpu_rows()
        .filter(|row| {
            row.vendor == vendor
                && row.family.parse() == Ok(family)
                && in_ranges(row.models, model)
                && (row.steppings.is_empty()
                    || cpus.stepping.is_none_or(|stepping| in_ranges(row.steppings, stepping)))
        })
        .collect();
    let of_pmu = candidates.iter().find(|row| row.pmu == pmu);
    // A CPU of one kind of core has the PMU "cpu", also where the same core
    // is elsewhere part of a hybrid.
    let only = match candidates.as_slice() {
        [only] if pmu == "cpu" => Some(only),
        _ => None,
    };
    of_pmu.or(only).map(|row| row.core)
}

/// Hexadecimal numbers and ranges: "3c,45", "0-2f".
fn in_ranges(ranges: &str, number: u32) -> bool {
    let hex = |word: &str| u32::from_str_radix(word, 16);
    ranges.split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((hex(first), hex(last)), (Ok(first), Ok(last)) if (first..=last).contains(&number))
    })
}

fn by_pmu_name(word: &str, pmu: &str) -> Option<&'static str> {
    let is_meant = |[known, of, _]: &[&str; 3]| *known == word && (of.is_empty() || *of == pmu);
    rows(table::PMU_NAMES).find(is_meant).map(|[.., core]| core)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_pmus_are_of_cores_that_the_tables_know() {
        let lines = table::PMU_NAMES.lines().filter(|line| !line.starts_with('#'));
        for line in lines {
            let [word, pmu, core] = table::columns(line).unwrap_or_else(|| panic!("{line}"));
            assert!(Microarchitecture::all().contains(&Microarchitecture(core)), "{line}");
            assert_eq!(by_pmu_name(word, pmu), Some(core), "{line}");
        }
    }
}
