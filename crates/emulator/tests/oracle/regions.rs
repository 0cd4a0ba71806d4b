use std::collections::BTreeMap;

use emulator::{Burst, Class, EmulatedEvent, TaskExit};
use perfdata::{ByteOrder, RecordType, RegionMark, RegionSide, Tid};

use crate::behaviour::{assert_same_behaviour, assert_same_behaviour_in};
use crate::run::{Recorded, Recording};
use crate::workload::Workload;

const L1: &str = "l1d=32k,8,64 l1i=off l2=off l3=off dtlb=off stlb=off";
/// Bytes before what a mark tells: a header, what an update is of, an id.
const BEFORE: usize = 24;

/// The marks of a ring, in its order.
fn marks(bytes: &[u8]) -> Vec<RegionMark<'_>> {
    let mut marks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let kind = u32::from_le_bytes(rest[..4].try_into().unwrap());
        let size = usize::from(u16::from_le_bytes(rest[6..8].try_into().unwrap()));
        if RecordType(kind) == RecordType::EVENT_UPDATE {
            marks.push(RegionMark::decode(&rest[BEFORE..size], ByteOrder::Little).unwrap());
        }
        rest = &rest[size..];
    }
    marks
}

/// What each thread marked, without who it was.
fn by_thread(recorded: &Recorded) -> Vec<Vec<(bool, String)>> {
    let mut threads: BTreeMap<i32, Vec<(bool, String)>> = BTreeMap::new();
    for RegionMark { task, side, name, .. } in marks(&recorded.bytes) {
        let name = String::from_utf8_lossy(name).into_owned();
        threads.entry(task.tid.0).or_default().push((side == RegionSide::Begin, name));
    }
    let mut told: Vec<_> = threads.into_values().collect();
    told.sort();
    told
}

#[test]
fn marks_change_nothing_for_the_program() {
    let program = Workload::usual("regions.c");
    assert_same_behaviour(&program, &[]);
    assert_same_behaviour_in(Some(Burst { on: 10, every: 100, warm: Some(0) }), &program, &[]);
}

/// Whatever is counted, in bursts and between them.
#[test]
fn all_marks_are_told() {
    let program = Workload::fixed("regions.c");
    let miss = Recording::every(EmulatedEvent::L1DataMiss, L1);
    let whole = miss.of(&program.path(), &[]);
    let told = by_thread(&whole);
    let count = |of: &dyn Fn(&(bool, String)) -> bool| {
        told.iter().flatten().filter(|mark| of(mark)).count()
    };
    assert_eq!(count(&|(begins, name)| *begins && name == "loop"), 1000);
    assert_eq!(count(&|(begins, name)| !begins && name == "loop"), 1000);
    assert_eq!(count(&|(_, name)| name == &"x".repeat(95)), 1);
    assert_eq!(count(&|(begins, name)| *begins && name.is_empty()), 0);
    assert_eq!(count(&|(begins, name)| !begins && name.is_empty()), 4, "{told:?}");
    let once = ["inner", "innermost", "forking", "child", "handler", "wild", "before", "after"];
    for name in once {
        let begins = if name.starts_with("inner") { 2 } else { 1 };
        assert_eq!(count(&|mark| *mark == (true, name.to_owned())), begins, "{name}");
    }
    assert_eq!(told.len(), 4, "the program, two threads, a child");
    for (on, every, warm) in [(1, 3, 0), (50, 500, 50), (1000, 1_000_000, 0)] {
        let burst = Some(Burst { on, every, warm: Some(warm) });
        let part = Recording { burst, ..miss.clone() }.of(&program.path(), &[]);
        assert_eq!(by_thread(&part), told, "{on}/{every}");
    }
}

/// Every instruction is a record: those between two marks lie between them, in
/// the stream and in time.
#[test]
fn marks_are_where_they_are() {
    let program = Workload::fixed("regions.c");
    let retired = Recording::every(EmulatedEvent::Class(Class::Retired), L1);
    let recorded = retired.of(&program.path(), &["marks", "300"]);
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let marks = marks(&recorded.bytes);
    assert_eq!(marks.len(), 600);
    let mut last = None;
    for pair in marks.chunks(2) {
        let [begin, end] = pair else { panic!("{pair:?}") };
        assert_eq!((begin.side, end.side), (RegionSide::Begin, RegionSide::End));
        assert_eq!((begin.name, end.name), (b"loop".as_slice(), b"loop".as_slice()));
        let inside: Vec<_> = recorded
            .records
            .iter()
            .filter(|record| record.time > begin.time.0 && record.time <= end.time.0)
            .collect();
        let task = i32::try_from(inside[0].thread).unwrap();
        assert_eq!((begin.task.tid, end.task.tid), (Tid(task), Tid(task)));
        // Both marks are counted as the no-operations that they are: the begin
        // before it is told, as its accesses would be.
        let ips: Vec<u64> = inside.iter().map(|record| record.ip).collect();
        assert!(last.as_ref().is_none_or(|last| *last == ips), "{last:x?} {ips:x?}");
        assert!((4..=6).contains(&ips.len()), "{ips:x?}");
        last = Some(ips);
    }
    let times: Vec<u64> = recorded.records.iter().map(|record| record.time).collect();
    assert!(times.is_sorted_by(|one, next| one < next));
    assert!(
        marks.iter().all(|mark| times.binary_search(&mark.time.0).is_err()),
        "times of their own"
    );
}

#[test]
fn names_are_read_where_a_program_has_given_up_system_calls() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root emulates a program under its filter");
    }
    let program = Workload::fixed("regions.c");
    let recorded =
        Recording::every(EmulatedEvent::L1DataMiss, L1).of(&program.path(), &["filtered"]);
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let mark = |begins, name: &str| (begins, name.to_owned());
    let expected = [
        mark(true, "before"),
        mark(false, "before"),
        mark(true, "behind"),
        mark(true, "a filter"),
        mark(false, ""),
        mark(false, "behind"),
    ];
    assert_eq!(by_thread(&recorded), [expected]);
}
