//! What is counted of accesses, by instruction and object.

use crate::code::access_shape::AccessShape;
use crate::collect::access_shapes::shape_at;
use crate::collect::sampled::CountedSample;
use crate::collect::sum::Sum;
use crate::name::data_holder::DataHolder;
use crate::name::lookup::Lookup;
use rustc_hash::FxHashMap;
use symbolizer::{Place, SampledAddress, Symbolizer};

/// Instructions with their objects that are kept.
pub(crate) const MOST_UNITS: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitKey {
    pub(crate) event: usize,
    pub(crate) site: Place,
    pub(crate) holder: DataHolder,
}

#[derive(Clone, Debug)]
pub(crate) struct UnitCount {
    pub(crate) key: UnitKey,
    /// A sample of it: whose memory holds the code.
    pub(crate) witness: SampledAddress,
    pub(crate) sum: Sum,
    /// Cycles that the accesses took which samples stand for, where they say so.
    pub(crate) cycles: u64,
}

impl UnitCount {
    pub(crate) fn new(key: UnitKey, sample: &CountedSample<'_>) -> UnitCount {
        UnitCount { key, witness: sample.held.at(), sum: Sum::default(), cycles: 0 }
    }

    pub(crate) fn add(&mut self, sample: &CountedSample<'_>) {
        self.sum.join(sample.sum);
        let cycles = sample.latency.unwrap_or(0).saturating_mul(sample.sum.period);
        self.cycles = self.cycles.saturating_add(cycles);
    }

    /// What the instruction accesses, where its code can be had.
    pub(crate) fn access(&self, symbolizer: &mut Symbolizer) -> Option<AccessShape> {
        shape_at(self.key.site, self.witness, symbolizer)
    }

    /// Its cycles; None: no sample says.
    pub(crate) fn known_cycles(&self) -> Option<u64> {
        Some(self.cycles).filter(|cycles| *cycles > 0)
    }
}

/// The units of all events that are judged, each by a `J`.
#[derive(Debug)]
pub(crate) struct Units<J, U> {
    judged: FxHashMap<usize, J>,
    by_key: FxHashMap<UnitKey, usize>,
    pub(crate) all: Vec<U>,
    /// Samples that there was no room for.
    pub(crate) left_out: u64,
    without_address: FxHashMap<usize, u64>,
}

/// Where the unit of a sample is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundUnit<J> {
    pub(crate) number: usize,
    pub(crate) judge: J,
    pub(crate) address: u64,
}

impl<J, U> Default for Units<J, U> {
    fn default() -> Units<J, U> {
        let (judged, by_key) = (FxHashMap::default(), FxHashMap::default());
        let without_address = FxHashMap::default();
        Units { judged, by_key, all: Vec::new(), left_out: 0, without_address }
    }
}

impl<J: Copy, U> Units<J, U> {
    /// Samples of this event are counted. Others are not looked at.
    pub(crate) fn judge(&mut self, event: usize, judge: J) {
        self.judged.insert(event, judge);
    }

    pub(crate) fn judged(&self, event: usize) -> Option<J> {
        self.judged.get(&event).copied()
    }

    /// Samples of an event that have no data address, or no place.
    pub(crate) fn without_address(&self, event: usize) -> u64 {
        self.without_address.get(&event).copied().unwrap_or(0)
    }

    /// The unit of a sample, which `begin` makes of the first one. None: it is in none.
    pub(crate) fn find(
        &mut self,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
        begin: impl FnOnce(UnitCount, FoundUnit<J>, &CountedSample<'_>, &mut Lookup) -> U,
    ) -> Option<FoundUnit<J>> {
        let event = sample.event;
        let judge = self.judged(event)?;
        let (Ok(site), Ok(address)) = (sample.place(lookup), sample.address()) else {
            *self.without_address.entry(event).or_default() += 1;
            return None;
        };
        let key = UnitKey { event, site, holder: sample.holder(lookup) };
        if let Some(number) = self.by_key.get(&key) {
            return Some(FoundUnit { number: *number, judge, address });
        }
        if self.all.len() >= MOST_UNITS {
            self.left_out += 1;
            return None;
        }
        let found = FoundUnit { number: self.all.len(), judge, address };
        self.all.push(begin(UnitCount::new(key, sample), found, sample, lookup));
        self.by_key.insert(key, found.number);
        Some(found)
    }
}
