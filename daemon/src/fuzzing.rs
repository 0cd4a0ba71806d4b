//! What the fuzz targets reach of this crate's inside; compiled for them
//! alone (`--cfg fuzzing`).

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::broker::Ask;
use crate::ledger::Ledger;
use crate::permission::Scrub;
use crate::protocol::{Account, WhenSlow};
use crate::ring::{Lent, drain, look};
use crate::session::Sink;
use crate::sys::mapping::Mapping;
use crate::worker::fan::{Ending, Fan, Subscriber};
use crate::worker::queue::{Item, Next, Outlet, queue};
use crate::worker::share::Share;

/// A worker's request to the supervisor, read and written again.
pub fn ask(bytes: &[u8]) -> Option<Vec<u8>> {
    Ask::decode(bytes).map(|ask| ask.encode().to_vec())
}

/// What was in a ring.
#[derive(Debug, PartialEq, Eq)]
pub struct Ring {
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
pub fn empty_ring(memory: &impl AsFd, pages: u32, scrub: Scrub) -> io::Result<Ring> {
    let mut mapping = Mapping::new(memory, pages)?;
    let copy = |lent: Lent<'_>| [lent.first, lent.second].concat();
    let mut looked = Vec::new();
    look(&mapping, |lent| looked.push(copy(lent)));
    let mut ring = Ring { records: Vec::new(), damaged: false, shown: 0 };
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

/// What a client was sent.
#[derive(Debug)]
pub struct Served {
    /// Its stream.
    pub stream: Vec<u8>,
    /// What of the session it was given.
    pub account: Account,
    /// It was too slow, and given up.
    pub overrun: bool,
}

/// Sends chunks of whole records to clients, whose queues take `capacity`
/// bytes each. After each chunk a client takes as many items as its byte
/// says; 255: all. The first comes before the first chunk, each other one
/// chunk later. `session` is what is in the chunks.
///
/// # Errors
/// No pipe for a bell.
pub fn fan_out(
    chunks: &[Vec<u8>],
    capacity: u64,
    clients: &[(u8, WhenSlow)],
    session: &Account,
) -> io::Result<Vec<Served>> {
    let mut fan = Fan::new((vec![0; 16], true), Default::default());
    let mut outlets: Vec<(Outlet, Arc<Share>, Vec<u8>)> = Vec::new();
    let mut ears = Vec::new();
    let mut coming = clients.iter();
    let preamble: Arc<[u8]> = Arc::new([]);
    for chunk in chunks {
        if let Some((_, when_slow)) = coming.next() {
            let (feed, outlet) = queue(capacity);
            let (bell, ear) = crate::worker::bell::bell()?;
            let share = Arc::<Share>::default();
            let when_slow = *when_slow;
            let gap = crate::worker::chunk::Gap::default();
            fan.add(
                Subscriber { feed, bell, when_slow, share: Arc::clone(&share), gap },
                &preamble,
            );
            outlets.push((outlet, share, Vec::new()));
            ears.push(ear);
        }
        fan.write(chunk)?;
        for ((outlet, _, stream), (takes, _)) in outlets.iter_mut().zip(clients) {
            for _ in 0..if *takes == 255 { usize::MAX } else { usize::from(*takes) } {
                match outlet.next() {
                    Next::Item(Item::Bytes(bytes)) => stream.extend_from_slice(&bytes),
                    _ => break,
                }
            }
        }
    }
    fan.end(
        Ending { reason: "the end".into(), notes: Vec::new(), session: session.clone() },
        &Ledger::default(),
    );
    let served = outlets.into_iter().map(|(mut outlet, share, mut stream)| {
        while let Next::Item(Item::Bytes(bytes)) = outlet.next() {
            stream.extend_from_slice(&bytes);
        }
        Served { stream, account: share.account(session), overrun: share.is_overrun() }
    });
    Ok(served.collect())
}
