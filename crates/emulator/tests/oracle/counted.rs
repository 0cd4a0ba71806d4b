use std::collections::HashMap;

use emulator::{EmulatedEvent, TaskExit};

use crate::run::{Recorded, Recording};
use crate::workload::Workload;

const L1: &str = "l1d=32k,8,64 l1i=off l2=off l3=off dtlb=64,4 stlb=off";
const ALL: &str = "l1d=32k,8,64 l1i=off l2=256k,8,64 l3=1m,16,64 dtlb=64,4 stlb=512,8";

fn by_ip(recorded: &Recorded) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for record in &recorded.records {
        *counts.entry(record.ip).or_default() += 1;
    }
    counts
}

#[track_caller]
fn assert_walks(event: EmulatedEvent, geometry: &'static str, expected: &[(usize, usize)]) {
    let program = Workload::bare("walks.S");
    let recorded = Recording::every(event, geometry).of(&program.path(), &[]);
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let ips: Vec<u64> = recorded
        .out
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(ips.len(), 22, "walks");
    let counts = by_ip(&recorded);
    let seen: Vec<(usize, usize)> = expected
        .iter()
        .map(|(walk, _)| (*walk, counts.get(&ips[*walk]).copied().unwrap_or(0)))
        .collect();
    assert_eq!(seen, expected, "{event:?} of walks, under {geometry}");
}

#[test]
fn sets_that_are_full_and_a_line_more() {
    assert_walks(EmulatedEvent::L1DataMiss, L1, &[(0, 8), (1, 9 * 100), (7, 9 * 50)]);
}

#[test]
fn a_cache_that_is_full_and_a_bit_more() {
    assert_walks(EmulatedEvent::L1DataMiss, L1, &[(2, 512), (3, 528 + 9 * 16 * 9)]);
}

#[test]
fn strides_within_and_across_lines() {
    // 1600 accesses of 12 bytes' stride: 100 times 192 bytes, three lines.
    assert_walks(EmulatedEvent::L1DataMiss, L1, &[(4, 3 * 1024), (5, 3 * 1024), (6, 300)]);
    assert_walks(EmulatedEvent::SplitLoad, L1, &[(0, 0), (4, 0), (6, 100)]);
}

#[test]
fn accesses_of_many_lines() {
    // 16 KiB in all: half of the cache.
    assert_walks(EmulatedEvent::L1DataMiss, L1, &[(20, 32), (21, 0)]);
    assert_walks(EmulatedEvent::SplitStore, L1, &[(20, 96), (21, 0)]);
}

#[test]
fn pages_that_a_tlb_reaches_and_one_more() {
    let one_more = 65 + 19 * 5;
    assert_walks(EmulatedEvent::DtlbLoadMiss, L1, &[(8, 64), (9, one_more), (10, 0), (11, 0)]);
    assert_walks(EmulatedEvent::DtlbStoreMiss, L1, &[(8, 0), (9, 0), (10, 64), (11, one_more)]);
    assert_walks(EmulatedEvent::DtlbMiss, L1, &[(8, 64), (9, one_more), (10, 64), (12, 5 * 512)]);
}

#[test]
fn walks_of_page_tables_behind_the_second_tlb() {
    assert_walks(EmulatedEvent::PageWalk, ALL, &[(8, 64), (12, 512), (13, 520 + 4 * 8 * 9)]);
}

#[test]
fn second_and_third_levels_that_are_full_and_a_bit_more() {
    assert_walks(EmulatedEvent::L2Miss, ALL, &[(0, 8), (14, 4096), (15, 4 * 4608)]);
    assert_walks(EmulatedEvent::L3Miss, ALL, &[(0, 8), (14, 4096), (16, 16384), (17, 3 * 17408)]);
}

#[test]
fn loads_that_wait_for_narrower_stores() {
    assert_walks(EmulatedEvent::BlockedForward, L1, &[(18, 30), (19, 0), (0, 0)]);
}

/// An address that a program tells by a name.
fn address(told: &str, name: &str) -> u64 {
    let line = told.lines().find(|line| line.starts_with(name)).unwrap();
    u64::from_str_radix(line.rsplit("0x").next().unwrap(), 16).unwrap()
}

#[test]
fn strings_that_signals_interrupt() {
    let rounds = 300;
    let recorded = Recording::every(EmulatedEvent::L1DataMiss, L1)
        .of(&Workload::fixed("strings.c").path(), &["300"]);
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let fill = address(&String::from_utf8(recorded.out.clone()).unwrap(), "fill");
    assert_eq!(
        by_ip(&recorded).get(&fill),
        Some(&(rounds * 1024)),
        "each line is missed once a round"
    );
}

#[test]
fn strings_whose_pages_fault() {
    let recorded = Recording::every(EmulatedEvent::L1DataMiss, L1)
        .of(&Workload::fixed("faults.c").path(), &[]);
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let told = String::from_utf8(recorded.out.clone()).unwrap();
    let counts = by_ip(&recorded);
    let lines = 64 * 64;
    assert_eq!(counts.get(&address(&told, "fill")), Some(&lines), "each line once");
    // Two strings, each all but some bytes of 256 KiB.
    let copied = counts.get(&address(&told, "copy")).copied().unwrap();
    assert!((2 * lines - 4..=2 * lines).contains(&copied), "{copied}");
}

#[test]
fn lines_that_two_threads_write_in_turn() {
    let program = Workload::fixed("sharing.c");
    let rounds = 200;
    let run = |event| {
        let recorded = Recording::every(event, ALL).of(&program.path(), &["200"]);
        assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
        let told = String::from_utf8(recorded.out.clone()).unwrap();
        let counts = by_ip(&recorded);
        ["load", "store", "other", "own"]
            .map(|name| counts.get(&address(&told, name)).copied().unwrap_or(0))
    };
    let [load, _, other, own] = run(EmulatedEvent::L1DataMiss);
    assert_eq!([load, other, own], [2 * rounds, 2 * rounds, 2], "misses");
    let [load, store, other, own] = run(EmulatedEvent::HitModified);
    assert_eq!([load, store, other, own], [2 * rounds - 1, 0, 0, 0], "loads of modified lines");
}
