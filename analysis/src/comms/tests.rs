//! Names through fork, exec and thread naming, in any order of records.

use super::Comms;
use record::{Pid, SampleId, SideRecord, Task, Tid, Time};

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
    records.extend((1..1000).map(|tid| fork(tid + 1, tid, u64::from(tid.unsigned_abs()))));
    assert_eq!(text(&mut comms(&records), 1000, 5000), "first");
}
