//! One stream to many clients: each chunk is made once and shared.

use std::io;
use std::sync::Arc;

use perfdata::stream::write;
use recorder::remote::protocol::{Account, WhenSlow};
use recorder::session::Sink;
use recorder::session::ledger::Ledger;
use recorder::sys::event::NATIVE_ORDER;
use rustc_hash::FxHashMap;

use super::bell::Bell;
use super::chunk::{Chunk, ChunkTally, SampleGap, runs};
use super::queue::{Feed, QueueLevel};
use crate::control::ClientSamples;

/// Bytes that are offered to a queue at once. A pass over full rings gives
/// many more, which would be too much for a queue that is empty.
const RUN: usize = 64 * 1024;

/// How a stream ended.
#[derive(Debug)]
pub(crate) struct StreamEnding {
    pub(crate) reason: String,
    /// What was told on the way.
    pub(crate) notes: Vec<String>,
    pub(crate) session: Account,
}

/// What the stream has given so far, side records apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) samples: u64,
    /// Of these, samples with EXACT_IP.
    pub(crate) exact_ip: u64,
    pub(crate) side: u64,
}

impl Passed {
    /// So many side records.
    pub(crate) fn side(side: u64) -> Passed {
        Passed { side, ..Passed::default() }
    }
}

/// A client of the stream.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) feed: Feed,
    pub(crate) bell: Bell,
    pub(crate) when_slow: WhenSlow,
    /// What this client has been given, and what not.
    pub(crate) share: Arc<super::share::ClientShare>,
    /// The same by event.
    pub(crate) gap: SampleGap,
}

/// All clients of a session.
#[derive(Debug, Default)]
pub(crate) struct Fan {
    subscribers: Vec<Subscriber>,
    /// Zeros behind a LOST record, but for the id where the trailer ends in
    /// one.
    trailer: Vec<u8>,
    /// Samples begin with their event's id.
    identified: bool,
    /// Places of events in the session's account, by their ids.
    places: FxHashMap<u64, usize>,
    passed: Passed,
    passed_by_event: ChunkTally,
    /// Samples given to clients, and those that they had no room for.
    sent: ClientSamples,
}

impl Fan {
    /// For a stream whose side records have this trailer. `places`: of the
    /// events in the session's account, by their ids.
    pub(crate) fn new(trailer: Vec<u8>, identified: bool, places: FxHashMap<u64, usize>) -> Fan {
        Fan { trailer, identified, places, ..Fan::default() }
    }

    /// Adds a client, to be sent the stream's preamble first.
    pub(crate) fn add(&mut self, mut subscriber: Subscriber, preamble: &Arc<[u8]>) {
        subscriber.share.join(&self.passed);
        subscriber.gap.join(&self.passed_by_event);
        if subscriber.feed.push(Arc::clone(preamble)) {
            // The kernel's own place is described there.
            subscriber.share.took(&Passed::side(Chunk::of_preamble(preamble).side));
        }
        subscriber.bell.ring();
        self.subscribers.push(subscriber);
    }

    /// The stream goes on with other events.
    pub(crate) fn describe_as(&mut self, trailer: Vec<u8>, identified: bool) {
        (self.trailer, self.identified) = (trailer, identified);
    }

    /// Tells clients that have room again what they had none for: the next
    /// record, which would do so, may be far away.
    pub(crate) fn tell_gaps(&mut self) {
        for subscriber in &mut self.subscribers {
            if !subscriber.gap.is_empty() && subscriber.feed.level(RUN) == QueueLevel::Low {
                subscriber.tell_gap(&self.trailer);
                subscriber.bell.ring();
            }
        }
    }

    /// Forgets clients that have gone.
    pub(crate) fn prune(&mut self) {
        self.subscribers.retain(|subscriber| !subscriber.feed.is_abandoned());
    }

    /// Whether anybody takes the stream.
    pub(crate) fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.subscribers.len()
    }

    /// Bytes that wait for clients.
    pub(crate) fn queued(&self) -> u64 {
        let load = |s: &Subscriber| s.feed.queued().load(std::sync::atomic::Ordering::Relaxed);
        self.subscribers.iter().map(load).sum()
    }

    /// Samples that were given to clients, and those that clients had no
    /// room for; each client counts.
    pub(crate) fn sent(&self) -> ClientSamples {
        self.sent
    }

    /// Ends the stream for all. Who was given less than the session has in
    /// its account gets one of their own as the stream's last word.
    pub(crate) fn end(&mut self, ending: StreamEnding, account: &Ledger) {
        let ending = Arc::new(ending);
        let ids = first_ids(&self.places);
        for mut subscriber in self.subscribers.drain(..) {
            subscriber.tell_gap(&self.trailer);
            if let Some(own) = subscriber.gap.own(account, &self.places) {
                subscriber.feed.push(notes(&own, &ids).into());
            }
            subscriber.feed.end(Arc::clone(&ending));
            subscriber.bell.ring();
        }
    }
}

impl Sink for Fan {
    /// Never fails: what a client has no room for is that client's loss.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        runs(bytes, RUN).for_each(|run| self.pass_on(run));
        Ok(())
    }

    /// Of the client with most of it: nobody waits for one that is slower.
    fn room(&self) -> Option<usize> {
        let there = self.subscribers.iter().filter(|one| !one.feed.is_abandoned());
        there.map(|subscriber| subscriber.feed.room()).max()
    }
}

impl Fan {
    fn pass_on(&mut self, bytes: &[u8]) {
        let chunk = Chunk::new(bytes);
        self.passed.samples += chunk.samples;
        self.passed.exact_ip += chunk.exact_ip;
        self.passed.side += chunk.side;
        let tally = ChunkTally::of(&chunk, self.identified);
        self.passed_by_event.add(&tally);
        let mut shared = Shared { chunk, tally, whole: bytes.into(), thinned: None };
        let sent = &mut self.sent;
        self.subscribers.retain_mut(|subscriber| {
            let before = subscriber.share.samples();
            let kept = subscriber.give(&mut shared, &self.trailer);
            let after = subscriber.share.samples();
            sent.given += after.given - before.given;
            sent.dropped += after.dropped - before.dropped;
            subscriber.bell.ring();
            kept
        });
    }
}

/// A chunk as all clients have it.
#[derive(Debug)]
struct Shared<'b> {
    chunk: Chunk<'b>,
    tally: ChunkTally,
    whole: Arc<[u8]>,
    /// Without its samples; made once the first client needs it.
    thinned: Option<Arc<[u8]>>,
}

impl Subscriber {
    /// Whether it stays a subscriber.
    fn give(&mut self, shared: &mut Shared<'_>, trailer: &[u8]) -> bool {
        if self.feed.is_abandoned() {
            return false;
        }
        let Shared { chunk, tally, whole, thinned } = shared;
        let level = self.feed.level(whole.len());
        if level == QueueLevel::Low || chunk.samples == chunk.counted && level == QueueLevel::High {
            self.tell_gap(trailer);
            if self.feed.push(Arc::clone(whole)) {
                self.share.took(&chunk.passed());
                return true;
            }
        }
        if self.when_slow == WhenSlow::Disconnect {
            self.share.lose(chunk.samples, chunk.side);
            self.share.overrun();
            return false;
        }
        let thinned = thinned.get_or_insert_with(|| chunk.without_samples().into());
        let has_room = self.feed.level(thinned.len()) != QueueLevel::Full;
        if thinned.is_empty() || has_room && self.feed.push(Arc::clone(thinned)) {
            self.gap.add(tally);
            self.share.lose(chunk.samples, 0);
            self.share.took(&Passed::side(chunk.side));
            return true;
        }
        // Not even what names its records: the rest would mean nothing.
        self.share.lose(chunk.samples, chunk.side);
        self.share.overrun();
        false
    }

    /// A LOST record for each event of which samples were dropped.
    fn tell_gap(&mut self, trailer: &[u8]) {
        if !self.gap.is_empty() {
            self.feed.push(self.gap.tell(trailer).into());
        }
    }
}

/// An id of each event, by its place in the account.
fn first_ids(places: &FxHashMap<u64, usize>) -> Vec<(usize, u64)> {
    let mut ids: Vec<(usize, u64)> = places.iter().map(|(&id, &place)| (place, id)).collect();
    ids.sort_unstable();
    ids.dedup_by_key(|(place, _)| *place);
    ids
}

/// An account in a stream's words.
fn notes(account: &Ledger, ids: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(event, id) in ids {
        // A note is never too long.
        let _fits = write::event_unit(id, &account.note(event), NATIVE_ORDER, &mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests;
