use emulator::{Burst, Class, Classifier, EmulatedEvent};
use perfdata::{DataSrc, InstructionClass};

use crate::run::{Record, Recorded, Recording};
use crate::workload::Workload;

/// So small that every level misses.
const SMALL: &str = "l1d=1k,2 l1i=off l2=4k,4 l3=16k,4 dtlb=4,2 stlb=8,2";
const WITH_CODE: &str = "l1d=1k,2 l1i=1k,2 l2=4k,4 l3=16k,4 dtlb=4,2 stlb=8,2";

const MODELLED: [EmulatedEvent; 11] = [
    EmulatedEvent::L1DataMiss,
    EmulatedEvent::L2Miss,
    EmulatedEvent::L3Miss,
    EmulatedEvent::DtlbLoadMiss,
    EmulatedEvent::DtlbStoreMiss,
    EmulatedEvent::DtlbMiss,
    EmulatedEvent::PageWalk,
    EmulatedEvent::SplitLoad,
    EmulatedEvent::SplitStore,
    EmulatedEvent::BlockedForward,
    EmulatedEvent::HitModified,
];

/// Classes that overlap, so that an instruction counts for several at once.
fn class(kind: InstructionClass, rest: u64) -> (EmulatedEvent, Classifier) {
    let counts = Classifier::new(move |instruction| instruction.ip() % 3 >= rest);
    (EmulatedEvent::Class(Class::Of(kind)), counts)
}

/// Every event that there is, each with an interval and a seed of its own.
fn all(geometry: &'static str, interval: u64) -> Vec<Recording> {
    let mut all: Vec<Recording> =
        MODELLED.iter().map(|&event| Recording::every(event, geometry)).collect();
    all.insert(3, Recording::every(EmulatedEvent::Class(Class::Retired), geometry));
    for (kind, rest) in [
        (InstructionClass::ReadsMemory, 0),
        (InstructionClass::WritesMemory, 1),
        (InstructionClass::AccessesMemory, 2),
        (InstructionClass::PackedDp, 1),
    ] {
        let (event, classifier) = class(kind, rest);
        let recording = Recording::every(event, geometry);
        all.insert(0, Recording { classifier: Some(classifier), ..recording });
    }
    for (place, one) in (0..).zip(&mut all) {
        one.interval = if interval > 1 { interval + place } else { 1 };
        one.seed = (interval > 1).then_some(place);
    }
    all
}

fn together(mut all: Vec<Recording>) -> Recording {
    let also = all.split_off(1);
    Recording { also, ..all.remove(0) }
}

/// A record's time is that of all together; what served it, too, where code is
/// looked up for some alone, and where alone no data are.
fn what(record: &Record, with_source: bool) -> Record {
    let data_src = if with_source { record.data_src } else { DataSrc(0) };
    Record { time: 0, thread: 0, event: 0, data_src, ..record.clone() }
}

#[track_caller]
fn assert_single(joint: &Recorded, place: usize, alone: &Recorded, with_source: bool) {
    let counts = &joint.account.by_event[place];
    assert_eq!(counts.events, alone.counts().events, "event {place}");
    assert_eq!((counts.records, counts.lost), (alone.counts().records, 0), "event {place}");
    let records = joint.records.iter().filter(|record| record.event == place);
    let records: Vec<Record> = records.map(|record| what(record, with_source)).collect();
    let expected: Vec<Record> =
        alone.records.iter().map(|record| what(record, with_source)).collect();
    let differing = records.iter().zip(&expected).enumerate().find(|(_, (a, b))| a != b);
    assert!(differing.is_none(), "event {place}: {differing:x?}");
    assert_eq!(records.len(), expected.len(), "event {place}");
    assert_eq!(counts.records, u64::try_from(records.len()).unwrap());
}

#[track_caller]
fn assert_singles(program: &Workload, all: Vec<Recording>, with_source: bool) -> Recorded {
    let joint = together(all.clone()).of(&program.path(), &[]);
    for (place, one) in all.iter().enumerate() {
        let alone = one.of(&program.path(), &[]);
        assert_single(&joint, place, &alone, with_source && one.event.is_of_data());
    }
    joint
}

/// All kinds of instructions, each event a record: of one access several
/// events may have theirs.
#[test]
fn events_together_have_the_records_that_each_has_alone() {
    let program = Workload::bare("accesses.S");
    let joint = assert_singles(&program, all(SMALL, 1), true);
    let happened = joint.account.by_event.iter().filter(|counts| counts.events > 0);
    // One thread takes no line from another, and none of these loads waits.
    assert_eq!(happened.count(), joint.account.by_event.len() - 2);
}

#[test]
fn so_they_have_with_periods_that_are_drawn() {
    assert_singles(&Workload::bare("accesses.S"), all(SMALL, 7), true);
}

/// Lines of code take room in the levels behind the first, for all events
/// once one counts their misses.
#[test]
fn so_they_have_where_code_is_fetched() {
    assert_singles(&Workload::bare("accesses.S"), all(WITH_CODE, 1), false);
    let joint = assert_singles(&Workload::bare("walks.S"), all(WITH_CODE, 50), false);
    assert!(joint.account.by_event[14].events > 0, "loads that wait: {:?}", joint.account);
}

/// Who has the line when depends on turns, whose lengths are the same
/// whatever is counted.
#[test]
fn threads_take_the_same_turns_for_all_events() {
    let program = Workload::fixed("turns.c");
    let geometry = "l1d=32k,8,64 l1i=off l2=off l3=512k,8,64 dtlb=16,4 stlb=off";
    let (reads, classifier) = class(InstructionClass::ReadsMemory, 0);
    let events =
        [EmulatedEvent::HitModified, reads, EmulatedEvent::L1DataMiss, EmulatedEvent::DtlbLoadMiss];
    let all = events.map(|event| Recording {
        classifier: (event == reads).then(|| classifier.clone()),
        interval: 5,
        seed: Some(1),
        ..Recording::every(event, geometry)
    });
    let joint = together(all.to_vec()).of(&program.path(), &["line"]);
    for (place, one) in all.iter().enumerate() {
        let alone = one.of(&program.path(), &["line"]);
        assert_eq!(joint.account.by_event[place].events, alone.counts().events, "event {place}");
    }
    assert!(joint.counts().events > 300, "{:?}", joint.account.by_event);
}

#[test]
fn bursts_are_those_of_each_alone() {
    let program = Workload::fixed("patterns.c");
    let geometry = "l1d=4k,2 l1i=off l2=off l3=off dtlb=off stlb=off";
    let events =
        [EmulatedEvent::L1DataMiss, EmulatedEvent::BlockedForward, EmulatedEvent::SplitLoad];
    let all = events.map(|event| Recording {
        interval: 10,
        burst: Some(Burst { on: 1000, every: 7000, warm: Some(500) }),
        ..Recording::every(event, geometry)
    });
    let arguments = ["pair", "20000"];
    let joint = together(all.to_vec()).of(&program.path(), &arguments);
    for (place, one) in all.iter().enumerate() {
        let alone = one.of(&program.path(), &arguments);
        assert_eq!(&joint.account.by_event[place], alone.counts(), "event {place}");
    }
    assert!(joint.counts().events > 0);
}

/// The limit is of all records, and what one access owes beyond it is not
/// written.
#[test]
fn a_count_of_records_is_of_all_events() {
    let program = Workload::bare("accesses.S");
    let recording = Recording { count: Some(101), ..together(all(SMALL, 1)) };
    let recorded = recording.of(&program.path(), &[]);
    assert_eq!(recorded.records.len(), 101);
    let records: u64 = recorded.account.by_event.iter().map(|counts| counts.records).sum();
    assert_eq!(records, 101);
}
