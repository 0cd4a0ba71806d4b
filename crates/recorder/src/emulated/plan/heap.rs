//! Events of the heap, beside those that were asked for: what is allocated and given back, and
//! what the program maps itself.

use emulator::{EmulatedEvent, EmulationSettings};
use perfdata::SampleType;

use super::{Model, ModelledEvent, event_attr, planned};
use crate::plan::callers;
use crate::request::{CallGraph, StackBytes};
use crate::{PlannedEvent, Refusal, Request};

const EVENTS: [(EmulatedEvent, &str); 3] = [
    (EmulatedEvent::Allocation, "allocation"),
    (EmulatedEvent::Release, "release"),
    (EmulatedEvent::Mapping, "mapping"),
];

pub(super) fn add(
    events: &mut Vec<PlannedEvent>,
    modelled: &mut Vec<ModelledEvent>,
    model: &Model,
    request: &Request,
) -> Result<(), Refusal> {
    let refused = |why: String| Refusal::Heap { why };
    if model.burst.is_some() {
        return Err(refused(
            "blocks that come and go between bursts are not seen: leave --burst out".to_owned(),
        ));
    }
    let most = EmulationSettings::MAX_EVENTS - EVENTS.len();
    if events.len() > most {
        let given = events.len();
        return Err(refused(format!("{given} events are asked for: use up to {most}")));
    }
    for (counts, name) in EVENTS {
        let mut attr = event_attr(request, counts, 1);
        attr.sample_type |= SampleType::RAW;
        if counts != EmulatedEvent::Release {
            let how = request.call_graph.unwrap_or(CallGraph::Stack(StackBytes::DEFAULT));
            let registers = attr.sample_regs_intr;
            callers::add_to(&mut attr, how, registers);
        }
        events.push(planned(name, attr, counts));
        modelled.push(ModelledEvent { counts, seed: None, adapted: false });
    }
    Ok(())
}
