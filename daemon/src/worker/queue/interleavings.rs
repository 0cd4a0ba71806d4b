//! Every interleaving of a ring thread and a client's task. Run as
//! `ring::tests::interleavings` is.

use loom::sync::{Arc, Notify};

use super::*;
use crate::worker::chunk::StreamTotals;
use crate::worker::client_counters::ClientCounters;

fn bytes(n: u8) -> std::sync::Arc<[u8]> {
    vec![n; usize::from(n)].into()
}

fn ending() -> std::sync::Arc<StreamEnding> {
    let session = Account { delivered: 1, ..Account::default() };
    std::sync::Arc::new(StreamEnding { reason: "the end".into(), notes: Vec::new(), session })
}

#[test]
fn all_items_arrive_in_order_and_the_end_is_heard() {
    loom::model(|| {
        let (mut sender, mut receiver) = queue(100);
        let waker = Arc::new(Notify::new());
        let counters = std::sync::Arc::new(ClientCounters::default());
        let (ringer, counted) = (Arc::clone(&waker), std::sync::Arc::clone(&counters));
        let thread = loom::thread::spawn(move || {
            assert!(sender.push(bytes(2)));
            counted.took(&StreamTotals { samples: 1, ..StreamTotals::default() });
            ringer.notify();
            assert!(sender.end(ending()));
            drop(sender);
            ringer.notify();
        });
        let mut seen = Vec::new();
        let ending = 'end: loop {
            waker.wait();
            loop {
                match receiver.next() {
                    Dequeued::Item(QueueItem::Bytes(bytes)) => seen.push(bytes.len()),
                    Dequeued::Item(QueueItem::End(ending)) => break 'end ending,
                    Dequeued::Empty => break,
                    Dequeued::Abandoned => panic!("the end was pushed before"),
                }
            }
        };
        assert_eq!(seen, [2]);
        assert_eq!(receiver.queued.load(Ordering::Relaxed), 0);
        let account = counters.account(&ending.session);
        assert_eq!((account.delivered, account.lost.len()), (1, 0), "all that was counted is seen");
        thread.join().unwrap();
    });
}

#[test]
fn a_client_that_goes_is_noticed_and_counts_stay_whole() {
    loom::model(|| {
        let (mut sender, mut receiver) = queue(100);
        let thread = loom::thread::spawn(move || {
            let pushed = u64::from(sender.push(bytes(1)));
            let more = 2 * u64::from(sender.push(bytes(2)));
            let left = sender.queued().load(Ordering::Relaxed);
            assert!(left <= pushed + more, "{left} of {pushed} and {more}");
            sender
        });
        let taken = match receiver.next() {
            Dequeued::Item(QueueItem::Bytes(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        let queued = std::sync::Arc::clone(&receiver.queued);
        drop(receiver);
        let mut sender = thread.join().unwrap();
        assert!(sender.is_abandoned());
        assert!(!sender.push(bytes(9)), "nobody takes it");
        assert!(queued.load(Ordering::Relaxed) + taken <= 3);
    });
}

#[test]
fn a_ring_thread_that_breaks_off_is_noticed_after_its_last_item() {
    loom::model(|| {
        let (mut sender, mut receiver) = queue(100);
        let thread = loom::thread::spawn(move || assert!(sender.push(bytes(1))));
        let mut seen = 0;
        loop {
            match receiver.next() {
                Dequeued::Item(_) => seen += 1,
                Dequeued::Empty => loom::thread::yield_now(),
                Dequeued::Abandoned => break,
            }
        }
        assert_eq!(seen, 1);
        thread.join().unwrap();
    });
}
