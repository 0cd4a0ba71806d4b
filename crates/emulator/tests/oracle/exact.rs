use std::collections::{HashMap, HashSet};

use emulator::{Class, Classifier, EmulatedEvent, TaskExit};
use perfdata::InstructionClass;
use perfdata::data_src::Operation;

use crate::lru::Cache;
use crate::run::{Record, Recording};
use crate::steps::{FLAGS, Step, steps};
use crate::truth::{Expected, truth};
use crate::workload::Workload;

/// In the geometry of [`Cache::new`]'s caller below.
const L1: &str = "l1d=32k,8,64 l1i=off l2=off l3=off dtlb=64,4 stlb=off";

fn l1() -> Cache {
    Cache::new(32 << 10, 8, 64)
}

fn seen(record: &Record) -> (u64, u64, u64, [u64; 16]) {
    (record.ip, record.address, record.flags & FLAGS, record.registers)
}

/// Every kind of access and addressing mode: address of the instruction and
/// of the data, sixteen registers and the flags are those before the access.
#[test]
fn every_record_of_every_kind_is_exact() {
    let program = Workload::bare("accesses.S");
    let told = truth(&program);
    let recorded = Recording::every(EmulatedEvent::L1DataMiss, L1).of(&program.path(), &[]);
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let named: HashSet<u64> = told.iter().map(|row| row.ip).collect();
    let found: Vec<&Record> =
        recorded.records.iter().filter(|record| named.contains(&record.ip)).collect();
    let mut wrong = Vec::new();
    for (number, (record, row)) in found.iter().zip(&told).enumerate() {
        let expected = (row.ip, row.address, row.flags, row.registers);
        if seen(record) != expected {
            wrong.push(format!("access {number}\nseen {record:x?}\ntold {row:x?}"));
            break;
        }
        let operation = record.data_src.operation();
        let stores = operation.contains(Operation::STORE);
        assert_eq!(stores, row.store, "access {number}: {record:x?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(found.len(), told.len(), "records of named instructions");
}

/// Each miss of a whole program, in its order.
fn misses(steps: &[Step]) -> Vec<Expected> {
    let mut cache = l1();
    let mut found = Vec::new();
    for step in steps {
        for access in &step.accesses {
            if cache.misses(access.address, access.size) {
                found.push(Expected::of(step, access));
            }
        }
    }
    found
}

#[track_caller]
fn assert_same(records: &[Record], expected: &[Expected]) {
    for (number, (record, row)) in records.iter().zip(expected).enumerate() {
        let same = seen(record) == (row.ip, row.address, row.flags, row.registers);
        assert!(same, "record {number} of {}\nseen {record:x?}\nstep {row:x?}", expected.len());
    }
    assert_eq!(records.len(), expected.len());
}

#[test]
fn the_misses_are_those_of_a_single_stepped_program() {
    let program = Workload::bare("accesses.S");
    let (steps, _) = steps(&program.path());
    let recorded = Recording::every(EmulatedEvent::L1DataMiss, L1).of(&program.path(), &[]);
    assert_same(&recorded.records, &misses(&steps));
}

/// Caches in which code and data meet.
const BOTH: &str = "l1d=2k,2,64 l1i=1k,2,64 l2=4k,4,64 l3=off dtlb=off stlb=off";

/// The second level holds code, too: its lines come there as the program runs
/// into them, and put lines of data out.
#[test]
fn the_second_level_s_misses_are_those_with_code_in_it() {
    let program = Workload::bare("accesses.S");
    let (steps, _) = steps(&program.path());
    let [mut data, mut code] =
        [(2 << 10, 2), (1 << 10, 2)].map(|(size, ways)| Cache::new(size, ways, 64));
    let mut second = Cache::new(4 << 10, 4, 64);
    let mut expected = Vec::new();
    let lines =
        |start: u64, size: u64| (start / 64..=(start + size - 1) / 64).map(|line| line * 64);
    for step in &steps {
        let length = u64::try_from(step.instruction.len()).unwrap();
        for line in lines(step.ip, length) {
            if code.misses(line, 1) {
                second.misses(line, 1);
            }
        }
        for access in &step.accesses {
            let mut missed = false;
            for line in lines(access.address, access.size) {
                missed |= data.misses(line, 1) && second.misses(line, 1);
            }
            if missed {
                expected.push(Expected::of(step, access));
            }
        }
    }
    let recorded = Recording::every(EmulatedEvent::L2Miss, BOTH).of(&program.path(), &[]);
    assert_same(&recorded.records, &expected);
}

/// Not the model but the stream of accesses itself: every instruction that
/// accesses memory, in order, with the address of its first access.
#[test]
fn the_sequence_of_accesses_is_that_of_a_single_stepped_program() {
    let program = Workload::bare("accesses.S");
    let (steps, _) = steps(&program.path());
    let mut expected: Vec<Expected> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let repeated = number > 0
            && steps[number - 1].ip == step.ip
            && step.instruction.is_string_instruction();
        let Some(access) = step.accesses.first().filter(|_| !repeated) else { continue };
        expected.push(Expected::of(step, access));
    }
    let accessing: HashMap<u64, bool> =
        steps.iter().map(|step| (step.ip, !step.accesses.is_empty())).collect();
    let recording = Recording {
        classifier: Some(Classifier::new(move |instruction| {
            accessing.get(&instruction.ip()).copied().unwrap_or(false)
        })),
        ..Recording::every(EmulatedEvent::Class(Class::Of(InstructionClass::AccessesMemory)), L1)
    };
    let recorded = recording.of(&program.path(), &[]);
    assert_same(&recorded.records, &expected);
}

#[test]
fn the_sequence_of_instructions_is_that_of_a_single_stepped_program() {
    let program = Workload::bare("accesses.S");
    let (steps, _) = steps(&program.path());
    let mut expected: Vec<u64> = steps.iter().map(|step| step.ip).collect();
    expected.dedup(); // of repeated string instructions, one
    let recorded =
        Recording::every(EmulatedEvent::Class(Class::Retired), L1).of(&program.path(), &[]);
    let ips: Vec<u64> = recorded.records.iter().map(|record| record.ip).collect();
    let differing = ips.iter().zip(&expected).position(|(seen, step)| seen != step);
    if let Some(at) = differing {
        panic!("instruction {at}: {:#x}, stepped {:#x}", ips[at], expected[at]);
    }
    assert_eq!(ips.len(), expected.len(), "the next one: {:x?}", expected.get(ips.len()));
}

/// Same program, same input: the same records, to the last bit, but for the
/// number of the process.
#[test]
fn two_runs_of_a_program_give_the_same_records() {
    let program = Workload::fixed("jumps.c");
    let geometry = "l1d=32k,8,64 l1i=off l2=512k,8,64 l3=off dtlb=64,4 stlb=off";
    let recording = Recording::every(EmulatedEvent::L1DataMiss, geometry);
    let [first, second] = [0, 1].map(|_| {
        let mut recorded = recording.of(&program.path(), &[]);
        for record in &mut recorded.records {
            record.thread = 0;
        }
        recorded
    });
    assert_eq!(first.ended, second.ended);
    assert!(first.records.len() > 100, "{} records", first.records.len());
    let differing =
        first.records.iter().zip(&second.records).enumerate().find(|(_, (a, b))| a != b);
    assert!(differing.is_none(), "{differing:x?}");
    assert_eq!(first.records.len(), second.records.len());
    assert_eq!(first.counts().events, second.counts().events);
    assert_eq!(first.bytes.len(), second.bytes.len(), "side records");
}
