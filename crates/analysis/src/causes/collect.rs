//! Misses, and accesses that something stalls, of a recording whose causes are asked for.

use crate::cache_shape::MissedLevel;
use crate::causes::miss_streams::MissStreams;
use crate::causes::split_offsets::SplitOffsets;
use crate::causes::stall::Stall;
use crate::causes::units::{MOST_UNITS, UnitCount, Units};
use crate::collect::collector::{Collector, NewEvent};
use crate::collect::sampled::CountedSample;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use crate::query::view::KnownCaches;

#[derive(Debug)]
pub(crate) struct CountedMisses {
    caches: KnownCaches,
    pub(crate) streams: MissStreams,
    pub(crate) stalled: Units<Stall, StalledUnit>,
}

/// Stalled accesses of an instruction to an object.
#[derive(Clone, Debug)]
pub(crate) struct StalledUnit {
    pub(crate) count: UnitCount,
    pub(crate) offsets: SplitOffsets,
}

impl CountedMisses {
    pub(crate) fn new(caches: KnownCaches) -> CountedMisses {
        let (streams, stalled) = (MissStreams::default(), Units::default());
        CountedMisses { caches, streams, stalled }
    }

    /// What there was no room for.
    pub(crate) fn notes(&self) -> Vec<String> {
        let left_out = self.stalled.left_out;
        let of_stalled = (left_out > 0).then(|| {
            format!(
                "{left_out} samples of hindered accesses are in no row: of {MOST_UNITS} \
                 instructions with their objects there is room; -f counts fewer"
            )
        });
        self.streams.note().into_iter().chain(of_stalled).collect()
    }
}

impl Collector for CountedMisses {
    fn needs(&self) -> Needs {
        Needs::ACCESS | Needs::CLASS | Needs::STACKS | Needs::HEAP
    }

    fn learn(&mut self, new: &NewEvent<'_>) {
        if let Some(level) = MissedLevel::of_event(&new.event.name)
            && let Some(shape) = self.caches.shape(level, new.model())
        {
            self.streams.judge(new.event, level, shape);
        }
        if let Some(stall) = Stall::of_event(&new.event.name) {
            self.stalled.judge(new.event.leader, stall);
        }
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        self.streams.count(sample, lookup);
        let found = self.stalled.find(sample, lookup, |count, _, _, _| StalledUnit {
            count,
            offsets: SplitOffsets::default(),
        });
        if let Some(found) = found {
            let unit = &mut self.stalled.all[found.number];
            unit.count.add(sample);
            unit.offsets.add(found.address);
        }
        Ok(())
    }
}
