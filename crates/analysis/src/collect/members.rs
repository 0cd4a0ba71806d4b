//! Samples that hold what every event of a group has counted
//! (PERF_SAMPLE_READ, perf's `{a,b}:S`).

use perfdata::sample::ReadValue;
use perfdata::stream::StreamDecoder;
use perfdata::{AttrFlags, Sample, Tid};
use rustc_hash::FxHashMap;

/// The counts of each event on each CPU or of each task.
///
/// Each member whose count has grown has a sample of its own, which stands
/// for so many events, as perf sees it (evlist__deliver_sample(),
/// tools/perf/util/session.c).
#[derive(Debug, Default)]
pub struct Members {
    owners: FxHashMap<u64, Owner>,
    /// Events whose ids are in `owners`.
    known: usize,
    /// By id; where threads count each for itself under one id, by thread.
    counts: FxHashMap<(u64, Option<Tid>), u64>,
    doubtful: Doubtful,
}

#[derive(Clone, Copy, Debug)]
struct Owner {
    event: usize,
    /// The event is inherited: each thread has a count of its own.
    by_thread: bool,
}

#[derive(Debug, Default)]
struct Doubtful {
    /// Counts of ids that the recording does not explain.
    unexplained: u64,
    /// Counts that are less than they were.
    fell: u64,
    /// Samples that explain their counts, of which none has grown.
    still: u64,
    /// Samples without a count.
    empty: u64,
}

/// How much a member of a group has counted since the sample before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Index into the decoder's events.
    pub event: usize,
    /// Events.
    pub by: u64,
}

/// What one sample stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SampleShare {
    /// A sample of its own event alone: it holds no counts that say whose
    /// they are.
    Own,
    /// A sample of each of these; of none when no count has grown.
    Grown(Vec<Growth>),
    /// Of no event: none of its counts is of one that the recording describes.
    Unexplained,
}

impl Members {
    /// What a sample stands for; to be asked once for each, in their order.
    pub fn share(&mut self, decoder: &StreamDecoder, sample: &Sample<'_>) -> SampleShare {
        let Some(read) = &sample.read else { return SampleShare::Own };
        if read.values.iter().any(|value| value.id.is_none()) {
            return SampleShare::Own;
        }
        self.learn(decoder);
        let tid = sample.task.map(|task| task.tid);
        let (mut grown, mut is_explained) = (Vec::new(), false);
        for ReadValue { value, id, .. } in &read.values {
            let Some((id, owner)) = id.and_then(|id| Some((id, *self.owners.get(&id)?))) else {
                self.doubtful.unexplained += 1;
                continue;
            };
            is_explained = true;
            let whose = (id, tid.filter(|_| owner.by_thread));
            let before = self.counts.insert(whose, *value).unwrap_or(0);
            self.doubtful.fell += u64::from(*value < before);
            if let by @ 1.. = value.saturating_sub(before) {
                grown.push(Growth { event: owner.event, by });
            }
        }
        self.doubtful.empty += u64::from(read.values.is_empty());
        self.doubtful.still += u64::from(is_explained && grown.is_empty());
        if is_explained { SampleShare::Grown(grown) } else { SampleShare::Unexplained }
    }

    fn learn(&mut self, decoder: &StreamDecoder) {
        let events = decoder.events();
        for (event, description) in events.iter().enumerate().skip(self.known) {
            let by_thread = description.attr.flags.contains(AttrFlags::INHERIT);
            let owner = Owner { event, by_thread };
            self.owners.extend(description.ids.iter().map(|id| (*id, owner)));
        }
        self.known = events.len();
    }

    /// What was left out since the last call, in sentences.
    pub fn take_notes(&mut self) -> Vec<String> {
        let Doubtful { unexplained, fell, still, empty } = std::mem::take(&mut self.doubtful);
        let said = [
            (unexplained, "counts in samples are of ids that the recording does not explain"),
            (fell, "counts in samples are less than in the sample before: taken as not grown"),
            (still, "samples hold no count that has grown: of no event"),
            (empty, "samples of groups hold no counts: of no event"),
        ];
        let said = said.into_iter().filter(|(count, _)| *count > 0);
        said.map(|(count, what)| format!("{count} {what}")).collect()
    }
}
