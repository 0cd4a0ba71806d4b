//! What the fuzz targets reach of this crate's inside; compiled for them
//! alone (`--cfg fuzzing`).

use std::io;
use std::os::fd::AsFd;

use crate::ring::{Lent, drain, look};
use crate::session::Scrub;
use crate::sys::mapping::RingMapping;

#[derive(Debug, PartialEq, Eq)]
pub struct EmptiedRing {
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
pub fn empty_ring(memory: &impl AsFd, pages: u32, scrub: Scrub) -> io::Result<EmptiedRing> {
    let mut mapping = RingMapping::new(memory, pages)?;
    let copy = |lent: Lent<'_>| [lent.first, lent.second].concat();
    let mut looked = Vec::new();
    look(&mapping, |lent| looked.push(copy(lent)));
    let mut ring = EmptiedRing { records: Vec::new(), damaged: false, shown: 0 };
    let drained = drain(&mut mapping, |lent| {
        let record = copy(lent);
        assert_eq!(usize::from(lent.header.size), record.len());
        for offset in (0..record.len().min(128)).chain([record.len().saturating_sub(8)]) {
            let word = record.get(offset..).and_then(|rest| rest.first_chunk());
            assert_eq!(lent.word(offset), word.map(|word| u64::from_ne_bytes(*word)));
        }
        let shows = scrub.shows_kernel(lent.header.misc, |offset| lent.word(offset));
        ring.shown += u64::from(shows);
        ring.records.push(record);
    });
    assert_eq!((drained.records, &looked), (ring.records.len() as u64, &ring.records));
    ring.damaged = drained.damaged;
    assert_eq!(drain(&mut mapping, |_| {}), Default::default(), "it is empty now");
    Ok(ring)
}
