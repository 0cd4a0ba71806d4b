//! Misses, and accesses that something stalls, of a recording whose causes are asked for.

use crate::cache_shape::MissedLevel;
use crate::causes::miss_streams::MissStreams;
use crate::causes::stall::Stall;
use crate::causes::stalled_accesses::StalledAccesses;
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
    pub(crate) stalled: StalledAccesses,
}

impl CountedMisses {
    pub(crate) fn new(caches: KnownCaches) -> CountedMisses {
        let (streams, stalled) = (MissStreams::default(), StalledAccesses::default());
        CountedMisses { caches, streams, stalled }
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
            self.streams.judge(new.event.leader, level, shape);
        }
        if let Some(stall) = Stall::of_event(&new.event.name) {
            self.stalled.judge(new.event.leader, stall);
        }
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        self.streams.count(sample, lookup);
        self.stalled.count(sample, lookup);
        Ok(())
    }
}
