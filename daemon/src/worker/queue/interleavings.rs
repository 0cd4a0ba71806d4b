//! Every interleaving of a ring thread and a client's task. Run as
//! `ring::tests::interleavings` is.

use loom::sync::{Arc, Notify};
use recorder::remote::protocol::Account;

use super::*;
use crate::worker::fan::{Passed, StreamEnding};
use crate::worker::share::ClientShare;

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
        let (mut feed, mut outlet) = queue(100);
        let bell = Arc::new(Notify::new());
        let share = std::sync::Arc::new(ClientShare::default());
        let (ringer, counted) = (Arc::clone(&bell), std::sync::Arc::clone(&share));
        let thread = loom::thread::spawn(move || {
            assert!(feed.push(bytes(2)));
            counted.took(&Passed { samples: 1, ..Passed::default() });
            ringer.notify();
            assert!(feed.end(ending()));
            drop(feed);
            ringer.notify();
        });
        let mut seen = Vec::new();
        let ending = 'end: loop {
            bell.wait();
            loop {
                match outlet.next() {
                    Next::Item(QueueItem::Bytes(bytes)) => seen.push(bytes.len()),
                    Next::Item(QueueItem::End(ending)) => break 'end ending,
                    Next::Empty => break,
                    Next::Abandoned => panic!("the end was pushed before"),
                }
            }
        };
        assert_eq!(seen, [2]);
        assert_eq!(outlet.queued.load(Ordering::Relaxed), 0);
        let account = share.account(&ending.session);
        assert_eq!((account.delivered, account.lost.len()), (1, 0), "all that was counted is seen");
        thread.join().unwrap();
    });
}

#[test]
fn a_client_that_goes_is_noticed_and_counts_stay_whole() {
    loom::model(|| {
        let (mut feed, mut outlet) = queue(100);
        let thread = loom::thread::spawn(move || {
            let pushed = u64::from(feed.push(bytes(1)));
            let more = 2 * u64::from(feed.push(bytes(2)));
            let left = feed.queued().load(Ordering::Relaxed);
            assert!(left <= pushed + more, "{left} of {pushed} and {more}");
            feed
        });
        let taken = match outlet.next() {
            Next::Item(QueueItem::Bytes(bytes)) => bytes.len() as u64,
            _ => 0,
        };
        let queued = std::sync::Arc::clone(&outlet.queued);
        drop(outlet);
        let mut feed = thread.join().unwrap();
        assert!(feed.is_abandoned());
        assert!(!feed.push(bytes(9)), "nobody takes it");
        assert!(queued.load(Ordering::Relaxed) + taken <= 3);
    });
}

#[test]
fn a_ring_thread_that_breaks_off_is_noticed_after_its_last_item() {
    loom::model(|| {
        let (mut feed, mut outlet) = queue(100);
        let thread = loom::thread::spawn(move || assert!(feed.push(bytes(1))));
        let mut seen = 0;
        loop {
            match outlet.next() {
                Next::Item(_) => seen += 1,
                Next::Empty => loom::thread::yield_now(),
                Next::Abandoned => break,
            }
        }
        assert_eq!(seen, 1);
        thread.join().unwrap();
    });
}
