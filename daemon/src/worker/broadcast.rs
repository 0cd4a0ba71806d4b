//! One stream to many clients: each chunk is made once and shared.

use std::io;
use std::sync::Arc;

use perfdata::stream::write;
use recorder::remote::protocol::WhenSlow;
use recorder::session::Sink;
use recorder::session::ledger::Ledger;
use recorder::sys::event::NATIVE_ORDER;
use rustc_hash::FxHashMap;

use super::chunk::{Chunk, ChunkTally, SampleGap, StreamTotals, runs};
use super::client_counters::ClientCounters;
use super::queue::{QueueLevel, QueueSender, StreamEnding};
use super::waker::Waker;
use crate::control::ClientSamples;

/// Bytes that are offered to a queue at once. A pass over full rings gives
/// many more, which would be too much for a queue that is empty.
const MAX_RUN_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) sender: QueueSender,
    pub(crate) waker: Waker,
    pub(crate) when_slow: WhenSlow,
    pub(crate) counters: Arc<ClientCounters>,
    pub(crate) gap: SampleGap,
}

#[derive(Debug, Default)]
pub(crate) struct Broadcast {
    subscribers: Vec<Subscriber>,
    /// Zeros behind a LOST record, but for the id where the trailer ends in
    /// one.
    trailer: Vec<u8>,
    /// Samples begin with their event's id.
    identified: bool,
    /// Places of events in the session's account, by their ids.
    places: FxHashMap<u64, usize>,
    passed: StreamTotals,
    passed_by_event: ChunkTally,
    sent: ClientSamples,
}

impl Broadcast {
    /// For a stream whose sideband records have this trailer. `places`: of the
    /// events in the session's account, by their ids.
    pub(crate) fn new(
        trailer: Vec<u8>,
        identified: bool,
        places: FxHashMap<u64, usize>,
    ) -> Broadcast {
        Broadcast { trailer, identified, places, ..Broadcast::default() }
    }

    pub(crate) fn add(&mut self, mut subscriber: Subscriber, preamble: &Arc<[u8]>) {
        subscriber.counters.join(&self.passed);
        subscriber.gap.join(&self.passed_by_event);
        if subscriber.sender.push(Arc::clone(preamble)) {
            // The kernel's own place is described there.
            subscriber.counters.took(&StreamTotals::side(Chunk::of_preamble(preamble).side));
        }
        subscriber.waker.ring();
        self.subscribers.push(subscriber);
    }

    pub(crate) fn describe_as(&mut self, trailer: Vec<u8>, identified: bool) {
        (self.trailer, self.identified) = (trailer, identified);
    }

    /// Tells clients that have room again what they had none for: the next
    /// record, which would do so, may be far away.
    pub(crate) fn write_gaps(&mut self) {
        for subscriber in &mut self.subscribers {
            if !subscriber.gap.is_empty()
                && subscriber.sender.level(MAX_RUN_BYTES) == QueueLevel::Low
            {
                subscriber.write_gap(&self.trailer);
                subscriber.waker.ring();
            }
        }
    }

    pub(crate) fn prune(&mut self) {
        self.subscribers.retain(|subscriber| !subscriber.sender.is_abandoned());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.subscribers.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.subscribers.len()
    }

    /// Bytes that wait for clients.
    pub(crate) fn queued(&self) -> u64 {
        let load = |s: &Subscriber| s.sender.queued().load(std::sync::atomic::Ordering::Relaxed);
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
            subscriber.write_gap(&self.trailer);
            if let Some(own) = subscriber.gap.client_ledger(account, &self.places) {
                subscriber.sender.push(ledger_notes(&own, &ids).into());
            }
            subscriber.sender.end(Arc::clone(&ending));
            subscriber.waker.ring();
        }
    }
}

impl Sink for Broadcast {
    /// Never fails: what a client has no room for is that client's loss.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        runs(bytes, MAX_RUN_BYTES).for_each(|run| self.pass_on(run));
        Ok(())
    }

    /// Of the client with most of it: a slower one does not slow the others.
    fn room(&self) -> Option<usize> {
        let there = self.subscribers.iter().filter(|one| !one.sender.is_abandoned());
        there.map(|subscriber| subscriber.sender.room()).max()
    }
}

impl Broadcast {
    fn pass_on(&mut self, bytes: &[u8]) {
        let chunk = Chunk::new(bytes);
        self.passed.samples += chunk.samples;
        self.passed.exact_ip += chunk.exact_ip;
        self.passed.side += chunk.side;
        let tally = ChunkTally::of(&chunk, self.identified);
        self.passed_by_event.add(&tally);
        let mut shared = SharedChunk { chunk, tally, whole: bytes.into(), thinned: None };
        let sent = &mut self.sent;
        self.subscribers.retain_mut(|subscriber| {
            let before = subscriber.counters.samples();
            let kept = subscriber.deliver(&mut shared, &self.trailer);
            let after = subscriber.counters.samples();
            sent.given += after.given - before.given;
            sent.dropped += after.dropped - before.dropped;
            subscriber.waker.ring();
            kept
        });
    }
}

#[derive(Debug)]
struct SharedChunk<'b> {
    chunk: Chunk<'b>,
    tally: ChunkTally,
    whole: Arc<[u8]>,
    /// Without its samples; made once the first client needs it.
    thinned: Option<Arc<[u8]>>,
}

impl Subscriber {
    /// Whether it stays a subscriber.
    fn deliver(&mut self, shared: &mut SharedChunk<'_>, trailer: &[u8]) -> bool {
        if self.sender.is_abandoned() {
            return false;
        }
        let SharedChunk { chunk, tally, whole, thinned } = shared;
        let level = self.sender.level(whole.len());
        if level == QueueLevel::Low
            || chunk.samples == chunk.aggregated && level == QueueLevel::High
        {
            self.write_gap(trailer);
            if self.sender.push(Arc::clone(whole)) {
                self.counters.took(&chunk.passed());
                return true;
            }
        }
        if self.when_slow == WhenSlow::Disconnect {
            self.counters.lose(chunk.samples, chunk.side);
            self.counters.overrun();
            return false;
        }
        let thinned = thinned.get_or_insert_with(|| chunk.without_samples().into());
        let has_room = self.sender.level(thinned.len()) != QueueLevel::Full;
        if thinned.is_empty() || has_room && self.sender.push(Arc::clone(thinned)) {
            self.gap.add(tally);
            self.counters.lose(chunk.samples, 0);
            self.counters.took(&StreamTotals::side(chunk.side));
            return true;
        }
        // Not even what names its records: the rest would mean nothing.
        self.counters.lose(chunk.samples, chunk.side);
        self.counters.overrun();
        false
    }

    /// Sends a LOST record for each event whose samples were dropped.
    fn write_gap(&mut self, trailer: &[u8]) {
        if !self.gap.is_empty() {
            self.sender.push(self.gap.take_lost_records(trailer).into());
        }
    }
}

fn first_ids(places: &FxHashMap<u64, usize>) -> Vec<(usize, u64)> {
    let mut ids: Vec<(usize, u64)> = places.iter().map(|(&id, &place)| (place, id)).collect();
    ids.sort_unstable();
    ids.dedup_by_key(|(place, _)| *place);
    ids
}

fn ledger_notes(account: &Ledger, ids: &[(usize, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(event, id) in ids {
        // A note is never too long.
        let _fits = write::event_unit(id, &account.note(event), NATIVE_ORDER, &mut bytes);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use recorder::remote::protocol::Account;

    use super::super::chunk::lost_count;
    use super::super::queue::{Dequeued, QueueItem, QueueReceiver, queue};
    use super::super::waker::{WakeReceiver, waker};
    use super::*;

    /// So many samples of 64 bytes each.
    fn samples(count: usize) -> Vec<u8> {
        let mut record = vec![9, 0, 0, 0, 2, 0, 64, 0];
        record.resize(64, 7);
        record.repeat(count)
    }

    fn client(
        broadcast: &mut Broadcast,
        capacity: u64,
    ) -> (QueueReceiver, Arc<ClientCounters>, WakeReceiver) {
        let (sender, receiver) = queue(capacity);
        let (waker, wake_receiver) = waker().unwrap();
        let counters = Arc::<ClientCounters>::default();
        let subscriber = Subscriber {
            sender,
            waker,
            when_slow: WhenSlow::DropNewest,
            counters: Arc::clone(&counters),
            gap: SampleGap::default(),
        };
        broadcast.add(subscriber, &Arc::from(&[][..]));
        (receiver, counters, wake_receiver)
    }

    fn broadcast() -> Broadcast {
        Broadcast::new(vec![0; 8], true, FxHashMap::default())
    }

    /// What waits for a client: samples by kind, and the largest item.
    fn waiting(receiver: &mut QueueReceiver) -> (u64, usize) {
        let (mut found, mut largest) = (0, 0);
        while let Dequeued::Item(QueueItem::Bytes(bytes)) = receiver.next() {
            found += Chunk::new(&bytes).samples;
            largest = largest.max(bytes.len());
        }
        (found, largest)
    }

    #[test]
    fn what_an_empty_queue_has_room_for_goes_in_however_much_comes_at_once() {
        let mut broadcast = broadcast();
        let (mut receiver, counters, _wake) = client(&mut broadcast, 8 << 20);
        // 4 MiB: half of the queue.
        broadcast.write(&samples(65_536)).unwrap();
        // Another 4 MiB: up to three fifths.
        broadcast.write(&samples(65_536)).unwrap();
        let account = counters.account(&Account { delivered: 131_072, ..Account::default() });
        let (found, largest) = waiting(&mut receiver);
        assert_eq!((found, largest), (account.delivered, MAX_RUN_BYTES));
        assert!((77_000..=78_643).contains(&found), "{found} of three fifths of 8 MiB");
        assert_eq!(account.lost.get("queue"), Some(&(131_072 - found)));
        // A pass over full rings, which alone is more than three fifths.
        broadcast.write(&samples(100_000)).unwrap();
        let (found, _) = waiting(&mut receiver);
        assert!((77_000..=78_643).contains(&found), "{found}");
    }

    #[test]
    fn a_client_is_told_how_many_exact_ips_it_was_given() {
        let mut broadcast = broadcast();
        let (mut receiver, counters, _wake) = client(&mut broadcast, MAX_RUN_BYTES as u64);
        let mut exact = samples(300);
        exact.chunks_mut(64).for_each(|record| record[5] = 0x40);
        broadcast.write(&[samples(200), exact.clone()].concat()).unwrap();
        assert_eq!(waiting(&mut receiver).0, 500);
        // More than there is room for: not given, not counted.
        broadcast.write(&exact.repeat(5)).unwrap();
        let account = counters.account(&Account { delivered: 2000, ..Account::default() });
        let (given, _) = waiting(&mut receiver);
        assert_eq!((account.delivered, account.exact_ip), (500 + given, 300 + given));
        assert!(given < 1500, "{given}");
    }

    #[test]
    fn a_queue_of_one_run_still_takes_that_run() {
        let mut broadcast = broadcast();
        let (mut receiver, counters, _wake) = client(&mut broadcast, MAX_RUN_BYTES as u64);
        broadcast.write(&samples(1024)).unwrap();
        assert_eq!(waiting(&mut receiver), (1024, MAX_RUN_BYTES));
        broadcast.write(&samples(1025)).unwrap();
        assert_eq!(waiting(&mut receiver), (1024, MAX_RUN_BYTES));
        let account = counters.account(&Account { delivered: 2049, ..Account::default() });
        assert_eq!((account.delivered, account.lost.get("queue")), (2048, Some(&1)));
    }

    #[test]
    fn what_found_no_room_is_told_once_there_is_room_though_nothing_comes() {
        let mut broadcast = broadcast();
        let (mut receiver, _share, _wake) = client(&mut broadcast, MAX_RUN_BYTES as u64);
        broadcast.write(&samples(1025)).unwrap();
        broadcast.write_gaps();
        assert_eq!(waiting(&mut receiver), (1024, MAX_RUN_BYTES), "the queue was full");
        broadcast.write_gaps();
        let Dequeued::Item(QueueItem::Bytes(gap)) = receiver.next() else {
            panic!("nothing is told")
        };
        assert_eq!((gap[0], lost_count(&gap)), (2, 1), "a LOST record");
        broadcast.write_gaps();
        assert!(matches!(receiver.next(), Dequeued::Empty), "once");
    }

    #[test]
    fn records_longer_than_a_run_and_no_records_are_runs_of_their_own() {
        let mut long = vec![10, 0, 0, 0, 2, 0];
        long.extend(0x8000_u16.to_ne_bytes());
        long.resize(0x8000, 1);
        let bytes = [samples(1), long.clone(), samples(2), vec![1, 2, 3]].concat();
        let lengths: Vec<usize> = runs(&bytes, 128).map(<[u8]>::len).collect();
        assert_eq!(lengths, [64, long.len(), 128, 3]);
        assert_eq!(runs(&[], 128).count(), 0);
    }

    /// An aggregate of so many sites with three hits each, of event 7.
    fn aggregate(sites: u64) -> Vec<u8> {
        use perfdata::aggregate::{Aggregate, Bits, RegisterBits, Site};
        use perfdata::{CpuMode, Time};
        let site = |ip| Site {
            process: None,
            pids: Bits::of(9),
            ip,
            mode: CpuMode::User,
            count: 3,
            period: 3,
            first: Time(1),
            last: Time(2),
            address: None,
            registers: (0..16).map(|number| RegisterBits { number, bits: Bits::of(ip) }).collect(),
            taken: Vec::new(),
            strides: None,
            chain: None,
        };
        let sites = (0..sites).map(site).collect();
        let all = Aggregate { from: Time(1), to: Time(2), sites, lost: Vec::new() };
        let mut bytes = Vec::new();
        write::aggregate(7, all, NATIVE_ORDER, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn an_aggregate_goes_in_whole_or_is_counted_as_lost() {
        let bytes = aggregate(2000);
        assert!(
            bytes.len() > 3 * MAX_RUN_BYTES,
            "{} bytes are several records and runs",
            bytes.len()
        );
        let with_others = [samples(1), bytes.clone(), samples(1)].concat();
        let lengths: Vec<usize> = runs(&with_others, MAX_RUN_BYTES).map(<[u8]>::len).collect();
        assert_eq!(lengths, [64, bytes.len(), 64]);
        let chunk = Chunk::new(&with_others);
        assert_eq!((chunk.samples, chunk.aggregated), (6002, 6000));
        let tally: Vec<_> = ChunkTally::of(&Chunk::new(&bytes), true).iter().collect();
        assert_eq!(tally.iter().map(|(id, s)| (*id, s.all)).collect::<Vec<_>>(), [(7, 6000)]);
        assert!(chunk.without_samples().is_empty());
        // Room for one and a half.
        let mut broadcast = broadcast();
        let (mut receiver, counters, _wake) = client(&mut broadcast, bytes.len() as u64 / 2 * 3);
        broadcast.write(&bytes).unwrap();
        broadcast.write(&bytes).unwrap();
        let account = counters.account(&Account { delivered: 12_000, ..Account::default() });
        assert_eq!((account.delivered, account.lost.get("queue")), (6000, Some(&6000)));
        assert_eq!(waiting(&mut receiver), (6000, bytes.len()));
        broadcast.write(&aggregate(1)).unwrap();
        let Dequeued::Item(QueueItem::Bytes(gap)) = receiver.next() else {
            panic!("the gap is told first")
        };
        let told = u64::from_ne_bytes(gap[16..24].try_into().unwrap());
        assert_eq!((gap[0], told), (2, 6000), "a LOST record");
        assert_eq!(waiting(&mut receiver).0, 3);
    }
}
