use std::time::Instant;

use emulator::EmulatedEvent;

use crate::behaviour::natively;
use crate::run::{Record, Recording, end};
use crate::workload::Workload;

const GEOMETRY: &str = "l1d=4k,2,64 l1i=off l2=off l3=off dtlb=off stlb=off";

/// Fails unless the program, left after so many records, writes and ends as
/// it does natively.
#[track_caller]
fn assert_left(name: &'static str, arguments: &[&str], counts: &[u64]) {
    let program = Workload::usual(name);
    let native = natively(&program, arguments);
    for &count in counts {
        let recording = Recording {
            interval: 10,
            count: Some(count),
            ..Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY)
        };
        let recorded = recording.of(&program.path(), arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(text(&recorded.out), text(&native.stdout), "{name} after {count}");
        assert_eq!(recorded.ended, Some(end(&native.status)), "{name} after {count}");
        assert!(recorded.left, "{name} after {count}");
        assert_eq!(recorded.records.len() as u64, count, "{name}");
        assert_eq!(recorded.account.not_followed, [], "{name} after {count}");
    }
}

#[test]
fn threads_amid_signals_and_children() {
    assert_left("crowd.c", &[], &[1, 100, 1000]);
    assert_left("waits.c", &[], &[20, 100]);
}

/// Most of them wait for their turn, in the runtime.
#[test]
fn threads_that_take_turns() {
    assert_left("turns.c", &["crowd", "64"], &[250, 3000, 15_000]);
}

#[test]
fn a_parent_that_waits_for_a_child_of_vfork() {
    assert_left("vfork.c", &[], &[100, 2000, 10_000, 20_000]);
}

#[test]
fn a_process_whose_first_thread_has_ended() {
    assert_left("leader.c", &[], &[10, 5000, 20_000]);
}

#[test]
fn signals_that_wait_when_their_thread_is_left() {
    assert_left("queued.c", &[], &[50, 200, 500, 1000, 2000]);
}

#[test]
fn what_a_program_set_for_breakpoints() {
    assert_left("traps.c", &[], &[30, 500, 2000, 4000]);
}

#[test]
fn a_program_whose_code_has_no_room_beside_it() {
    let program = Workload::usual("corner.c");
    let native = natively(&program, &[]);
    let begun = Instant::now();
    let every = Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY);
    let recorded = every.of(&program.path(), &[]);
    let [(_, became)] = recorded.account.broken.as_slice() else {
        panic!("{:?}", recorded.account.broken)
    };
    assert!(
        became.starts_with("runs on natively: no room for translated code near 0x"),
        "{became}"
    );
    assert!(recorded.left, "after {:?}", begun.elapsed());
    assert_eq!(String::from_utf8(recorded.out), String::from_utf8(native.stdout));
    assert_eq!(recorded.ended, Some(end(&native.status)));
}

/// Nothing of the emulator's can be beside what such a call names.
#[test]
fn a_program_that_names_all_memory_keeps_its_books() {
    let program = Workload::usual("whole.c");
    let native = natively(&program, &[]);
    let every = Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY);
    let recorded = every.of(&program.path(), &[]);
    let [(_, became)] = recorded.account.broken.as_slice() else {
        panic!("{:?}", recorded.account.broken)
    };
    assert_eq!(became, "runs on natively: no room in it");
    assert_eq!(String::from_utf8_lossy(&recorded.out), String::from_utf8_lossy(&native.stdout));
    assert_eq!(recorded.ended, Some(end(&native.status)));
    let (counts, records) = (recorded.counts(), recorded.records.len() as u64);
    assert!(records > (1 << 20) / 64, "{records}");
    assert_eq!((counts.events, counts.records, counts.lost), (records, records, 0));
}

#[test]
fn a_child_that_is_given_up_ends_the_emulation_of_no_other() {
    let program = Workload::usual("corner.c");
    let native = natively(&program, &["child"]);
    let every = Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY);
    let recorded = every.of(&program.path(), &["child"]);
    assert_eq!(String::from_utf8(recorded.out), String::from_utf8(native.stdout));
    assert_eq!(recorded.ended, Some(end(&native.status)));
    let [(pid, became)] = recorded.account.broken.as_slice() else {
        panic!("{:?}", recorded.account.broken)
    };
    assert!(became.starts_with("runs on natively: no room"), "{became}");
    // What the parent does afterwards is counted.
    let of_parent = |record: &&Record| record.thread != pid.0.cast_unsigned();
    let parents = recorded.records.iter().filter(of_parent).count();
    assert!(parents > (1 << 20) / 64, "{parents}");
}
