//! Samples that hold what every event of a group has counted
//! (PERF_SAMPLE_READ): each member whose count has grown has a record, which
//! stands for so many events, as perf sees it.

use record::sample::ReadValue;
use record::stream::Decoder;
use rustc_hash::FxHashMap;

/// The counts of each event on each CPU or of each task.
#[derive(Debug, Default)]
pub(super) struct Members {
    counts: FxHashMap<u64, Count>,
    /// Events whose ids are in `counts`.
    known: usize,
}

#[derive(Debug)]
struct Count {
    event: usize,
    last: u64,
}

impl Members {
    /// The event that a value is of, and by how much it has grown; None
    /// when it has not, and for an id that the recording does not explain.
    pub(super) fn grown(&mut self, decoder: &Decoder, value: &ReadValue) -> Option<(usize, u64)> {
        let events = decoder.events();
        for (event, description) in events.iter().enumerate().skip(self.known) {
            let ids = description.ids.iter();
            self.counts.extend(ids.map(|id| (*id, Count { event, last: 0 })));
        }
        self.known = events.len();
        let count = self.counts.get_mut(&value.id?)?;
        let growth = value.value.wrapping_sub(count.last);
        count.last = value.value;
        (growth > 0).then_some((count.event, growth))
    }
}
