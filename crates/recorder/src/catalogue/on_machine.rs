//! A type on the cores of one machine.

use super::{
    CatalogueType, Encoding, EventKind, IdentifiedCore, Microarchitecture, NoEncoding, encodings,
    generic_encodings, ibs_encodings, identify,
};
use crate::machine::facts::{Facts, Hypervisor, Pmu};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnMachine {
    /// What to open, core PMU by core PMU in the order of the facts.
    pub cores: Vec<OnCore>,
    /// Core PMUs that have nothing for the type, and why. Not empty only
    /// on hybrid CPUs.
    pub unavailable: Vec<(String, NoEncoding)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnCore {
    /// The core's PMU: "cpu", "cpu_core"; encodings may be IBS's.
    pub pmu: String,
    /// The core; None when the tables do not know it.
    pub core: Option<Microarchitecture>,
    pub encodings: Vec<Encoding>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOnMachine {
    #[error("no hardware PMU: {0}, {missing}", missing = if *.1 {
        "no cpu device under /sys/bus/event_source"
    } else {
        "nothing under /sys/bus/event_source"
    })]
    NoPmu(String, bool),
    #[error(
        "Arm SPE is not supported yet: {pmu} is there, but its records come as packets of their \
         own kind, which this version does not read"
    )]
    ArmSpe { pmu: String },
    #[error(
        "{pmus} samples nothing precisely here (its caps/max_precise is 0: a guest whose host keeps \
         PEBS to itself, or PEBS is switched off)"
    )]
    NoPrecision {
        pmus: String,
        /// Whether the type can be had with skid: it is not told by the
        /// instruction at the IP.
        with_skid: bool,
    },
    #[error(
        "no ibs_op under /sys/bus/event_source: precise events of AMD need IBS, which {}",
        withheld(.0)
    )]
    NoIbs(Hypervisor),
    #[error(transparent)]
    NoEncoding(#[from] NoEncoding),
}

/// Looks a type of [`EventKind::Hardware`] up for every core PMU of the
/// machine.
pub fn on_machine(entry: &CatalogueType, facts: &Facts) -> Result<OnMachine, NotOnMachine> {
    if !matches!(entry.kind, EventKind::Hardware(_)) {
        return Err(NoEncoding::NotHardware { name: entry.name }.into());
    }
    let all = || facts.pmus.iter().flatten();
    let core_pmus: Vec<&Pmu> = all().filter(|pmu| is_x86_core(pmu)).collect();
    if core_pmus.is_empty() {
        return of_other_architecture(entry, facts);
    }
    let mut found = OnMachine { cores: Vec::new(), unavailable: Vec::new() };
    let mut without_ibs = false;
    for pmu in core_pmus {
        let identified = identify(&facts.cpus, pmu);
        match of_pmu(entry, pmu, identified, facts) {
            Ok(encodings)
                if encodings.iter().any(|have| have.pmu == "ibs_op")
                    && facts.pmu("ibs_op").is_none() =>
            {
                without_ibs = true;
            }
            Ok(encodings) => {
                let core = identified.core();
                found.cores.push(OnCore { pmu: pmu.name.clone(), core, encodings });
            }
            Err(reason) => found.unavailable.push((pmu.name.clone(), reason)),
        }
    }
    if !found.cores.is_empty() {
        return Ok(found);
    }
    if without_ibs {
        return Err(NotOnMachine::NoIbs(facts.hypervisor.clone()));
    }
    // Of several kinds of cores the largest speaks for all: its PMU's number
    // is the lowest.
    let number = |name: &str| all().find(|pmu| pmu.name == name).and_then(|pmu| pmu.kind);
    let largest =
        found.unavailable.into_iter().min_by_key(|(pmu, _)| number(pmu).map(|kind| kind.0));
    let reason = largest.map(|(_, reason)| reason);
    Err(reason.unwrap_or(NoEncoding::Generic { name: entry.name }).into())
}

/// Why a unit that the CPU's make would have is not there.
fn withheld(hypervisor: &Hypervisor) -> String {
    match hypervisor {
        Hypervisor::Guest(make) => format!("the host of this {make} guest keeps to itself"),
        Hypervisor::Unnamed => "the host of this virtual machine keeps to itself".into(),
        Hypervisor::None | Hypervisor::Unknown => {
            "this CPU lacks, or its firmware or kernel has switched off (dmesg | grep IBS)".into()
        }
    }
}

fn is_x86_core(pmu: &Pmu) -> bool {
    matches!(pmu.name.as_str(), "cpu" | "cpu_core" | "cpu_atom" | "cpu_lowpower")
}

fn of_pmu(
    entry: &CatalogueType,
    pmu: &Pmu,
    identified: IdentifiedCore,
    facts: &Facts,
) -> Result<Vec<Encoding>, NoEncoding> {
    match identified.core() {
        Some(core) => encodings(core, &pmu.name, entry),
        None if facts.pmu("ibs_op").is_some() => {
            ibs_encodings(entry).or_else(|_| generic_encodings(entry))
        }
        None => generic_encodings(entry),
    }
}

/// Without sampling units of their own, other architectures have the
/// kernel's generic events.
fn of_other_architecture(entry: &CatalogueType, facts: &Facts) -> Result<OnMachine, NotOnMachine> {
    let all = || facts.pmus.iter().flatten();
    if let Some(spe) = all().find(|pmu| pmu.name.starts_with("arm_spe")) {
        return Err(NotOnMachine::ArmSpe { pmu: spe.name.clone() });
    }
    let pmus: Vec<_> = all().filter(|pmu| pmu.counts_events()).collect();
    if pmus.is_empty() {
        return Err(NotOnMachine::NoPmu(facts.hypervisor.to_string(), facts.pmus.is_some()));
    }
    let encodings = generic_encodings(entry)?;
    let of = |pmu: &Pmu| OnCore { pmu: pmu.name.clone(), core: None, encodings: encodings.clone() };
    Ok(OnMachine { cores: pmus.into_iter().map(of).collect(), unavailable: Vec::new() })
}
