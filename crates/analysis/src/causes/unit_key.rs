//! What accesses are told apart by: an instruction and an object.

use crate::code::access_shape::AccessShape;
use crate::collect::access_shapes::shape_at;
use crate::collect::sampled::CountedSample;
use crate::collect::sum::Sum;
use crate::name::data_holder::DataHolder;
use crate::name::key_value::Missing;
use crate::name::lookup::Lookup;
use symbolizer::{Place, SampledAddress};

/// Instructions with their objects that are kept.
pub(crate) const MOST_UNITS: usize = 1 << 14;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitKey {
    pub(crate) event: usize,
    pub(crate) site: Place,
    pub(crate) holder: DataHolder,
}

impl UnitKey {
    pub(crate) fn of(
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> Result<UnitKey, Missing> {
        let site = sample.place(lookup)?;
        sample.address()?;
        Ok(UnitKey { event: sample.event, site, holder: sample.holder(lookup) })
    }
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
    pub(crate) fn access(&self, lookup: &mut Lookup) -> Option<AccessShape> {
        shape_at(self.key.site, self.witness, &mut lookup.places.symbolizer)
    }

    /// Its cycles; None: no sample says.
    pub(crate) fn known_cycles(&self) -> Option<u64> {
        Some(self.cycles).filter(|cycles| *cycles > 0)
    }
}
