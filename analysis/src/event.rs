//! One sampled event while its samples are counted.

use crate::fields::{Fields, register_name};
use crate::query::{Query, Weighting};
use crate::registers::Histogram;
use crate::report::{Sampling, Unit};
use crate::tally::Sum;
use record::stream::EventDescription;
use record::{Arch, EventType, SampleType};

/// Software event 9 counts nothing; recorders open it for side records.
const DUMMY: u64 = 9;
/// Software events 0 and 1: the CPU's clock and the task's.
const CLOCKS: [u64; 2] = [0, 1];

/// How to read an event's samples, and their sums.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: String,
    /// Whether the query asks for this event.
    pub(crate) selected: bool,
    pub(crate) fields: Fields,
    pub(crate) sampling: Sampling,
    pub(crate) unit: Unit,
    pub(crate) weighting: Weighting,
    /// Every sample's period, where samples have none of their own.
    pub(crate) fixed_period: Option<u64>,
    pub(crate) histogram: Option<Histogram>,
    pub(crate) samples: u64,
    pub(crate) malformed: u64,
    pub(crate) filtered: u64,
    pub(crate) at_site: u64,
    pub(crate) sum: Sum,
    /// The event only carries side records.
    pub(crate) is_dummy: bool,
}

impl Event {
    pub(crate) fn new(
        description: &EventDescription,
        fields: Fields,
        query: &Query,
        arch: Arch,
    ) -> Event {
        let attr = &description.attr;
        let name = description
            .name
            .clone()
            .unwrap_or_else(|| format!("event of type {} config {:#x}", attr.kind.0, attr.config));
        let has_period = fields.has(SampleType::PERIOD);
        let (sampling, fixed) = match attr.sampling() {
            record::attr::Sampling::Period(period) => (Sampling::Period(period), period),
            record::attr::Sampling::Frequency(rate) => (Sampling::Frequency(rate), 0),
        };
        let by_nature = match sampling {
            Sampling::Frequency(_) if has_period => Weighting::Period,
            _ => Weighting::Count,
        };
        let histogram = query.registers.as_ref().map(|registers| {
            let names = fields.registers().iter().map(|bit| register_name(arch, *bit));
            Histogram::new(names.chain(["addr".to_owned()]), registers.distinct_limit)
        });
        let is_software = attr.kind == EventType::SOFTWARE;
        let is_clock = is_software && CLOCKS.contains(&attr.config);
        Event {
            unit: if is_clock { Unit::Nanoseconds } else { Unit::Events },
            selected: query.event.as_ref().is_none_or(|glob| glob.matches(&name)),
            is_dummy: is_software && attr.config == DUMMY,
            weighting: query.weighting.unwrap_or(by_nature),
            fixed_period: (!has_period).then_some(fixed),
            name,
            fields,
            sampling,
            histogram,
            samples: 0,
            malformed: 0,
            filtered: 0,
            at_site: 0,
            sum: Sum::default(),
        }
    }
}
