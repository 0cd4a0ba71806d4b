use std::collections::BTreeMap;

use emulator::{Class, EmulatedEvent};

use crate::run::{Record, Recorded, Recording};
use crate::workload::Workload;

const GEOMETRY: &str = "l1d=32k,8,64 l1i=off l2=off l3=off dtlb=off stlb=off";

fn drawn(event: EmulatedEvent, interval: u64, seed: u64) -> Recording {
    Recording { interval, seed: Some(seed), ..Recording::every(event, GEOMETRY) }
}

fn periods(recorded: &Recorded) -> Vec<u64> {
    recorded.records.iter().map(|record| record.period).collect()
}

/// What a record says but when, and of how many events.
fn what(record: &Record) -> Record {
    Record { time: 0, period: 0, ..record.clone() }
}

/// The sum of the periods up to a record is the number of its event among all.
#[test]
fn a_record_is_of_the_event_that_its_periods_add_up_to() {
    let program = Workload::fixed("patterns.c");
    let misses = EmulatedEvent::L1DataMiss;
    let run = |recording: Recording| recording.of(&program.path(), &["pair", "20000"]);
    let all = run(Recording::every(misses, GEOMETRY));
    for (interval, seed) in [(2, 0), (100, 1), (100, 2), (1000, u64::MAX)] {
        let some = run(drawn(misses, interval, seed));
        assert_eq!(some.counts().events, all.counts().events);
        let mut at = 0;
        for record in &some.records {
            at += usize::try_from(record.period).unwrap();
            assert_eq!(what(record).ip, all.records[at - 1].ip, "interval {interval}, event {at}");
            assert_eq!(what(record).address, all.records[at - 1].address, "event {at}");
        }
        // What is left of the last period.
        let rest = all.records.len() - at;
        assert!(rest < usize::try_from(2 * interval).unwrap(), "{rest} after the last record");
        assert!(some.records.iter().all(|record| record.period < 2 * interval));
    }
}

#[test]
fn a_seed_gives_the_same_records_again_and_another_others() {
    let program = Workload::fixed("patterns.c");
    let event = EmulatedEvent::L1DataMiss;
    let run = |seed| drawn(event, 100, seed).of(&program.path(), &["pair", "20000"]);
    let (one, again, other) = (run(7), run(7), run(8));
    assert_eq!(periods(&one), periods(&again));
    assert_eq!(one.records.len(), again.records.len());
    for (one, again) in one.records.iter().zip(&again.records) {
        assert_eq!(what(one).address, what(again).address);
    }
    assert_ne!(periods(&one), periods(&other));
}

/// Threads, and programs shorter than an interval, count to periods of their own; what no
/// record stands for is the rest of each thread.
#[test]
fn events_are_the_periods_and_a_rest_of_each_thread() {
    let program = Workload::fixed("crowd.c");
    let event = EmulatedEvent::Class(Class::Retired);
    for interval in [100, 10_000] {
        let recorded = drawn(event, interval, 3).of(&program.path(), &[]);
        let told: u64 = periods(&recorded).iter().sum();
        let rest = recorded.counts().events.checked_sub(told).unwrap();
        let threads = recorded.account.threads;
        assert!(threads > 1 && rest <= threads * (2 * interval - 1), "{rest} of {threads}");
        let mut first = BTreeMap::new();
        for record in &recorded.records {
            first.entry(record.thread).or_insert(record.period);
        }
        let lengths: std::collections::BTreeSet<u64> = first.values().copied().collect();
        assert!(lengths.len() > 1, "all threads begin alike: {first:?}");
    }
}
