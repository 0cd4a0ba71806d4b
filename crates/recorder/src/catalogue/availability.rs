//! Whether a machine has a type, and why not.

use super::{
    CatalogueType, Encoding, EventKind, Hardware, NotOnMachine, OnMachine, find, generic_encodings,
    on_machine,
};
use crate::machine::facts::{Facts, Pmu, Tracefs};

/// Whether a type can be sampled on the machine of some facts. Rights are
/// not looked at: those depend on the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    Available {
        /// Events or nanoseconds between samples, unless asked otherwise.
        default_interval: u64,
        /// What the CPU's cores have for it; None for types of the kernel.
        hardware: Option<OnMachine>,
    },
    Unavailable {
        why: String,
        nearest: Vec<&'static str>,
        advice: String,
    },
}

pub fn availability(entry: &CatalogueType, facts: &Facts) -> Availability {
    match entry.kind {
        EventKind::Hardware(hardware) => of_hardware(entry, hardware, facts),
        EventKind::Tracepoint if facts.tracefs == Tracefs::Absent => Availability::Unavailable {
            why: "tracefs is not mounted".to_owned(),
            nearest: Vec::new(),
            advice: MOUNT_TRACEFS.to_owned(),
        },
        EventKind::Breakpoint if lacks_pmu(facts, "breakpoint") => Availability::Unavailable {
            why: "this kernel was built without hardware breakpoints".to_owned(),
            nearest: vec!["page_fault"],
            advice: "page_fault shows first touches of a page".to_owned(),
        },
        _ => Availability::Available { default_interval: entry.default_interval, hardware: None },
    }
}

pub const MOUNT_TRACEFS: &str =
    "as root: mount -t tracefs nodev /sys/kernel/tracing, and try again";

/// Whether the list of PMUs is whole and `name` is not in it. Every kernel
/// has "software": a list without it was copied in part.
fn lacks_pmu(facts: &Facts, name: &str) -> bool {
    let has = |name: &str| facts.pmu(name).is_some();
    has("software") && !has(name)
}

fn of_hardware(entry: &CatalogueType, hardware: Hardware, facts: &Facts) -> Availability {
    let why = match on_machine(entry, facts) {
        Ok(found) if is_imprecise(&found, facts) => {
            let mut encodings = found.cores.iter().flat_map(|core| &core.encodings);
            let with_skid = !encodings.any(Encoding::is_told_by_instruction);
            let pmus: Vec<_> = found.cores.into_iter().map(|core| core.pmu).collect();
            NotOnMachine::NoPrecision { pmus: pmus.join(", "), with_skid }
        }
        Ok(found) => {
            let first = found.cores.iter().flat_map(|core| &core.encodings).next();
            let default_interval =
                first.map_or(entry.default_interval, |encoding| encoding.default_interval);
            return Availability::Available { default_interval, hardware: Some(found) };
        }
        Err(why) => why,
    };
    let here = |name: &&&str| {
        let related = find(name).filter(|related| related.name != entry.name);
        let found = related.and_then(|related| on_machine(related, facts).ok());
        found.is_some_and(|found| !is_imprecise(&found, facts))
    };
    let related: Vec<_> = hardware.related.iter().filter(here).take(2).copied().collect();
    let (nearest, advice) = if related.is_empty() {
        let has = |name: &&&str| {
            find(name).is_some_and(|entry| {
                matches!(availability(entry, facts), Availability::Available { .. })
            })
        };
        let software = hardware.nearest.iter().filter(has).copied().collect();
        (software, with_skid(entry, &why) + hardware.difference)
    } else {
        let skid = with_skid(entry, &why);
        let kin_here = related.join(", ");
        (related, format!("{skid}{kin_here} can be sampled here; ebs -h TYPE says what it is"))
    };
    Availability::Unavailable { why: why.to_string(), nearest, advice }
}

/// Whether every core promises precise events and its PMU takes none.
fn is_imprecise(found: &OnMachine, facts: &Facts) -> bool {
    found.cores.iter().all(|core| {
        core.encodings.iter().any(|encoding| encoding.precise > 0)
            && facts.pmu(&core.pmu).and_then(Pmu::most_precise) == Some(0)
    })
}

/// What the kernel counts in the type's place where a core has a PMU and no
/// way to be precise.
fn with_skid(entry: &CatalogueType, why: &NotOnMachine) -> String {
    let generic = match why {
        NotOnMachine::NoPrecision { with_skid: true, .. } => {
            return "--allow-skid samples it with skid; ".to_owned();
        }
        NotOnMachine::NoIbs(_) => generic_encodings(entry).unwrap_or_default(),
        _ => Vec::new(),
    };
    match generic.iter().find(|encoding| encoding.pmu == "hw_cache") {
        Some(encoding) => format!("{} counts something near, with skid; ", encoding.event),
        None => String::new(),
    }
}
