//! Names through fork, exec and thread naming, in any order of records.

use super::{Comms, STEPS, STEPS_A_RECORD};
use perfdata::{Pid, SampleId, SideRecord, Task, Tid, Time};

fn task(pid: i32, tid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(tid) }
}

fn at(time: u64) -> SampleId {
    SampleId { time: Some(Time(time)), ..SampleId::default() }
}

fn name(tid: i32, time: u64, name: &'static str) -> (SideRecord<'static>, SampleId) {
    (SideRecord::Comm { task: task(tid, tid), name: name.as_bytes() }, at(time))
}

fn fork(child: i32, parent: i32, time: u64) -> (SideRecord<'static>, SampleId) {
    let (task, parent) = (task(child, child), task(parent, parent));
    (SideRecord::Fork { task, parent, time: Time(time) }, at(time))
}

fn comms(records: &[(SideRecord<'_>, SampleId)]) -> Comms {
    let mut comms = Comms::default();
    for (record, id) in records {
        comms.side(record, id);
    }
    comms
}

fn text(comms: &mut Comms, tid: i32, time: u64) -> String {
    let comm = comms.at(Tid(tid), Time(time));
    comms.text(comm).to_string()
}

#[test]
fn a_child_has_its_parents_name_until_it_execs() {
    let records = [name(10, 5, "sh"), fork(11, 10, 20), name(11, 30, "make"), name(10, 25, "bash")];
    let mut backwards = records.clone();
    backwards.reverse();
    for mut comms in [comms(&records), comms(&backwards)] {
        assert_eq!(text(&mut comms, 10, 4), ":10");
        assert_eq!(text(&mut comms, 10, 5), "sh");
        assert_eq!(text(&mut comms, 11, 19), ":11");
        assert_eq!(text(&mut comms, 11, 20), "sh");
        // The parent's later name is not the child's.
        assert_eq!(text(&mut comms, 11, 29), "sh");
        assert_eq!(text(&mut comms, 11, 30), "make");
        assert_eq!(text(&mut comms, 10, 30), "bash");
    }
}

#[test]
fn who_takes_records_in_order_is_answered_between_them() {
    let mut comms = Comms::default();
    let asked = |comms: &mut Comms, tid, time| {
        let comm = comms.at(Tid(tid), Time(time));
        comms.name(comm).map(<[u8]>::to_vec)
    };
    comms.named(Tid(1), Time(1), b"sh");
    comms.forked(Tid(2), Time(2), Tid(1));
    comms.forked(Tid(1), Time(3), Tid(1));
    assert_eq!(asked(&mut comms, 2, 3), Some(b"sh".to_vec()));
    comms.named(Tid(1), Time(4), b"m\xffke");
    assert_eq!(asked(&mut comms, 2, 4), Some(b"sh".to_vec()), "its parent's of then");
    assert_eq!(asked(&mut comms, 1, 4), Some(b"m\xffke".to_vec()), "as it was recorded");
    comms.forked(Tid(2), Time(5), Tid(9));
    assert_eq!(asked(&mut comms, 2, 5), None, "its maker may have had another than its process");
    comms.forked(Tid(2), Time(6), Tid(0));
    assert_eq!(asked(&mut comms, 2, 6), Some(b"swapper".to_vec()));
}

#[test]
fn a_number_used_again_is_another_thread() {
    let mut comms =
        comms(&[name(7, 1, "old"), name(9, 1, "parent"), fork(7, 9, 50), name(7, 60, "new")]);
    assert_eq!(text(&mut comms, 7, 49), "old");
    assert_eq!(text(&mut comms, 7, 55), "parent");
    assert_eq!(text(&mut comms, 7, 60), "new");
}

#[test]
fn synthesized_names_win_over_forks_of_the_same_time() {
    for records in
        [[name(3, 0, "kthreadd"), fork(3, 1, 0)], [fork(3, 1, 0), name(3, 0, "kthreadd")]]
    {
        assert_eq!(text(&mut comms(&records), 3, 9), "kthreadd");
    }
}

#[test]
fn the_unnamed_print_as_perf_does() {
    let mut comms = comms(&[fork(8, 0, 5)]);
    assert_eq!(text(&mut comms, 0, 5), "swapper");
    assert_eq!(text(&mut comms, 8, 6), "swapper");
    assert_eq!(text(&mut comms, 12, 5), ":12");
    assert_eq!(text(&mut comms, -1, 5), ":-1");
}

#[test]
fn circles_of_forks_end() {
    let mut comms = comms(&[fork(1, 2, 5), fork(2, 1, 5), fork(3, 3, 5)]);
    assert_eq!(text(&mut comms, 1, 9), ":1");
    assert_eq!(text(&mut comms, 3, 9), ":3");
}

#[test]
fn long_lines_of_forks_keep_the_name() {
    let mut records = vec![name(1, 0, "first")];
    records.extend((1..9000).map(|tid| fork(tid + 1, tid, u64::from(tid.unsigned_abs()))));
    assert_eq!(text(&mut comms(&records), 9000, 50_000), "first");
}

#[test]
fn the_last_of_names_of_one_time_counts() {
    let mut comms = comms(&[name(1, 0, "z"), name(1, 0, "a"), name(2, 0, "a"), name(2, 0, "z")]);
    assert_eq!((text(&mut comms, 1, 5), text(&mut comms, 2, 5)), ("a".into(), "z".into()));
    // A late one, and one of before it.
    for (record, id) in [name(1, 9, "later"), name(1, 0, "z")] {
        comms.side(&record, &id);
    }
    assert_eq!((text(&mut comms, 1, 5), text(&mut comms, 1, 9)), ("z".into(), "later".into()));
}

#[test]
fn what_was_found_is_found_anew_after_a_late_record() {
    let mut comms = comms(&[fork(2, 1, 10), fork(3, 2, 20), name(9, 50, "other")]);
    assert_eq!((text(&mut comms, 3, 30), text(&mut comms, 2, 30)), (":3".into(), ":2".into()));
    for (time, late) in [(15, "a"), (5, "b"), (10, "c")] {
        let (record, id) = name(1, time, late);
        comms.side(&record, &id);
        let expected = if time == 15 { ":3" } else { late };
        assert_eq!(text(&mut comms, 3, 30), expected);
    }
    assert_eq!(text(&mut comms, 1, 30), "a");
}

#[test]
fn a_long_line_is_not_walked_for_each_sample() {
    // Unnamed: each walk goes to the end.
    let records: Vec<_> = (1..20_000).map(|tid| fork(tid + 1, tid, 1)).collect();
    let mut comms = comms(&records);
    for time in 0..20_000 {
        assert_eq!(text(&mut comms, 20_000, 2 + time), ":20000");
        assert_eq!(text(&mut comms, 19_999, 2 + time), ":19999");
    }
    let spent = STEPS + STEPS_A_RECORD * 19_999 - comms.steps;
    assert_eq!(spent, 19_999);
}

#[test]
fn a_hostile_order_of_records_does_not_take_for_ever() {
    let records: Vec<_> = (1..20_000).map(|tid| fork(tid + 1, tid, 1)).collect();
    let mut comms = comms(&records);
    for number in 0..20_000_u64 {
        let (record, id) = name(30_000, 0, "x");
        comms.side(&record, &id);
        assert_eq!(text(&mut comms, 20_000, 2 + number), ":20000");
    }
    // 400 million to walk all of them each time.
    assert!(comms.steps <= STEPS_A_RECORD, "{} steps of {STEPS} are left", comms.steps);
}

fn small(most_changes: usize) -> Comms {
    Comms { most_changes, ..Comms::default() }
}

#[test]
fn threads_beyond_the_room_have_no_name_and_that_is_told() {
    let mut comms = small(3);
    for tid in 1..=5 {
        let (record, id) = name(tid, 1, "own");
        comms.side(&record, &id);
    }
    let named: Vec<_> = (1..=5).map(|tid| text(&mut comms, tid, 2)).collect();
    assert_eq!(named, ["own", "own", "own", ":4", ":5"]);
    assert!(comms.note().is_some_and(|note| note.starts_with("2 names and forks")));
    assert_eq!(small(3).note(), None);
}

#[test]
fn a_thread_that_is_renamed_without_room_never_has_a_name_of_before() {
    let mut comms = small(4);
    for (tid, time, new) in [(1, 1, "a"), (2, 1, "b"), (2, 2, "c"), (2, 3, "d")] {
        let (record, id) = name(tid, time, new);
        comms.side(&record, &id);
    }
    for (time, new) in [(5, "e"), (6, "f"), (7, "g"), (8, "h")] {
        for tid in [1, 2] {
            let (record, id) = name(tid, time, new);
            comms.side(&record, &id);
            assert_eq!(text(&mut comms, tid, time), new);
        }
    }
    let kept: usize = comms.timelines.values().map(|it| it.changes.len()).sum();
    assert_eq!(kept, comms.changes);
    assert!(kept <= 4, "{kept}");
    // What was forgotten is no name, and no other's.
    assert_eq!(text(&mut comms, 1, 1), ":1");
}

#[test]
fn a_name_of_no_command_is_not_kept() {
    let mut comms = Comms::default();
    let long = "x".repeat(300);
    for (time, name) in [(1, "first"), (2, &long)] {
        let record = SideRecord::Comm { task: task(1, 1), name: name.as_bytes() };
        comms.side(&record, &at(time));
    }
    assert_eq!((text(&mut comms, 1, 1), text(&mut comms, 1, 2)), ("first".into(), ":1".into()));
    assert!(comms.note().is_some());
}

/// Numbers differ from run to run, the order does not.
#[test]
fn a_thread_has_a_place_in_the_order_of_their_begin() {
    let places = |first: i32| {
        let records = [fork(first + 7, first, 5), fork(first + 2, first, 9), name(first, 1, "run")];
        let comms = comms(&records);
        [0, 7, 2, 3].map(|of| comms.place(Tid(first + of)))
    };
    assert_eq!(places(100), [Some(1), Some(2), Some(3), None]);
    assert_eq!(places(200), places(100));
}
