use super::*;
use perfdata::{Pid, Task};
use proptest::prelude::*;

fn task(pid: i32, tid: i32) -> Task {
    Task { pid: Pid(pid), tid: Tid(tid) }
}

fn begin(regions: &mut Regions, tid: i32, time: u64, name: &str) {
    let (side, name) = (RegionSide::Begin, name.as_bytes());
    regions.mark(&RegionMark { time: Time(time), task: task(1, tid), side, name });
}

fn end(regions: &mut Regions, tid: i32, time: u64, name: &str) {
    let (side, name) = (RegionSide::End, name.as_bytes());
    regions.mark(&RegionMark { time: Time(time), task: task(1, tid), side, name });
}

fn forked(regions: &mut Regions, child: Task, parent: Task, time: u64) {
    let fork = SidebandRecord::Fork { task: child, parent, time: Time(time) };
    regions.side(Misc(0), &fork, &SampleId::default());
}

fn executed(regions: &mut Regions, task: Task, time: u64) {
    let comm = SidebandRecord::Comm { task, name: b"other" };
    let id = SampleId { time: Some(Time(time)), ..SampleId::default() };
    regions.side(Misc::COMM_EXEC, &comm, &id);
}

fn at(regions: &mut Regions, tid: i32, time: u64) -> String {
    match regions.at(Tid(tid), Time(time)) {
        RegionPath::NONE => "-".into(),
        RegionPath::NOT_KEPT => "?".into(),
        path => regions.text(path).to_string(),
    }
}

#[test]
fn regions_lie_one_inside_the_other() {
    let mut regions = Regions::default();
    begin(&mut regions, 1, 10, "solve");
    begin(&mut regions, 1, 20, "sweep");
    end(&mut regions, 1, 30, "");
    end(&mut regions, 1, 40, "solve");
    let found: Vec<String> =
        [9, 10, 19, 20, 29, 30, 40].map(|time| at(&mut regions, 1, time)).into();
    assert_eq!(found, ["-", "solve", "solve", "solve/sweep", "solve/sweep", "solve", "-"]);
    assert_eq!(at(&mut regions, 2, 25), "-", "another thread is in none");
    assert_eq!(regions.notes(), [None, None]);
}

#[test]
fn a_region_may_end_before_one_that_began_in_it() {
    let mut regions = Regions::default();
    begin(&mut regions, 1, 10, "a");
    begin(&mut regions, 1, 20, "b");
    end(&mut regions, 1, 30, "a");
    end(&mut regions, 1, 40, "a");
    assert_eq!(at(&mut regions, 1, 35), "b");
    assert_eq!(at(&mut regions, 1, 45), "b", "there is no more of that name to end");
    assert!(regions.notes()[1].as_deref().unwrap().starts_with("1 ends of regions"));
}

#[test]
fn marks_come_in_any_order_within_a_round() {
    let mut regions = Regions::default();
    begin(&mut regions, 1, 30, "late");
    begin(&mut regions, 1, 10, "early");
    assert_eq!(at(&mut regions, 1, 35), "early/late");
    end(&mut regions, 1, 20, "early");
    assert_eq!(at(&mut regions, 1, 35), "late");
    assert_eq!(at(&mut regions, 1, 15), "early");
}

#[test]
fn a_process_begins_where_its_parent_was_and_a_thread_in_none() {
    let mut regions = Regions::default();
    forked(&mut regions, task(2, 2), task(1, 1), 15);
    forked(&mut regions, task(1, 3), task(1, 1), 15);
    begin(&mut regions, 3, 5, "of an older thread");
    begin(&mut regions, 1, 10, "solve");
    end(&mut regions, 1, 20, "");
    assert_eq!(at(&mut regions, 2, 30), "solve");
    assert_eq!(at(&mut regions, 3, 14), "of an older thread");
    assert_eq!(at(&mut regions, 3, 30), "-");
    forked(&mut regions, task(1, 3), task(1, 1), 40);
    assert_eq!(at(&mut regions, 3, 41), "-");
    executed(&mut regions, task(2, 2), 50);
    assert_eq!(at(&mut regions, 2, 49), "solve");
    assert_eq!(at(&mut regions, 2, 50), "-", "the program that was marked is gone");
}

#[test]
fn forks_in_a_circle_find_nothing() {
    let mut regions = Regions::default();
    forked(&mut regions, task(2, 2), task(1, 1), 10);
    forked(&mut regions, task(1, 1), task(2, 2), 10);
    assert_eq!(at(&mut regions, 1, 20), "-");
    for child in 3..200 {
        forked(&mut regions, task(child, child), task(child - 1, child - 1), 20);
    }
    assert_eq!(at(&mut regions, 199, 20), "?", "as many generations are not followed");
}

#[test]
fn what_was_let_go_is_not_taken_for_none() {
    let mut regions = Regions::default();
    for round in 0..MANY as u64 {
        begin(&mut regions, 1, 10 * round + 1, "sweep");
        end(&mut regions, 1, 10 * round + 6, "");
    }
    let last = 10 * MANY as u64;
    assert_eq!(at(&mut regions, 1, last - 5), "sweep");
    regions.forget(Time(last - 5));
    assert_eq!(regions.kept, 2);
    assert_eq!(at(&mut regions, 1, last - 5), "sweep");
    assert_eq!(at(&mut regions, 1, last), "-");
    assert_eq!(at(&mut regions, 1, 3), "?");
}

#[test]
fn very_deep_nestings_end_as_they_began() {
    let mut regions = Regions::default();
    for time in 1..=300 {
        begin(&mut regions, 1, time, "again");
    }
    let deep = at(&mut regions, 1, 300);
    assert!(deep.starts_with(".../again/again") && deep.len() < 1000, "{deep}");
    for time in 301..=600 {
        end(&mut regions, 1, time, "");
    }
    assert_eq!(at(&mut regions, 1, 600), "-");
}

proptest! {
    /// Against a stack of names that is kept by hand.
    #[test]
    fn a_thread_is_where_its_stack_says(steps in proptest::collection::vec((0u8..5, 0u64..3), 1..60)) {
        let mut regions = Regions::default();
        let mut stack: Vec<&str> = Vec::new();
        let mut time = 0;
        let mut expected = Vec::new();
        for (what, later) in steps {
            time += later;
            match what {
                0 => { begin(&mut regions, 1, time, "a"); stack.push("a"); }
                1 => { begin(&mut regions, 1, time, "b"); stack.push("b"); }
                2 => { end(&mut regions, 1, time, ""); stack.pop(); }
                3 => {
                    end(&mut regions, 1, time, "a");
                    if let Some(place) = stack.iter().rposition(|name| *name == "a") {
                        stack.remove(place);
                    }
                }
                _ => { executed(&mut regions, task(1, 1), time); stack.clear(); }
            }
            expected.retain(|(at, _)| *at != time);
            expected.push((time, if stack.is_empty() { "-".to_owned() } else { stack.join("/") }));
            // Asked for now and then, as rounds do.
            let _ = at(&mut regions, 1, time);
        }
        for (time, path) in expected {
            prop_assert_eq!(at(&mut regions, 1, time), path);
        }
    }
}
