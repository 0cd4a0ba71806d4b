//! What the kernel counted: sums of hits are no records that lines could
//! stand for.

use perfdata::aggregate::AggregatePart;
use perfdata::stream::StreamDecoder;
use std::collections::BTreeMap;

/// Hits and parts of aggregates, by event.
#[derive(Debug, Default)]
pub(super) struct Counted {
    events: BTreeMap<usize, (u64, u64)>,
}

impl Counted {
    pub(super) fn add(&mut self, event: usize, part: &AggregatePart) {
        let (hits, intervals) = self.events.entry(event).or_default();
        *hits = hits.saturating_add(part.samples());
        *intervals += u64::from(part.is_last);
    }

    pub(super) fn notes<'d>(
        &'d self,
        decoder: &'d StreamDecoder,
    ) -> impl Iterator<Item = String> + 'd {
        self.events.iter().filter_map(|(event, (hits, intervals))| {
            let name = decoder.events().get(*event)?.title();
            Some(format!(
                "{name}: {hits} hits were counted in the kernel, in {intervals} intervals; they have no \
                 records that could be printed: `ebs report` shows their sites"
            ))
        })
    }
}
