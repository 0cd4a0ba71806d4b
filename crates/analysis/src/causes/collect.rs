//! Misses, and accesses that something stalls, of a recording whose causes are asked for.

use crate::cache_shape::MissedLevel;
use crate::causes::hindrance::Hindrance;
use crate::causes::miss_streams::MissStreams;
use crate::causes::stalled_accesses::HinderedAccesses;
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
    pub(crate) hindered: HinderedAccesses,
}

impl CountedMisses {
    pub(crate) fn new(caches: KnownCaches) -> CountedMisses {
        let (streams, hindered) = (MissStreams::default(), HinderedAccesses::default());
        CountedMisses { caches, streams, hindered }
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
        if let Some(hindrance) = Hindrance::of_event(&new.event.name) {
            self.hindered.judge(new.event.leader, hindrance);
        }
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        self.streams.count(sample, lookup);
        self.hindered.count(sample, lookup);
        Ok(())
    }
}
