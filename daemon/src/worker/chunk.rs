//! Whole records of a stream, walked by their headers.

use perfdata::aggregate::samples_of;
use perfdata::{Misc, RecordHeader, RecordType, SidebandRecord};
use recorder::session::ledger::{Ledger, SampleCount};
use recorder::sys::event::NATIVE_ORDER;
use rustc_hash::FxHashMap;

/// Cuts whole records into runs of at most `most` bytes; a longer record is
/// a run of its own, and so is what is no record. Records of aggregates that
/// follow each other stay together: one without the others means nothing.
pub(crate) fn runs(bytes: &[u8], most: usize) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (mut end, mut is_counted) = (0, false);
        for record in Chunk::uncounted(rest).records() {
            let goes_on = std::mem::replace(&mut is_counted, aggregated_samples(record).is_some());
            let is_cut = is_counted != goes_on || !is_counted && end + record.len() > most;
            if end > 0 && is_cut {
                break;
            }
            end += record.len();
        }
        let end = if end == 0 { rest.len() } else { end };
        let (run, after) = rest.split_at(end);
        rest = after;
        (!run.is_empty()).then_some(run)
    })
}

/// What the stream has given so far, sideband records apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamTotals {
    pub(crate) samples: u64,
    /// Of these, samples with EXACT_IP.
    pub(crate) exact_ip: u64,
    pub(crate) side: u64,
}

impl StreamTotals {
    pub(crate) fn side(side: u64) -> StreamTotals {
        StreamTotals { side, ..StreamTotals::default() }
    }
}

/// Bytes of a perf.data stream before its first record.
pub(crate) const FILE_HEADER: usize = 16;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'b> {
    pub(crate) bytes: &'b [u8],
    /// Samples, and those that aggregates of the kernel stand for.
    pub(crate) samples: u64,
    /// The latter alone.
    pub(crate) aggregated: u64,
    /// Samples with EXACT_IP.
    pub(crate) exact_ip: u64,
    /// Records of the kernel that are no samples.
    pub(crate) side: u64,
}

impl<'b> Chunk<'b> {
    fn uncounted(bytes: &'b [u8]) -> Chunk<'b> {
        Chunk { bytes, samples: 0, aggregated: 0, exact_ip: 0, side: 0 }
    }

    pub(crate) fn new(bytes: &'b [u8]) -> Chunk<'b> {
        let mut chunk = Chunk::uncounted(bytes);
        for record in chunk.records() {
            match record_type(record) {
                RecordType::SAMPLE => {
                    chunk.samples += 1;
                    chunk.exact_ip += u64::from(has_exact_ip(record));
                }
                RecordType::EVENT_UPDATE => {
                    chunk.aggregated += aggregated_samples(record).unwrap_or(0)
                }
                kind if kind.0 < FIRST_OF_TOOLS => chunk.side += 1,
                _ => {}
            }
        }
        chunk.samples += chunk.aggregated;
        chunk
    }

    pub(crate) fn passed(&self) -> StreamTotals {
        StreamTotals { samples: self.samples, exact_ip: self.exact_ip, side: self.side }
    }

    /// The records that a stream begins with, behind its file header.
    pub(crate) fn of_preamble(bytes: &'b [u8]) -> Chunk<'b> {
        Chunk::new(bytes.get(FILE_HEADER..).unwrap_or_default())
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &'b [u8]> + use<'b> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let size = rest.get(6..8).and_then(|size| size.try_into().ok());
            let size = usize::from(u16::from_ne_bytes(size?));
            let (record, after) = rest.split_at_checked(size.max(RecordHeader::SIZE))?;
            rest = after;
            Some(record)
        })
    }

    /// What is kept of it where samples find no room; nothing, where there
    /// is but the mark of a round, which means nothing alone.
    pub(crate) fn without_samples(&self) -> Vec<u8> {
        let kept = |record: &&[u8]| {
            record_type(record) != RecordType::SAMPLE && aggregated_samples(record).is_none()
        };
        let others = || self.records().filter(kept);
        match others().all(|record| record_type(record) == RecordType::FINISHED_ROUND) {
            true => Vec::new(),
            false => others().flatten().copied().collect(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkTally(FxHashMap<u64, SampleCount>);

impl ChunkTally {
    /// The samples of a chunk. `identified`: they begin with their event's
    /// id.
    pub(crate) fn of(chunk: &Chunk<'_>, identified: bool) -> ChunkTally {
        let mut tally = ChunkTally::default();
        // Mostly one event's come one after the other.
        let (mut last, mut run) = (0, SampleCount::default());
        for record in chunk.records().filter(|record| record_type(record) == RecordType::SAMPLE) {
            let id = word(record, 8).filter(|_| identified).unwrap_or(0);
            if id != last {
                tally.count(last, std::mem::take(&mut run));
                last = id;
            }
            run.all += 1;
            run.exact_ip += u64::from(has_exact_ip(record));
        }
        tally.count(last, run);
        if chunk.aggregated > 0 {
            for record in chunk.records() {
                let Some(all) = aggregated_samples(record) else { continue };
                let id = word(record, 16).filter(|_| identified).unwrap_or(0);
                tally.count(id, SampleCount { all, exact_ip: 0 });
            }
        }
        tally
    }

    pub(crate) fn add(&mut self, other: &ChunkTally) {
        other.iter().for_each(|(id, samples)| self.count(id, samples));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, SampleCount)> + use<'_> {
        self.0.iter().map(|(id, samples)| (*id, *samples))
    }

    fn count(&mut self, id: u64, more: SampleCount) {
        if more.all > 0 {
            let samples = self.0.entry(id).or_default();
            samples.all += more.all;
            samples.exact_ip += more.exact_ip;
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SampleGap {
    /// Dropped since the last LOST records.
    unreported: ChunkTally,
    dropped: ChunkTally,
    /// What passed before it came.
    before: ChunkTally,
}

impl SampleGap {
    pub(crate) fn is_empty(&self) -> bool {
        self.unreported.0.is_empty()
    }

    pub(crate) fn join(&mut self, passed: &ChunkTally) {
        self.before = passed.clone();
    }

    pub(crate) fn add(&mut self, samples: &ChunkTally) {
        self.unreported.add(samples);
        self.dropped.add(samples);
    }

    /// Adds what LOST records tell that it is not sent.
    pub(crate) fn add_lost_records(&mut self, chunk: &Chunk<'_>) {
        for record in chunk.records().filter(|record| record_type(record) == RecordType::LOST) {
            let lost = SampleCount { all: lost_count(record), exact_ip: 0 };
            self.unreported.count(word(record, 8).unwrap_or(0), lost);
        }
    }

    /// A LOST record for each event, with this trailer; there is no gap then
    /// any more.
    pub(crate) fn take_lost_records(&mut self, trailer: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, samples) in self.unreported.0.drain() {
            let mut trailer = trailer.to_vec();
            if let Some(last) = trailer.last_chunk_mut() {
                *last = id.to_ne_bytes();
            }
            let record = SidebandRecord::Lost { id, lost: samples.all };
            // A LOST record is never too long.
            let _fits = record.encode(Misc(0), &trailer, NATIVE_ORDER, &mut bytes);
        }
        bytes
    }

    /// The session's account as it is for this client, where it differs.
    /// `places`: of each event's ids in the account.
    pub(crate) fn client_ledger(
        &self,
        session: &Ledger,
        places: &FxHashMap<u64, usize>,
    ) -> Option<Ledger> {
        let place = |id: u64| places.get(&id).copied().unwrap_or(0);
        let mut own = session.clone();
        for (id, samples) in self.before.iter() {
            own.withhold(place(id), samples, |lost| &mut lost.before);
        }
        for (id, samples) in self.dropped.iter() {
            own.withhold(place(id), samples, |lost| &mut lost.queue);
        }
        (own != *session).then_some(own)
    }
}

/// Records from here on are of tools, not of the kernel
/// (PERF_RECORD_USER_TYPE_START).
pub(crate) const FIRST_OF_TOOLS: u32 = 64;

pub(crate) fn word(record: &[u8], at: usize) -> Option<u64> {
    record.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

pub(crate) fn record_type(record: &[u8]) -> RecordType {
    let kind = record.first_chunk().map_or(0, |kind| u32::from_ne_bytes(*kind));
    RecordType(kind)
}

fn has_exact_ip(record: &[u8]) -> bool {
    let misc = record.get(4..6).and_then(|misc| misc.try_into().ok());
    Misc(u16::from_ne_bytes(misc.unwrap_or_default())).contains(Misc::EXACT_IP)
}

pub(crate) fn lost_count(record: &[u8]) -> u64 {
    word(record, 16).unwrap_or(0)
}

/// Samples that a record of an aggregate stands for; None: it is another.
pub(crate) fn aggregated_samples(record: &[u8]) -> Option<u64> {
    let is_update = record_type(record) == RecordType::EVENT_UPDATE;
    is_update.then(|| samples_of(record, NATIVE_ORDER)).flatten()
}
