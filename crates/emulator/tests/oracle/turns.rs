use std::collections::BTreeMap;

use emulator::EmulatedEvent;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::behaviour::natively;
use crate::run::{Record, Recorded, Recording, end};
use crate::workload::Workload;

const GEOMETRY: &str = "l1d=32k,8,64 l1i=off l2=off l3=512k,8,64 dtlb=off stlb=off";

/// Records with threads numbered in the order in which they were made.
fn records(recorded: Recorded) -> Vec<Record> {
    let mut records = recorded.records;
    let mut numbers = BTreeMap::new();
    for record in &records {
        numbers.insert(record.thread, 0);
    }
    for (number, (_, place)) in (0..).zip(&mut numbers) {
        *place = number;
    }
    for record in &mut records {
        record.thread = numbers[&record.thread];
    }
    records
}

#[track_caller]
fn assert_alike(first: &[Record], second: &[Record]) {
    let differing = first.iter().zip(second).enumerate().find(|(_, (a, b))| a != b);
    assert!(differing.is_none(), "{differing:x?}");
    assert_eq!(first.len(), second.len());
}

fn on_one_cpu<T>(run: impl FnOnce() -> T) -> T {
    let all = sched_getaffinity(None).unwrap();
    let first = (0..CpuSet::MAX_CPU).find(|&cpu| all.is_set(cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).unwrap();
    let result = run();
    sched_setaffinity(None, &all).unwrap();
    result
}

/// Two cores would fight for the line as long as both run: at least one
/// transfer in each thousand instructions, of the 300,000 and more.
#[test]
fn a_line_that_two_write_goes_to_and_fro_alike_in_each_run() {
    let program = Workload::fixed("turns.c");
    let recording = Recording::every(EmulatedEvent::HitModified, GEOMETRY);
    let run = || records(recording.of(&program.path(), &["line"]));
    let first = run();
    assert!(first.len() > 300, "{} transfers", first.len());
    assert_alike(&first, &run());
    assert_alike(&first, &on_one_cpu(run));
}

/// Who waits at a lock, a condition or a barrier, and who is woken first, is
/// the same each time. Registers are not: locks have their owners' numbers.
#[test]
fn threads_that_wait_for_each_other_do_so_alike_in_each_run() {
    let program = Workload::fixed("turns.c");
    let recording = Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY);
    let run = || {
        let mut records = records(recording.of(&program.path(), &["waits"]));
        for record in &mut records {
            (record.registers, record.flags) = ([0; 16], 0);
        }
        records
    };
    let first = run();
    assert!(first.len() > 1000, "{} misses", first.len());
    assert_alike(&first, &run());
    assert_alike(&first, &on_one_cpu(run));
}

#[track_caller]
fn assert_natural(program: &Workload, arguments: &[&str]) {
    let native = natively(program, arguments);
    let recording =
        Recording { interval: 100, ..Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY) };
    let recorded = recording.of(&program.path(), arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&recorded.out), text(&native.stdout));
    assert_eq!(recorded.ended, Some(end(&native.status)));
}

#[test]
fn threads_that_wait_for_each_other_in_all_ways() {
    assert_natural(&Workload::usual("turns.c"), &["locks"]);
}

#[test]
fn threads_that_wait_for_each_other_on_one_cpu() {
    on_one_cpu(|| assert_natural(&Workload::usual("turns.c"), &["locks"]));
}

#[test]
fn a_killed_thread_keeps_no_turn() {
    assert_natural(&Workload::usual("turns.c"), &["killed"]);
}

#[test]
fn threads_by_the_hundred() {
    assert_natural(&Workload::usual("turns.c"), &["crowd", "256"]);
}
