//! What the weights of an event's samples count.
//!
//! The kernel puts unlike things into one field: a load's latency, the
//! latency of its miss, cycles lost in transactions, or nothing. What is not
//! known to be a latency is never averaged as one.

use perfdata::stream::{EventDescription, Features, note};
use perfdata::{Attr, EventType, SampleType};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weighing {
    /// Cycles that an access took; the text says from when to when. 0 is
    /// none.
    Latency(&'static str),
    Unknown,
    Absent,
}

const LOAD: &str = "core cycles from the dispatch of the load until its data could be used";
const STORE: &str = "core cycles from the retirement of the store until all could see it";
const MISS: &str = "core cycles from the miss of a load in the L1 data cache until its data came; \
                    accesses that hit have none";
const MODEL: &str =
    "cycles that the model gives the level which served the access; nothing was measured";
const OPERATION: &str = "cycles from the dispatch of the operation until its completion";
const THRESHOLD: &str = "cycles between the two points that the threshold counter was set to";

/// Event and unit mask of what a latency comes with
/// (intel_*_pebs_event_constraints[], arch/x86/events/intel/ds.c): loads of
/// Nehalem and Westmere, of all later cores, of the E-cores from Gracemont
/// on; stores of Golden Cove and of Gracemont. Sandy and Ivy Bridge have
/// stores under the same number, with weights of 0.
const INTEL: [(u64, &str); 5] =
    [(0x100b, LOAD), (0x01cd, LOAD), (0x05d0, LOAD), (0x02cd, STORE), (0x06d0, STORE)];
const EVENT_AND_MASK: u64 = 0xffff;
/// Bits of `config1` that are a threshold, and the one that every load
/// exceeds: a hit in the first level takes four cycles or more.
const MOST_THRESHOLD: u64 = 0xffff;
const LEAST_THRESHOLD: u64 = 3;

impl Weighing {
    /// What our recorder promised, else what the attr, the names of PMUs and
    /// the CPU's vendor tell.
    pub(crate) fn of(event: &EventDescription, features: &Features) -> Weighing {
        if !event.attr.sample_type.intersects(SampleType::WEIGHT | SampleType::WEIGHT_STRUCT) {
            return match is_ibs_raw(event, features) {
                true => Weighing::Latency(MISS),
                false => Weighing::Absent,
            };
        }
        match event.notes.iter().find_map(|text| note::value(text, "weight")) {
            Some("load-latency-cycles") => Weighing::Latency(LOAD),
            Some("store-latency-cycles") => Weighing::Latency(STORE),
            Some("miss-latency-cycles") => Weighing::Latency(MISS),
            Some("modelled-latency-cycles") => Weighing::Latency(MODEL),
            Some("none") => Weighing::Absent,
            _ => by_attr(event, features).map_or(Weighing::Unknown, Weighing::Latency),
        }
    }

    /// Cycles that a load of Intel's must exceed to be sampled (`ldlat`,
    /// MSR_PEBS_LD_LAT_THRESHOLD); None when none is too quick.
    pub(crate) fn threshold(self, attr: &Attr) -> Option<u64> {
        let cycles = attr.config1 & MOST_THRESHOLD;
        (self == Weighing::Latency(LOAD) && cycles > LEAST_THRESHOLD).then_some(cycles)
    }
}

/// Whether samples carry the registers of AMD's IBS, of ops.
pub(crate) fn is_ibs_raw(event: &EventDescription, features: &Features) -> bool {
    event.attr.sample_type.contains(SampleType::RAW) && is_ibs(event, features)
}

fn is_ibs(event: &EventDescription, features: &Features) -> bool {
    let attr = &event.attr;
    // Precise cycles and ops are forwarded to IBS.
    let is_core = matches!(attr.kind, EventType::HARDWARE | EventType::RAW);
    let is_forwarded = attr.precise_ip() > 0 && is_core;
    let is_ours = event.notes.iter().any(|text| note::value(text, "source") == Some("ibs"));
    is_ours && !is_of("ibs_fetch", event, features)
        || is_of("ibs_op", event, features)
        || is_forwarded && Maker::of(features) == Maker::Amd
}

/// Whether an event is one of that PMU, or of those called alike.
fn is_of(name: &str, event: &EventDescription, features: &Features) -> bool {
    pmu(event, features).starts_with(name) || event.title().starts_with(name)
}

fn pmu<'f>(event: &EventDescription, features: &'f Features) -> &'f str {
    let pmu = features.pmus.iter().find(|(kind, _)| *kind == event.attr.kind.0);
    pmu.map_or("", |(_, name)| name)
}

fn by_attr(event: &EventDescription, features: &Features) -> Option<&'static str> {
    if is_ibs(event, features) {
        return Some(MISS);
    }
    if is_of("arm_spe", event, features) {
        return Some(OPERATION);
    }
    let (attr, pmu, title) = (&event.attr, pmu(event, features), event.title());
    match Maker::of(features) {
        Maker::Amd => None,
        Maker::Intel => {
            let is_core = attr.kind == EventType::RAW || pmu.starts_with("cpu");
            let code = attr.config & EVENT_AND_MASK;
            let known = INTEL.iter().find(|(number, _)| is_core && *number == code);
            known.map(|(_, text)| *text)
        }
        Maker::Other => {
            let named = ["mem-loads", "mem-stores"].iter().any(|name| title.contains(name));
            named.then_some(THRESHOLD)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Maker {
    Amd,
    /// Or whoever makes x86 and does not say.
    Intel,
    Other,
}

impl Maker {
    fn of(features: &Features) -> Maker {
        let cpu = features.cpu_id.as_deref().unwrap_or_default();
        let is_x86 = features
            .arch
            .as_deref()
            .is_none_or(|arch| arch == "x86_64" || arch.starts_with('i') && arch.ends_with("86"));
        match cpu.split(',').next() {
            Some("AuthenticAMD" | "HygonGenuine") => Maker::Amd,
            Some("GenuineIntel") => Maker::Intel,
            _ if is_x86 => Maker::Intel,
            _ => Maker::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perfdata::{ByteOrder, SampleLayout};

    fn event(kind: u32, config: u64, name: &str) -> EventDescription {
        let attr = Attr {
            kind: EventType(kind),
            config,
            sample_type: SampleType::WEIGHT_STRUCT,
            ..Attr::default()
        };
        EventDescription {
            layout: SampleLayout::new(&attr, ByteOrder::Little).unwrap(),
            attr,
            ids: Vec::new(),
            unreadable: None,
            name: Some(name.to_owned()),
            unit: None,
            scale: None,
            cpus: None,
            notes: Vec::new(),
            clock: None,
        }
    }

    fn machine(arch: &str, cpu: &str) -> Features {
        Features {
            arch: Some(arch.to_owned()),
            cpu_id: Some(cpu.to_owned()),
            pmus: vec![(4, "cpu".into()), (10, "cpu_atom".into()), (11, "ibs_op".into())],
            ..Features::default()
        }
    }

    #[test]
    fn latencies_are_known_by_machine_and_event() {
        let intel = machine("x86_64", "GenuineIntel,6,85,4");
        let amd = machine("x86_64", "AuthenticAMD,25,1,1");
        let power = machine("ppc64le", "004e1203");
        for (machine, kind, config, name, latency) in [
            (&intel, 4, 0x1cd, "cpu/mem-loads,ldlat=30/P", Some(LOAD)),
            (&intel, 4, 0x5300_01cd, "r1cd", Some(LOAD)),
            (&intel, 10, 0x5d0, "cpu_atom/mem-loads,ldlat=30/P", Some(LOAD)),
            (&intel, 4, 0x2cd, "cpu/mem-stores/P", Some(STORE)),
            // Stores before Golden Cove: the weight is of transactions.
            (&intel, 4, 0x82d0, "cpu/mem-stores/P", None),
            (&intel, 4, 0x8203, "cpu_core/mem-loads-aux/", None),
            (&intel, 0, 0x1cd, "cycles", None),
            (&intel, 99, 0x1cd, "uncore", None),
            (&amd, 11, 0, "ibs_op//", Some(MISS)),
            (&amd, 4, 0x1cd, "r1cd", None),
            (&power, 4, 0x34_3404_01e0, "cpu/mem-loads/", Some(THRESHOLD)),
            (&power, 4, 0x1cd, "r1cd", None),
        ] {
            let expected = latency.map_or(Weighing::Unknown, Weighing::Latency);
            assert_eq!(Weighing::of(&event(kind, config, name), machine), expected, "{name}");
        }
        let mut precise = event(0, 0, "cycles:p");
        precise.attr.set_precise_ip(1);
        assert_eq!(Weighing::of(&precise, &amd), Weighing::Latency(MISS));
        assert_eq!(Weighing::of(&precise, &intel), Weighing::Unknown);
    }

    #[test]
    fn promises_come_first_and_no_weight_is_none() {
        let intel = machine("x86_64", "GenuineIntel,6,85,4");
        let mut event = event(4, 0x1cd, "loads");
        for (promise, expected) in [
            ("none", Weighing::Absent),
            ("miss-latency-cycles", Weighing::Latency(MISS)),
            ("something-new", Weighing::Latency(LOAD)),
        ] {
            event.notes = vec![format!("source=pebs;weight={promise}")];
            assert_eq!(Weighing::of(&event, &intel), expected);
        }
        event.attr.sample_type = SampleType::IP;
        assert_eq!(Weighing::of(&event, &intel), Weighing::Absent);
        event.attr.sample_type = SampleType::RAW;
        event.notes = vec!["source=ibs;weight=none".to_owned()];
        for (name, expected) in
            [("ibs_op//", Weighing::Latency(MISS)), ("ibs_fetch//", Weighing::Absent)]
        {
            event.name = Some(name.to_owned());
            assert_eq!(Weighing::of(&event, &intel), expected);
        }
    }
}
