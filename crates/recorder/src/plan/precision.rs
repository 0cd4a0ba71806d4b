//! How exact an event's IP can be had, and which intervals that takes.

use perfdata::sample_filter::Condition;

use super::event_draft::{EventDraft, Precision};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::machine::facts::Pmu;
use crate::{Refusal, Request};

/// Least interval at `precise_ip` 3 since Sapphire Rapids and Alder Lake
/// (glc_limit_period(), trap 6).
const MIN_DISTRIBUTED_INTERVAL: u64 = 128;

/// Least `precise_ip` at which IP is the instruction's own, not the next's.
pub(super) const MIN_EXACT_LEVEL: u8 = 2;

pub(super) fn fill(
    draft: &mut EventDraft,
    known: u8,
    request: &Request,
    pmu: &Pmu,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if known == 0 {
        return fit_interval(draft, notes);
    }
    let wanted = pmu.most_precise().map_or(known, |most| known.min(most));
    let by_instruction = draft.filter.asks(|condition| matches!(condition, Condition::Class(_)));
    if by_instruction && wanted < MIN_EXACT_LEVEL {
        let (event, pmu) = (request.event.to_string(), pmu.name.clone());
        return Err(Refusal::NeedsExactIp { event, pmu });
    }
    if wanted == 0 {
        if !request.allow_skid {
            return Err(Refusal::NotPrecise {
                event: request.event.to_string(),
                pmu: pmu.name.clone(),
            });
        }
        skid(draft);
    } else if wanted < MIN_EXACT_LEVEL {
        draft.promises.ip = IpPromise::AfterCausing;
    }
    let least = match request.allow_skid {
        _ if by_instruction => MIN_EXACT_LEVEL,
        true => 0,
        false => wanted.min(1),
    };
    draft.precision = Precision { wanted, least };
    fit_interval(draft, notes)
}

/// Evenly spread samples (precise_ip 3) of these cores come from one general
/// counter: several such events would take turns on it.
pub(super) fn share_distribution(drafts: &mut [EventDraft], notes: &mut Vec<String>) {
    let spread = |draft: &EventDraft| draft.precision.wanted == 3 && takes_turns(draft);
    let crowded: Vec<String> =
        drafts.iter().filter(|draft| spread(draft)).map(|draft| draft.pmu.clone()).collect();
    for draft in drafts.iter_mut().filter(|draft| spread(draft)) {
        if crowded.iter().filter(|pmu| **pmu == draft.pmu).count() > 1 {
            draft.precision.wanted = 2;
            notes.push(format!(
                "{}: precise_ip 2, as at 3 the events would take turns on one counter",
                draft.event
            ));
        }
    }
}

fn skid(draft: &mut EventDraft) {
    draft.promises.source = SampleSource::Counter;
    draft.promises.ip = IpPromise::Skid;
    draft.promises.registers = RegistersPromise::AtInterrupt;
    draft.promises.address = AddressPromise::None;
    draft.promises.weight = WeightPromise::None;
    draft.fields = perfdata::SampleType::empty();
}

fn family(draft: &EventDraft) -> &'static str {
    draft.uarch.map_or("", |uarch| uarch.0)
}

/// Cores whose limit_period is glc_limit_period().
fn limits_distribution(draft: &EventDraft) -> bool {
    let cores = [
        "sapphirerapids",
        "emeraldrapids",
        "graniterapids",
        "alderlake",
        "meteorlake",
        "arrowlake",
        "lunarlake",
        "pantherlake",
        "novalake",
        "sierraforest",
        "grandridge",
        "clearwaterforest",
    ];
    cores.iter().any(|core| family(draft).starts_with(core))
}

/// Cores that have one or two counters for events at `precise_ip` 3: those,
/// and Tremont (tnt_get_event_constraints()).
fn takes_turns(draft: &EventDraft) -> bool {
    limits_distribution(draft) || matches!(family(draft), "elkhartlake" | "snowridgex")
}

/// Refuses an interval that limit_period() would raise, as the kernel does
/// (trap 6); where less precision takes it, that is used.
pub(super) fn fit_interval(draft: &mut EventDraft, notes: &mut Vec<String>) -> Result<(), Refusal> {
    let interval = draft.interval;
    let too_short =
        |least| Refusal::IntervalTooShort { event: draft.event.clone(), interval, least };
    let is = |cores: &[&str]| cores.iter().any(|core| family(draft).starts_with(core));
    let counts_instructions = draft.words[0] & 0xffff == 0x1c0;
    let least = if is(&["haswell", "broadwell"]) && counts_instructions {
        128
    } else if is(&["nehalem", "haswell"]) {
        32
    } else {
        1
    };
    if interval < least {
        return Err(too_short(least));
    }
    let Precision { wanted, least } = draft.precision;
    if wanted == 3 && interval < MIN_DISTRIBUTED_INTERVAL && limits_distribution(draft) {
        if least == 3 {
            return Err(too_short(MIN_DISTRIBUTED_INTERVAL));
        }
        draft.precision.wanted = 2;
        notes.push(format!(
            "{}: precise_ip 2, as 3 (samples spread evenly) takes intervals of {MIN_DISTRIBUTED_INTERVAL} \
             or more",
            draft.event
        ));
    }
    Ok(())
}
