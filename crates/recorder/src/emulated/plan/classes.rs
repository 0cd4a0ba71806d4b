//! Records of misses that tell why they are some.

use emulator::EmulatedEvent;
use perfdata::SampleType;

use super::{Model, ModelledEvent};
use crate::{PlannedEvent, Refusal};

/// Lets the events of misses of a data cache have their class in RAW.
pub(super) fn add_to(
    events: &mut [PlannedEvent],
    modelled: &[ModelledEvent],
    model: &Model,
) -> Result<(), Refusal> {
    let refused = |why: &str| Refusal::EmulatedClasses { why: why.to_owned() };
    if model.prefetch {
        return Err(refused(
            "what prefetchers would bring into a cache of other shape is not known: leave \
             --prefetch out",
        ));
    }
    if model.burst.is_some() {
        return Err(refused("they follow from every access: leave --burst out"));
    }
    let mut told = false;
    for (event, of) in events.iter_mut().zip(modelled) {
        let Some((name, cache)) = level(of.counts, model) else { continue };
        if !cache {
            return Err(refused(&format!(
                "the modelled machine has no {name}, whose misses {} is about: leave {}=off out",
                event.name,
                name.to_lowercase()
            )));
        }
        event.attr.sample_type |= SampleType::RAW;
        told = true;
    }
    match told {
        true => Ok(()),
        false => Err(refused(
            "no event is about misses of a data cache: use -t l1_cache_miss, l2_cache_miss or \
             l3_cache_miss",
        )),
    }
}

/// The cache whose misses are counted, and whether it is there.
fn level(counts: EmulatedEvent, model: &Model) -> Option<(&'static str, bool)> {
    let geometry = &model.geometry;
    match counts {
        EmulatedEvent::L1DataMiss => Some(("L1D", geometry.l1d.is_some())),
        EmulatedEvent::L2Miss => Some(("L2", geometry.l2.is_some())),
        EmulatedEvent::L3Miss => Some(("L3", geometry.l3.is_some())),
        _ => None,
    }
}
