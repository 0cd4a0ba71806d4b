//! Groups of events that are on counters together, or not at all.

use std::sync::Arc;

use perfdata::{Attr, Cpu};

use crate::{EventSpec, Plan};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedEvent {
    pub name: String,
    /// As `-t` takes it.
    pub spec: EventSpec,
    /// What the kernel is asked for, as one that samples would be.
    pub attr: Attr,
    /// CPUs that have it; None: all.
    pub cpus: Option<Vec<Cpu>>,
    /// Which event of which plan it is, to explain what fails; None: it is
    /// emulated.
    pub planned: Option<(Arc<Plan>, usize)>,
}

impl CountedEvent {
    pub(super) fn is_same(&self, other: &CountedEvent) -> bool {
        let code = |attr: &Attr| {
            [attr.config, attr.config1, attr.config2, attr.config3, u64::from(attr.bp_type)]
        };
        match self.planned.is_some() && other.planned.is_some() {
            true => {
                self.attr.kind == other.attr.kind
                    && code(&self.attr) == code(&other.attr)
                    && self.attr.flags == other.attr.flags
            }
            false => self.spec == other.spec,
        }
    }

    /// Whether a fixed counter of Intel's takes it, or none at all is needed.
    pub(super) fn is_fixed(&self) -> bool {
        const INSTRUCTIONS: u64 = 0xc0;
        const CYCLES: u64 = 0x3c;
        let is_topdown = self.name.starts_with("topdown-") || self.name == "slots";
        is_topdown || matches!(self.attr.config, INSTRUCTIONS | CYCLES) && self.attr.config1 == 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingGroup {
    /// Who counts: `software`, `cpu`, `cpu_core`, `emulated`.
    pub pmu: String,
    /// The leader first; each once.
    pub events: Vec<CountedEvent>,
}

impl CountingGroup {
    /// Places of these events in the group, once they are in it.
    pub(super) fn add(&mut self, events: &[CountedEvent]) -> Vec<usize> {
        let mut places = Vec::new();
        for event in events {
            let place = self.events.iter().position(|have| have.is_same(event));
            places.push(place.unwrap_or_else(|| {
                self.events.push(event.clone());
                self.events.len() - 1
            }));
        }
        places
    }

    /// Counters that any event can have which the group would take with these.
    pub(super) fn counters_with(&self, events: &[CountedEvent], has_fixed: bool) -> usize {
        let mut with = self.clone();
        with.add(events);
        with.events.iter().filter(|event| !(has_fixed && event.is_fixed())).count()
    }
}
