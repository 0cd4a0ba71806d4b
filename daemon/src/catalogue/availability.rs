//! Whether a machine has a type, and why not.

use super::{EventKind, EventType, Hardware};
use crate::facts::{Facts, Tracefs};

/// Whether a type can be sampled on the machine of some facts. Rights are
/// not looked at: those depend on the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available {
        /// Events or nanoseconds between samples, unless asked otherwise.
        default_interval: u64,
    },
    /// It cannot.
    Unavailable {
        /// The reason, from the facts.
        why: String,
        /// Types that this machine has, best first.
        nearest: &'static [&'static str],
        /// How the nearest types differ, or what to do to get the type.
        advice: String,
    },
}

/// Looks a type up in the facts.
pub fn availability(entry: &EventType, facts: &Facts) -> Availability {
    match entry.kind {
        EventKind::Hardware(hardware) => refuse_hardware(hardware, facts),
        EventKind::Tracepoint if facts.tracefs == Tracefs::Absent => Availability::Unavailable {
            why: "tracefs is not mounted".to_owned(),
            nearest: &[],
            advice: MOUNT_TRACEFS.to_owned(),
        },
        EventKind::Breakpoint if lacks_pmu(facts, "breakpoint") => Availability::Unavailable {
            why: "this kernel was built without hardware breakpoints".to_owned(),
            nearest: &["page_fault"],
            advice: "page_fault shows first touches of a page".to_owned(),
        },
        _ => Availability::Available { default_interval: entry.default_interval },
    }
}

pub(crate) const MOUNT_TRACEFS: &str =
    "as root: mount -t tracefs nodev /sys/kernel/tracing, and try again";

/// Whether the list of PMUs is whole and `name` is not in it. Every kernel
/// has "software": a list without it was copied in part.
fn lacks_pmu(facts: &Facts, name: &str) -> bool {
    let has = |name: &str| facts.pmus.iter().flatten().any(|pmu| pmu.name == name);
    has("software") && !has(name)
}

fn refuse_hardware(hardware: Hardware, facts: &Facts) -> Availability {
    let why = if facts.has_core_pmu() {
        "this version has no table of precise events for CPUs yet, and a guess would count \
         something else"
            .to_owned()
    } else if facts.pmus.is_none() {
        format!("no hardware PMU: {}, nothing under /sys/bus/event_source", facts.hypervisor)
    } else {
        format!("no hardware PMU: {}, no cpu device under /sys/bus/event_source", facts.hypervisor)
    };
    Availability::Unavailable {
        why,
        nearest: hardware.nearest,
        advice: hardware.difference.to_owned(),
    }
}
