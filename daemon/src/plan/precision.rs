//! How exact an event's IP can be had, and which intervals that takes.

use super::opening::{Opening, Precision};
use crate::facts::Pmu;
use crate::promises::{AddressPromise, IpPromise, RegistersPromise, Source, WeightPromise};
use crate::{Refusal, Request};

/// Least interval at `precise_ip` 3 since Sapphire Rapids and Alder Lake
/// (glc_limit_period(), trap 6).
const LEAST_DISTRIBUTED: u64 = 128;

/// Sets the precision of an event whose table knows this much of it.
pub(super) fn fill(
    opening: &mut Opening,
    known: u8,
    request: &Request,
    pmu: &Pmu,
) -> Result<(), Refusal> {
    if known == 0 {
        return check_interval(opening);
    }
    let offered = pmu.description.as_ref().and_then(|pmu| pmu.caps.get("max_precise"));
    let offered = offered.and_then(|text| text.trim().parse::<u8>().ok());
    let mut wanted = offered.map_or(known, |most| known.min(most));
    if wanted == 0 {
        if !request.allow_skid {
            return Err(Refusal::NotPrecise {
                event: request.event.0.clone(),
                pmu: pmu.name.clone(),
            });
        }
        skid(opening);
    }
    if wanted == 3 && opening.interval < LEAST_DISTRIBUTED && limits_distribution(opening) {
        wanted = 2;
    }
    let least = if request.allow_skid { 0 } else { wanted.min(1) };
    opening.precision = Precision { wanted, least };
    check_interval(opening)
}

/// Evenly spread samples (precise_ip 3) of these cores come from one general
/// counter: several such events would take turns on it.
pub(super) fn share_distribution(openings: &mut [Opening], notes: &mut Vec<String>) {
    let spread = |opening: &Opening| opening.precision.wanted == 3 && limits_distribution(opening);
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

/// The event as a plain counter gives it.
fn skid(opening: &mut Opening) {
    opening.promises.source = Source::Counter;
    opening.promises.ip = IpPromise::Skid;
    opening.promises.registers = RegistersPromise::AtInterrupt;
    opening.promises.address = AddressPromise::None;
    opening.promises.weight = WeightPromise::None;
    opening.fields = record::SampleType::empty();
}

fn family(opening: &Opening) -> &'static str {
    opening.uarch.map_or("", |uarch| uarch.0)
}

/// Cores whose limit_period is glc_limit_period() or lnc's.
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
    ];
    cores.iter().any(|core| family(opening).starts_with(core))
}

/// Refuses what limit_period() would raise, as the kernel does (trap 6).
fn check_interval(opening: &Opening) -> Result<(), Refusal> {
    let is = |cores: &[&str]| cores.iter().any(|core| family(opening).starts_with(core));
    let counts_instructions = opening.words[0] & 0xffff == 0x1c0;
    let least = if is(&["haswell", "broadwell"]) && counts_instructions {
        128
    } else if is(&["nehalem", "westmere", "haswell"]) {
        32
    } else {
        1
    };
    if opening.interval < least {
        return Err(Refusal::IntervalTooShort {
            event: opening.event.clone(),
            interval: opening.interval,
            least,
        });
    }
    Ok(())
}
