//! What the fuzz targets reach of this crate's inside; compiled for them
//! alone (`--cfg fuzzing`).

use std::io;
use std::os::fd::AsFd;

use crate::ring::{RingRecord, drain, look};
use crate::session::SampleScrubber;
use crate::sys::mapping::RingMapping;

#[derive(Debug, PartialEq, Eq)]
pub struct DrainedRing {
    /// Its records, headers included.
    pub records: Vec<Vec<u8>>,
    /// Whether bytes that are no records were dropped.
    pub damaged: bool,
    /// Of the records, those that show the kernel.
    pub shown: u64,
}

/// Empties memory that is laid out as a ring's.
///
/// # Errors
/// The control page does not fit what was mapped.
pub fn drain_ring(
    memory: &impl AsFd,
    pages: u32,
    scrub: SampleScrubber,
) -> io::Result<DrainedRing> {
    let mut mapping = RingMapping::new(memory, pages)?;
    let copy = |record: RingRecord<'_>| [record.first, record.second].concat();
    let mut looked = Vec::new();
    look(&mapping, |record| looked.push(copy(record)));
    let mut ring = DrainedRing { records: Vec::new(), damaged: false, shown: 0 };
    let drained = drain(&mut mapping, |record| {
        let bytes = copy(record);
        assert_eq!(usize::from(record.header.size), bytes.len());
        for offset in (0..bytes.len().min(128)).chain([bytes.len().saturating_sub(8)]) {
            let word = bytes.get(offset..).and_then(|rest| rest.first_chunk());
            assert_eq!(record.word(offset), word.map(|word| u64::from_ne_bytes(*word)));
        }
        let shows = scrub.shows_kernel(record.header.misc, |offset| record.word(offset));
        ring.shown += u64::from(shows);
        ring.records.push(bytes);
    });
    assert_eq!((drained.records, &looked), (ring.records.len() as u64, &ring.records));
    ring.damaged = drained.damaged;
    assert_eq!(drain(&mut mapping, |_| {}), Default::default(), "it is empty now");
    Ok(ring)
}
