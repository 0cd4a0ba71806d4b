//! Counts that are worked out by hand.

use super::machine::Machine;
use crate::model::{AccessOutcome, Events, LevelShape, LineSource, Shape, TranslationSource};

const KIB: u64 = 1024;
const LINE: u64 = 64;
const PAGE: u64 = 4096;
const BASE: u64 = 0x5555_5000_0000;

fn level(sets: u64, ways: u64) -> LevelShape {
    LevelShape { sets, ways, start: 0 }
}

/// 32K/8 and 32K/8, 256K/4, 1M/16, 64/4 and 1536/12.
fn shape() -> Shape {
    Shape {
        l1d: level(64, 8),
        l1i: level(64, 8),
        l2: level(1024, 4),
        l3: level(1024, 16),
        dtlb: level(16, 4),
        stlb: level(128, 12),
        ..Shape::default()
    }
    .place(false, false)
}

fn count(outcomes: impl IntoIterator<Item = AccessOutcome>, event: Events) -> usize {
    outcomes.into_iter().filter(|outcome| outcome.events().meet(event)).count()
}

#[test]
fn as_many_lines_as_ways_stay_and_one_more_evicts_each() {
    let way = 64 * LINE;
    for (lines, misses) in [(8, 8), (9, 9 * 100)] {
        let mut machine = Machine::new(shape(), 1);
        let all = (0..100 * lines).map(|n| machine.load(0, BASE + n % lines * way, 8));
        assert_eq!(count(all, Events::L1_MISS), misses, "{lines} lines in a set of 8");
    }
}

#[test]
fn what_fits_misses_once_and_twice_as_much_always() {
    for (bytes, misses) in [(32 * KIB, 512), (64 * KIB, 10 * 1024)] {
        let mut machine = Machine::new(shape(), 1);
        let words = bytes / 8;
        let all = (0..10 * words).map(|n| machine.load(0, BASE + n % words * 8, 8));
        assert_eq!(count(all, Events::L1_MISS), misses, "{bytes} bytes, ten times");
    }
}

#[test]
fn strides_miss_once_a_line() {
    for (stride, misses) in [(8, 1000 / 8), (16, 250), (64, 1000), (192, 1000)] {
        let mut machine = Machine::new(shape(), 1);
        let all = (0..1000).map(|n| machine.load(0, BASE + n * stride, 8));
        assert_eq!(count(all, Events::L1_MISS), misses, "stride {stride}");
    }
}

#[test]
fn levels_answer_by_their_size() {
    // 128 KiB: more than the first level, less than the second.
    let mut machine = Machine::new(shape(), 1);
    for pass in 0..3 {
        for n in 0..128 * KIB / LINE {
            let outcome = machine.load(0, BASE + n * LINE, 8);
            let expected = if pass == 0 { LineSource::Memory } else { LineSource::Second };
            assert_eq!(outcome.served(), expected, "pass {pass} line {n}");
        }
    }
    // 512 KiB: more than the second, less than the third.
    let mut machine = Machine::new(shape(), 1);
    for pass in 0..3 {
        for n in 0..512 * KIB / LINE {
            let outcome = machine.store(0, BASE + n * LINE, 8);
            let expected = if pass == 0 { LineSource::Memory } else { LineSource::Third };
            assert_eq!(outcome.served(), expected, "pass {pass} line {n}");
        }
    }
}

#[test]
fn pages_within_reach_miss_once() {
    // 64 pages fill 16 sets of 4; the 65th is one too many for its set.
    for (pages, misses) in [(64, 64), (65, 64 + 1 + 99 * 5)] {
        let mut machine = Machine::new(shape(), 1);
        let all = (0..100 * pages).map(|n| machine.load(0, BASE + n % pages * PAGE, 8));
        assert_eq!(count(all, Events::DTLB_LOAD_MISS), misses, "{pages} pages");
    }
    // 1536 pages: all in the second level after one pass, none in the first.
    let mut machine = Machine::new(shape(), 1);
    for pass in 0..3 {
        for n in 0..1536 {
            let outcome = machine.load(0, BASE + n * PAGE, 8);
            let expected =
                if pass == 0 { TranslationSource::Walk } else { TranslationSource::Second };
            assert_eq!(outcome.translated(), expected, "pass {pass} page {n}");
        }
    }
}

#[test]
fn a_page_stays_that_only_the_tables_see() {
    // Four pages of one set and a fifth; the first one is hit in between, by
    // loads that never reach the model.
    let mut machine = Machine::new(shape(), 1);
    let page = |n: u64| BASE + n * 16 * PAGE;
    for n in 0..4 {
        machine.load(0, page(n) + n * LINE, 8);
    }
    let slow = machine.slow;
    machine.load(0, page(0), 8);
    assert_eq!(machine.slow, slow, "a hit");
    machine.load(0, page(4) + 4 * LINE, 8);
    assert_eq!(machine.load(0, page(0), 8).translated(), TranslationSource::First);
    assert_eq!(machine.load(0, page(1) + LINE, 8).translated(), TranslationSource::Second);
}

#[test]
fn a_large_page_is_one_entry() {
    let mib = 1 << 20;
    let mut machine = Machine::new(shape(), 1).with_large(0x4000_0000, 0x4000_0000 + 64 * mib, 21);
    let all = (0..64 * mib / PAGE).map(|n| machine.load(0, 0x4000_0000 + n * PAGE, 8));
    assert_eq!(count(all, Events::DTLB_LOAD_MISS), 32);
    // And its lines leave the tables when it goes: 5 pages of one set of 4.
    let mut machine = Machine::new(shape(), 1).with_large(0x4000_0000, 0x4000_0000 + 256 * mib, 21);
    let all = (0..50).map(|n| machine.load(0, 0x4000_0000 + n % 5 * 32 * mib + n % 5 * LINE, 8));
    assert_eq!(count(all, Events::DTLB_LOAD_MISS), 50);
}

#[test]
fn an_access_across_lines_is_one_miss_and_one_split() {
    let mut machine = Machine::new(shape(), 1);
    let outcome = machine.load(0, BASE + 60, 8);
    assert_eq!(outcome.events().0 & Events::L1_MISS.0, Events::L1_MISS.0);
    assert!(outcome.events().meet(Events::SPLIT_LOAD));
    let again = machine.load(0, BASE + 60, 8);
    assert_eq!(again.events(), Events::SPLIT_LOAD, "both lines are there");
    assert_eq!(machine.store(0, BASE + 60, 8).events(), Events::SPLIT_STORE);
    assert_eq!(machine.load(0, BASE + 56, 8).events(), Events::NONE);
}

#[test]
fn an_access_of_many_lines_brings_each() {
    let mut machine = Machine::new(shape(), 2);
    let outcome = machine.store(0, BASE + 32, 512);
    assert!(outcome.events().meet(Events::L1_MISS));
    for line in 0..9 {
        assert_eq!(machine.load(0, BASE + line * LINE, 8).events(), Events::NONE, "line {line}");
        assert_eq!(machine.store(0, BASE + line * LINE, 8).events(), Events::NONE, "line {line}");
    }
    // They went in order: the first of a set goes first.
    let mut machine = Machine::new(shape(), 1);
    machine.load(0, BASE, 32 << 10);
    machine.load(0, BASE + (32 << 10), 8);
    assert!(machine.load(0, BASE, 8).events().meet(Events::L1_MISS));
    assert_eq!(machine.load(0, BASE + (32 << 10) - LINE, 8).events(), Events::NONE);
}

#[test]
fn false_sharing_moves_the_line_at_every_turn() {
    let mut machine = Machine::new(shape(), 2);
    let turns = 1000;
    let mut hits = 0;
    let mut misses = 0;
    for turn in 0..turns {
        for thread in 0..2 {
            let address = BASE + 8 * u64::try_from(thread).unwrap();
            let load = machine.load(thread, address, 8);
            let store = machine.store(thread, address, 8);
            misses += usize::from(load.events().meet(Events::L1_MISS));
            hits += usize::from(load.events().meet(Events::HIT_MODIFIED));
            assert!(!store.events().meet(Events::L1_MISS), "turn {turn}");
        }
    }
    assert_eq!(misses, 2 * turns);
    // All loads but the very first find it modified by the other.
    assert_eq!(hits, 2 * turns - 1);
    // A line apart, none of it.
    let mut machine = Machine::new(shape(), 2);
    for _ in 0..turns {
        for thread in 0..2 {
            let address = BASE + 64 * u64::try_from(thread).unwrap();
            machine.load(thread, address, 8);
            machine.store(thread, address, 8);
        }
    }
    assert_eq!(machine.slow, 4, "a load and a store of each thread");
}

#[test]
fn readers_share_a_line_until_one_writes() {
    let mut machine = Machine::new(shape(), 3);
    assert_eq!(machine.load(0, BASE, 8).served(), LineSource::Memory);
    let second = machine.load(1, BASE, 8);
    assert_eq!((second.served(), second.elsewhere()), (LineSource::Third, true));
    machine.load(2, BASE, 8);
    assert_eq!(machine.store(1, BASE, 8).events(), Events::NONE, "an upgrade");
    assert_eq!(machine.load(0, BASE, 8).served(), LineSource::Modified);
    assert_eq!(machine.load(2, BASE, 8).served(), LineSource::Third);
    assert_eq!(machine.load(1, BASE, 8).events(), Events::NONE, "kept, shared");
}

#[test]
fn a_load_waits_for_a_store_it_cannot_take_all_from() {
    let shape = Shape { l1d: level(64, 8), ..Shape::default() }.place(false, true);
    let mut machine = Machine::new(shape, 1);
    machine.store(0, BASE, 4);
    assert!(!machine.load(0, BASE, 4).events().meet(Events::BLOCKED), "the same bytes");
    assert!(!machine.load(0, BASE + 1, 2).events().meet(Events::BLOCKED), "some of them");
    assert!(machine.load(0, BASE, 8).events().meet(Events::BLOCKED), "more");
    assert!(machine.load(0, BASE + 2, 4).events().meet(Events::BLOCKED), "half");
    assert!(!machine.load(0, BASE + 4, 4).events().meet(Events::BLOCKED), "others");
    machine.store(0, BASE, 8);
    assert!(!machine.load(0, BASE, 8).events().meet(Events::BLOCKED), "a later store has all");
    for n in 0..100 {
        machine.store(0, BASE + 256 + n % 4 * 8, 8);
    }
    assert!(!machine.load(0, BASE + 4, 8).events().meet(Events::BLOCKED), "written long since");
}

#[test]
fn prefetchers_bring_what_comes_next() {
    let plain = Shape { l1d: level(64, 8), l2: level(1024, 8), ..Shape::default() };
    let run = |shape: Shape, stride: u64| {
        let mut machine = Machine::new(shape, 1);
        let all: Vec<_> = (0..512).map(|n| machine.load(0, BASE + n * stride, 8)).collect();
        (count(all.clone(), Events::L1_MISS), count(all, Events::L2_MISS))
    };
    assert_eq!(run(plain.place(false, false), LINE), (512, 512));
    let (first, second) = run(plain.place(true, false), LINE);
    // 8 pages of 64 lines: at each one's begin what cannot be foreseen.
    assert_eq!((first, second), (4 + 7, 1 + 7));
    let (first, _) = run(plain.place(true, false), 3 * LINE);
    assert!(first < 512 / 10, "stride of three lines: {first}");
}
