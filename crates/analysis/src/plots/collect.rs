//! Samples by cache set, and by latency, for plots.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::collect::collector::{Collector, NewEvent};
use crate::collect::sampled::CountedSample;
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use crate::query::view::KnownCaches;
use perfdata::DataSrc;
use rustc_hash::FxHashMap;

/// Sets that are told apart: more than any first cache has.
const MOST_SETS: u64 = 1 << 16;
/// Data sources times powers of two that are kept: real recordings have
/// hundreds.
const MOST_KINDS: usize = 1 << 16;

/// What is counted for the plots of all events, by the number that rows are
/// counted under.
#[derive(Debug, Default)]
pub(crate) struct PlotCounts {
    caches: KnownCaches,
    events: FxHashMap<usize, EventPlotCounts>,
}

#[derive(Clone, Debug)]
pub(crate) struct EventPlotCounts {
    /// Bytes of a line.
    pub(crate) line: u64,
    /// Whose word the number of sets is.
    pub(crate) origin: SetOrigin,
    pub(crate) sets: Vec<Sum>,
    /// By the power of two that a latency is not below, and what served it.
    pub(crate) latencies: FxHashMap<LatencyKind, Sum>,
}

/// Accesses of about one latency that were served alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LatencyKind {
    /// The latency is 2^power or more, and less than twice that.
    pub(crate) power: u32,
    /// None: not recorded, or there are too many to be told apart.
    pub(crate) source: Option<DataSrc>,
}

/// Who says how many sets the first cache has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOrigin {
    /// The recording: its samples were made by a model of this cache.
    Model,
    /// The machine that reads the recording.
    Machine,
    /// Nobody.
    Assumed,
}

#[derive(Clone, Copy, Debug)]
struct PlottedSets {
    sets: u64,
    line: u64,
    origin: SetOrigin,
}

/// Sets of the first cache when nothing says: of 32 KiB and 8 ways, as of 48 KiB
/// and 12.
const USUAL_SETS: u64 = 64;

impl PlotCounts {
    pub(crate) fn new(caches: KnownCaches) -> PlotCounts {
        PlotCounts { caches, events: FxHashMap::default() }
    }

    fn judge(&mut self, event: usize, by: PlottedSets) {
        let sets = usize::try_from(by.sets.clamp(1, MOST_SETS)).unwrap_or(1);
        self.events.entry(event).or_insert_with(|| EventPlotCounts {
            line: by.line.max(1),
            origin: by.origin,
            sets: vec![Sum::default(); sets],
            latencies: FxHashMap::default(),
        });
    }

    pub(crate) fn of(&self, event: usize) -> Option<&EventPlotCounts> {
        self.events.get(&event)
    }
}

impl Collector for PlotCounts {
    fn needs(&self) -> Needs {
        Needs::ACCESS
    }

    fn learn(&mut self, new: &NewEvent<'_>) {
        // Those of the model that made the samples, else those of a cache that is known.
        let level = MissedLevel::L1d;
        let modelled = new.model().and_then(|model| CacheShape::in_model(model, level));
        let (sets, origin) = match (modelled, self.caches.shape(level, None)) {
            (Some(shape), _) => (shape.sets(), SetOrigin::Model),
            (None, Some(shape)) => (shape.sets(), SetOrigin::Machine),
            (None, None) => (USUAL_SETS, SetOrigin::Assumed),
        };
        self.judge(new.event.leader, PlottedSets { sets, line: new.line, origin });
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, _: &mut Lookup) -> Result<(), Error> {
        if let Some(counts) = self.events.get_mut(&sample.event) {
            if let Ok(address) = sample.address() {
                counts.add_address(address, sample.sum);
            }
            if let Some(cycles) = sample.latency {
                counts.add_latency(cycles, sample.words.data_src, sample.sum);
            }
        }
        Ok(())
    }
}

impl EventPlotCounts {
    fn add_address(&mut self, address: u64, one: Sum) {
        let set = address / self.line % self.sets.len() as u64;
        if let Some(set) = usize::try_from(set).ok().and_then(|set| self.sets.get_mut(set)) {
            set.join(one);
        }
    }

    fn add_latency(&mut self, cycles: u64, source: Option<DataSrc>, one: Sum) {
        let kind = LatencyKind { power: cycles.checked_ilog2().unwrap_or(0), source };
        let is_kept = self.latencies.len() < MOST_KINDS || self.latencies.contains_key(&kind);
        let kind = if is_kept { kind } else { LatencyKind { source: None, ..kind } };
        self.latencies.entry(kind).or_default().join(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_latencies_find_their_bars() {
        let mut counts = PlotCounts::default();
        counts.judge(3, PlottedSets { sets: 64, line: 64, origin: SetOrigin::Model });
        let event = counts.events.get_mut(&3).unwrap();
        let one = Sum::of(1, 10);
        for address in [0, 63, 64, 4096, 4096 + 64 * 63] {
            event.add_address(address, one);
        }
        for cycles in [1, 4, 7, 8, u64::MAX] {
            event.add_latency(cycles, None, one);
        }
        let full = |set: usize| event.sets[set].count;
        assert_eq!([full(0), full(1), full(2), full(63)], [3, 1, 0, 1]);
        let of = |power| event.latencies[&LatencyKind { power, source: None }].period;
        assert_eq!([of(0), of(2), of(3), of(63)], [10, 20, 10, 10]);
        assert!(counts.of(0).is_none());
    }

    #[test]
    fn made_up_sources_take_no_more_than_their_room() {
        let mut counts = PlotCounts::default();
        counts.judge(0, PlottedSets { sets: 0, line: 0, origin: SetOrigin::Assumed });
        let event = counts.events.get_mut(&0).unwrap();
        for word in 0..2 * MOST_KINDS as u64 {
            event.add_latency(5, Some(DataSrc(word)), Sum::of(1, 1));
        }
        event.add_address(u64::MAX, Sum::of(1, 1));
        assert_eq!(event.latencies.len(), MOST_KINDS + 1);
        assert_eq!(event.latencies.values().map(|sum| sum.count).sum::<u64>(), 2 * 65_536);
        assert_eq!(event.sets[0].count, 1);
    }
}
