//! Whole records of a stream, walked by their headers.

use record::{Misc, RecordHeader, RecordType, SideRecord};
use rustc_hash::FxHashMap;

use crate::sys::event::NATIVE_ORDER;

/// Whole records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk<'b> {
    pub(crate) bytes: &'b [u8],
    pub(crate) samples: u64,
    /// Records of the kernel that are no samples.
    pub(crate) side: u64,
}

impl<'b> Chunk<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Chunk<'b> {
        let mut chunk = Chunk { bytes, samples: 0, side: 0 };
        for record in chunk.records() {
            match kind(record) {
                RecordType::SAMPLE => chunk.samples += 1,
                kind if kind.0 < FIRST_OF_TOOLS => chunk.side += 1,
                _ => {}
            }
        }
        chunk
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
        let kept = |record: &&[u8]| kind(record) != RecordType::SAMPLE;
        let others = || self.records().filter(kept);
        match others().all(|record| kind(record) == RecordType::FINISHED_ROUND) {
            true => Vec::new(),
            false => others().flatten().copied().collect(),
        }
    }
}

/// Samples that are missing since that was last told, by the id they bear.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gap(FxHashMap<u64, u64>);

impl Gap {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a chunk's samples. `identified`: they begin with their event's
    /// id.
    pub(crate) fn add(&mut self, chunk: &Chunk<'_>, identified: bool) {
        for record in chunk.records().filter(|record| kind(record) == RecordType::SAMPLE) {
            let id = record.get(8..16).and_then(|id| id.try_into().ok()).map(u64::from_ne_bytes);
            *self.0.entry(id.filter(|_| identified).unwrap_or(0)).or_default() += 1;
        }
    }

    /// A LOST record for each event, with this trailer; there is no gap then
    /// any more.
    pub(crate) fn tell(&mut self, trailer: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (id, lost) in self.0.drain() {
            let mut trailer = trailer.to_vec();
            if let Some(last) = trailer.last_chunk_mut() {
                *last = id.to_ne_bytes();
            }
            let record = SideRecord::Lost { id, lost };
            // A LOST record is never too long.
            let _fits = record.encode(Misc(0), &trailer, NATIVE_ORDER, &mut bytes);
        }
        bytes
    }
}

/// Records from here on are of tools, not of the kernel
/// (PERF_RECORD_USER_TYPE_START).
const FIRST_OF_TOOLS: u32 = 64;

pub(crate) fn kind(record: &[u8]) -> RecordType {
    let kind = record.first_chunk().map_or(0, |kind| u32::from_ne_bytes(*kind));
    RecordType(kind)
}
