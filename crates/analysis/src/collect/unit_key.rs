//! What accesses are told apart by: an instruction and an object.

use crate::collect::row_count::Sum;
use crate::collect::sampled::CountedSample;
use crate::name::atom::Lack;
use crate::name::data_holder::DataHolder;
use crate::name::lookup::Lookup;
use symbolizer::{Place, SampledAddress};

/// Instructions with their objects that are kept.
pub(crate) const MOST_UNITS: usize = 1 << 14;

/// An instruction that accesses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitKey {
    pub(crate) event: usize,
    pub(crate) site: Place,
    pub(crate) holder: DataHolder,
}

impl UnitKey {
    /// Of a sample of an event, which has a data address.
    pub(crate) fn of(
        event: usize,
        sample: &mut CountedSample<'_>,
        lookup: &mut Lookup,
    ) -> Result<UnitKey, Lack> {
        let site = sample.place(lookup)?;
        sample.address()?;
        Ok(UnitKey { event, site, holder: sample.holder(lookup) })
    }
}

/// What was sampled of a unit, whatever it is judged by.
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
    /// Nothing yet, of a unit that is met at this sample.
    pub(crate) fn new(key: UnitKey, sample: &CountedSample<'_>) -> UnitCount {
        UnitCount { key, witness: sample.held.at(), sum: Sum::default(), cycles: 0 }
    }

    /// Counts a sample of it.
    pub(crate) fn add(&mut self, sample: &CountedSample<'_>, one: Sum) {
        self.sum.join(one);
        let cycles = sample.latency.unwrap_or(0).saturating_mul(one.period);
        self.cycles = self.cycles.saturating_add(cycles);
    }

    /// Its cycles; None: no sample says.
    pub(crate) fn known_cycles(&self) -> Option<u64> {
        Some(self.cycles).filter(|cycles| *cycles > 0)
    }
}
