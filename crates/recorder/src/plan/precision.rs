//! How exact an event's IP can be had, and which intervals that takes.

use perfdata::sample_filter::Condition;

use super::opening::{Opening, Precision};
use crate::catalogue::promises::{
    AddressPromise, IpPromise, RegistersPromise, SampleSource, WeightPromise,
};
use crate::machine::facts::Pmu;
use crate::{Refusal, Request};

/// Least interval at `precise_ip` 3 since Sapphire Rapids and Alder Lake
/// (glc_limit_period(), trap 6).
const LEAST_DISTRIBUTED: u64 = 128;

/// Least `precise_ip` at which IP is the instruction's own, not the next's.
pub(super) const LEAST_EXACT: u8 = 2;

pub(super) fn fill(
    opening: &mut Opening,
    known: u8,
    request: &Request,
    pmu: &Pmu,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if known == 0 {
        return fit_interval(opening, notes);
    }
    let wanted = pmu.most_precise().map_or(known, |most| known.min(most));
    let by_instruction = opening.filter.asks(|condition| matches!(condition, Condition::Class(_)));
    if by_instruction && wanted < LEAST_EXACT {
        let (event, pmu) = (request.event.0.clone(), pmu.name.clone());
        return Err(Refusal::NeedsExactIp { event, pmu });
    }
    if wanted == 0 {
        if !request.allow_skid {
            return Err(Refusal::NotPrecise {
                event: request.event.0.clone(),
                pmu: pmu.name.clone(),
            });
        }
        skid(opening);
    } else if wanted < LEAST_EXACT {
        opening.promises.ip = IpPromise::AfterCausing;
    }
    let least = match request.allow_skid {
        _ if by_instruction => LEAST_EXACT,
        true => 0,
        false => wanted.min(1),
    };
    opening.precision = Precision { wanted, least };
    fit_interval(opening, notes)
}

/// Evenly spread samples (precise_ip 3) of these cores come from one general
/// counter: several such events would take turns on it.
pub(super) fn share_distribution(openings: &mut [Opening], notes: &mut Vec<String>) {
    let spread = |opening: &Opening| opening.precision.wanted == 3 && takes_turns(opening);
    let crowded: Vec<String> = openings
        .iter()
        .filter(|opening| spread(opening))
        .map(|opening| opening.pmu.clone())
        .collect();
    for opening in openings.iter_mut().filter(|opening| spread(opening)) {
        if crowded.iter().filter(|pmu| **pmu == opening.pmu).count() > 1 {
            opening.precision.wanted = 2;
            notes.push(format!(
                "{}: precise_ip 2, as at 3 the events would take turns on one counter",
                opening.event
            ));
        }
    }
}

fn skid(opening: &mut Opening) {
    opening.promises.source = SampleSource::Counter;
    opening.promises.ip = IpPromise::Skid;
    opening.promises.registers = RegistersPromise::AtInterrupt;
    opening.promises.address = AddressPromise::None;
    opening.promises.weight = WeightPromise::None;
    opening.fields = perfdata::SampleType::empty();
}

fn family(opening: &Opening) -> &'static str {
    opening.uarch.map_or("", |uarch| uarch.0)
}

/// Cores whose limit_period is glc_limit_period().
fn limits_distribution(opening: &Opening) -> bool {
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
    cores.iter().any(|core| family(opening).starts_with(core))
}

/// Cores that have one or two counters for events at `precise_ip` 3: those,
/// and Tremont (tnt_get_event_constraints()).
fn takes_turns(opening: &Opening) -> bool {
    limits_distribution(opening) || matches!(family(opening), "elkhartlake" | "snowridgex")
}

/// Refuses an interval that limit_period() would raise, as the kernel does
/// (trap 6); where less precision takes it, that is used.
pub(super) fn fit_interval(opening: &mut Opening, notes: &mut Vec<String>) -> Result<(), Refusal> {
    let interval = opening.interval;
    let too_short =
        |least| Refusal::IntervalTooShort { event: opening.event.clone(), interval, least };
    let is = |cores: &[&str]| cores.iter().any(|core| family(opening).starts_with(core));
    let counts_instructions = opening.words[0] & 0xffff == 0x1c0;
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
    let Precision { wanted, least } = opening.precision;
    if wanted == 3 && interval < LEAST_DISTRIBUTED && limits_distribution(opening) {
        if least == 3 {
            return Err(too_short(LEAST_DISTRIBUTED));
        }
        opening.precision.wanted = 2;
        notes.push(format!(
            "{}: precise_ip 2, as 3 (samples spread evenly) takes intervals of {LEAST_DISTRIBUTED} \
             or more",
            opening.event
        ));
    }
    Ok(())
}
