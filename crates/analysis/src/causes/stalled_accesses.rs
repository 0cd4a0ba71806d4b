//! Accesses that something hinders, by instruction and object.

use crate::causes::split_offsets::SplitOffsets;
use crate::causes::stall::Stall;
use crate::causes::unit_key::{MOST_UNITS, UnitCount, UnitKey};
use crate::collect::sampled::CountedSample;
use crate::name::lookup::Lookup;
use rustc_hash::FxHashMap;

#[derive(Clone, Debug)]
pub(crate) struct StalledUnit {
    pub(crate) count: UnitCount,
    pub(crate) offsets: SplitOffsets,
}

#[derive(Debug, Default)]
pub(crate) struct StalledAccesses {
    events: FxHashMap<usize, Stall>,
    by_key: FxHashMap<UnitKey, usize>,
    pub(crate) units: Vec<StalledUnit>,
    /// Samples of units that there was no room for.
    pub(crate) left_out: u64,
    without_address: FxHashMap<usize, u64>,
}

impl StalledAccesses {
    /// Samples of this event are about it. Others are not looked at.
    pub(crate) fn judge(&mut self, event: usize, stall: Stall) {
        self.events.insert(event, stall);
    }

    /// What an event's samples are about; None: something else.
    pub(crate) fn judged(&self, event: usize) -> Option<Stall> {
        self.events.get(&event).copied()
    }

    /// Samples of an event that have no data address, or no place.
    pub(crate) fn without_address(&self, event: usize) -> u64 {
        self.without_address.get(&event).copied().unwrap_or(0)
    }

    pub(crate) fn count(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) {
        let event = sample.event;
        if self.judged(event).is_none() {
            return;
        }
        let (Ok(key), Ok(address)) = (UnitKey::of(sample, lookup), sample.address()) else {
            *self.without_address.entry(event).or_default() += 1;
            return;
        };
        let next = self.units.len();
        if next >= MOST_UNITS && !self.by_key.contains_key(&key) {
            self.left_out += 1;
            return;
        }
        let number = *self.by_key.entry(key).or_insert(next);
        if number == next {
            let count = UnitCount::new(key, sample);
            self.units.push(StalledUnit { count, offsets: SplitOffsets::default() });
        }
        let unit = &mut self.units[number];
        unit.count.add(sample);
        unit.offsets.add(address);
    }

    pub(crate) fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            format!(
                "{} samples of hindered accesses are in no row: of {MOST_UNITS} instructions with \
                 their objects there is room; -f counts fewer",
                self.left_out
            )
        })
    }
}
