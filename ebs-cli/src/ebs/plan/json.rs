//! A plan as JSON.

use perfdata::{AttrFlags, Cpu, SampleType};
use recorder::Refusal;
use recorder::Request;
use recorder::catalogue::promises::{AddressPromise, Promises};
use recorder::machine::facts::{FactsError, listed};
use recorder::plan::{Outline, OutlinedEvent};
use serde::Serialize;

/// `ebs plan --json`.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    /// The kinds of cores, joined by `+`; `unknown` when no table has the
    /// CPU, null for events of the kernel.
    uarch: Option<String>,
    #[serde(rename = "type")]
    kind: String,
    masks: Vec<String>,
    equivalence: String,
    events: Vec<Event>,
    promises: Told,
    filter: Option<String>,
    notes: Vec<String>,
}

/// `{"refused": ..., "nearest": [...]}`.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    refused: String,
    nearest: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Event {
    name: String,
    event: String,
    uarch: Option<&'static str>,
    equivalence: String,
    pmu: String,
    #[serde(rename = "type")]
    kind: u32,
    config: String,
    config1: String,
    config2: String,
    precise_ip: u8,
    least_precise_ip: u8,
    sample_period: u64,
    sample_type: Vec<&'static str>,
    sample_regs_intr: String,
    exclude_user: bool,
    exclude_kernel: bool,
    exclude_hv: bool,
    exclude_host: bool,
    exclude_guest: bool,
    leader: Option<usize>,
    carrier: bool,
    cpus: String,
    promises: Told,
    filter: Option<String>,
}

#[derive(Debug, Serialize)]
struct Told {
    source: String,
    exact_ip: bool,
    ip: String,
    data_address: bool,
    address: String,
    registers: String,
    weight: String,
}

impl Refused {
    pub(super) fn new(refusal: &Refusal, nearest: Vec<String>) -> Refused {
        Refused { refused: refusal.to_string(), nearest }
    }

    pub(super) fn unread(error: &FactsError) -> Refused {
        Refused { refused: error.to_string(), nearest: Vec::new() }
    }
}

impl Plan {
    pub(super) fn new(outline: &Outline, request: &Request) -> Plan {
        let mut notes = outline.notes.clone();
        let filters = || outline.sampled().map(|event| event.planned.filter);
        if outline.filter().is_none() {
            notes.push("the events' filters differ: see each".to_owned());
        }
        let common = outline.filter().or_else(|| filters().find(|filter| !filter.is_all()));
        Plan {
            uarch: uarch(outline),
            kind: outline.name.clone(),
            masks: request.masks.clone(),
            equivalence: outline.equivalence().to_string(),
            events: outline.events.iter().map(Event::new).collect(),
            promises: Told::least(outline),
            filter: common.filter(|filter| !filter.is_all()).map(|filter| filter.to_string()),
            notes,
        }
    }
}

pub(super) fn uarch(outline: &Outline) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for event in outline.sampled() {
        let kernels = ["software", "breakpoint", "tracepoint", "emulated"];
        let name = match event.uarch {
            Some(uarch) => uarch.0,
            None if kernels.contains(&event.planned.pmu.as_str()) => continue,
            None => "unknown",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join("+"))
}

impl Event {
    fn new(outlined: &OutlinedEvent) -> Event {
        let planned = &outlined.planned;
        let attr = &planned.attr;
        let has = |flag| attr.flags.contains(flag);
        Event {
            name: planned.name.clone(),
            event: outlined.event.clone(),
            uarch: outlined.uarch.map(|uarch| uarch.0),
            equivalence: outlined.equivalence.to_string(),
            pmu: planned.pmu.clone(),
            kind: attr.kind.0,
            config: format!("{:#x}", attr.config),
            config1: format!("{:#x}", attr.config1),
            config2: format!("{:#x}", attr.config2),
            precise_ip: attr.precise_ip(),
            least_precise_ip: planned.least_precise,
            sample_period: attr.sample_period,
            sample_type: sample_type(attr.sample_type),
            sample_regs_intr: format!("{:#x}", attr.sample_regs_intr),
            exclude_user: has(AttrFlags::EXCLUDE_USER),
            exclude_kernel: has(AttrFlags::EXCLUDE_KERNEL),
            exclude_hv: has(AttrFlags::EXCLUDE_HV),
            exclude_host: has(AttrFlags::EXCLUDE_HOST),
            exclude_guest: has(AttrFlags::EXCLUDE_GUEST),
            leader: planned.leader,
            carrier: planned.carrier,
            cpus: cpus(planned.cpus.as_deref()),
            promises: Told::new(&planned.promises),
            filter: (!planned.filter.is_all()).then(|| planned.filter.to_string()),
        }
    }
}

impl Told {
    fn new(promises: &Promises) -> Told {
        Told {
            source: promises.source.to_string(),
            exact_ip: promises.ip.is_exact(),
            ip: promises.ip.to_string(),
            data_address: promises.address != AddressPromise::None,
            address: promises.address.to_string(),
            registers: promises.registers.to_string(),
            weight: promises.weight.to_string(),
        }
    }

    /// What all of the events keep: of words that differ, each.
    fn least(outline: &Outline) -> Told {
        let events: Vec<_> =
            outline.sampled().map(|event| Told::new(&event.planned.promises)).collect();
        let all = |word: fn(&Told) -> &String| {
            let mut words: Vec<&str> = Vec::new();
            for event in &events {
                if !words.contains(&word(event).as_str()) {
                    words.push(word(event));
                }
            }
            words.join("|")
        };
        Told {
            source: all(|told| &told.source),
            exact_ip: events.iter().all(|told| told.exact_ip),
            ip: all(|told| &told.ip),
            data_address: events.iter().all(|told| told.data_address),
            address: all(|told| &told.address),
            registers: all(|told| &told.registers),
            weight: all(|told| &told.weight),
        }
    }
}

pub(super) fn sample_type(fields: SampleType) -> Vec<&'static str> {
    fields.iter_names().map(|(name, _)| name).collect()
}

/// CPUs as the kernel lists them; `all` for no list.
pub(super) fn cpus(cpus: Option<&[Cpu]>) -> String {
    cpus.map_or_else(|| "all".to_owned(), listed)
}
