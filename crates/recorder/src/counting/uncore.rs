//! Counters outside of the cores: of a socket's caches and links.

use std::sync::Arc;

use perfdata::{Attr, AttrFlags};

use super::{CountedEvent, CountingRefusal};
use crate::machine::facts::Facts;
use crate::request::event_spec::RequestedEvent;
use crate::{Plan, Refusal, Request};

/// The event of a PMU that counts for many CPUs at once; `unsampled` is why it
/// has no samples, and all that there is to say of what is of no PMU.
pub(super) fn event(
    request: &Request,
    name: &str,
    plan: &Plan,
    facts: &Facts,
    unsampled: Refusal,
) -> Result<CountedEvent, CountingRefusal> {
    let event = || request.event.to_string();
    let requested = request.event.event().map_err(Refusal::from)?;
    let RequestedEvent::Pmu { pmu, terms, .. } = requested else {
        return Err(unsampled.into());
    };
    if !request.target.is_of_cpus() {
        return Err(CountingRefusal::OfCpus { event: event(), pmu: pmu.clone() });
    }
    let missing = || Refusal::NoDevice { event: event(), pmu: pmu.clone() };
    let found = facts.pmu(pmu).ok_or_else(missing)?;
    let description = found.description.as_ref().ok_or_else(missing)?;
    let packed = description.pack(terms, |_| None).map_err(|error| Refusal::Terms {
        event: event(),
        pmu: pmu.clone(),
        error: error.to_string(),
    })?;
    let [config, config1, config2, config3, config4] = packed.config.words;
    let attr = Attr {
        kind: found.kind.ok_or_else(missing)?,
        size: Attr::MAX_SIZE,
        config,
        config1,
        config2,
        config3,
        config4,
        // Whose instructions it was is not known there.
        flags: AttrFlags::empty(),
        ..Attr::default()
    };
    let mut plan = plan.clone();
    plan.name = event();
    for planned in &mut plan.events {
        planned.name = event();
        planned.pmu.clone_from(pmu);
        planned.attr = attr.clone();
    }
    Ok(CountedEvent {
        name: name.to_owned(),
        spec: request.event.clone(),
        attr,
        cpus: found.cpus.clone(),
        planned: Some((Arc::new(plan), 0)),
    })
}
