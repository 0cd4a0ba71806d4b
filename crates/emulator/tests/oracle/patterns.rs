//! Statistics of sets, lines and instructions from records far apart, against
//! what is known of the program.

use std::collections::BTreeMap;

use emulator::EmulatedEvent;

use crate::run::{Recorded, Recording};
use crate::workload::Workload;

const GEOMETRY: &str = "l1d=32k,8,64 l1i=off l2=off l3=off dtlb=off stlb=off";
const BYTES: u64 = 512 << 10;
const LINES: f64 = 8192.0;
/// Of the cache, all of which they use alike.
const SETS: f64 = 64.0;

fn run(arguments: &[&str], interval: u64, seed: Option<u64>) -> Recorded {
    let program = Workload::fixed("patterns.c");
    let every = Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY);
    Recording { interval, seed, ..every }.of(&program.path(), arguments)
}

/// The numbers of the lines that missed, of those that the program walks.
fn lines(recorded: &Recorded) -> Vec<u64> {
    let told = String::from_utf8_lossy(&recorded.out);
    let start = told.split_whitespace().next().and_then(|word| word.strip_prefix("0x"));
    let start = u64::from_str_radix(start.unwrap(), 16).unwrap();
    let offsets = recorded.records.iter().map(|record| record.address.wrapping_sub(start));
    offsets.filter(|offset| *offset < BYTES).map(|offset| offset / 64).collect()
}

/// How many things there are, if all come as often as each other: by how
/// often two of those seen are the same (capture and recapture).
fn effective(seen: impl Iterator<Item = u64>) -> f64 {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    seen.for_each(|one| *counts.entry(one).or_default() += 1);
    let pairs = |count: u64| count * count.saturating_sub(1);
    let float = |count: u64| f64::from(u32::try_from(count).unwrap());
    let all = pairs(counts.values().sum());
    let same = counts.values().copied().map(pairs).sum();
    float(all / 1000) * 1000.0 / float(same)
}

fn within(estimate: f64, truth: f64) -> bool {
    (estimate / truth - 1.0).abs() < 0.15
}

/// 3 million misses and more: at 1,000 some 550 pairs of 3,000 records are
/// of one line, which gives the footprint within 4.3 %, one standard error.
#[test]
fn sets_and_footprints_are_right_at_any_interval() {
    for walk in [["stream", "370"], ["columns", "47"]] {
        for interval in [64, 100, 1000] {
            let lines = lines(&run(&walk, interval, Some(1)));
            let sets = effective(lines.iter().map(|line| line % 64));
            let footprint = effective(lines.iter().copied());
            let said = format!("{walk:?} every {interval}: {sets} sets, {footprint} lines");
            assert!(within(sets, SETS) && within(footprint, LINES), "{said}");
        }
    }
}

/// What they are drawn for. A pass may miss elsewhere, too, which moves the
/// next one's records on by a set.
#[test]
fn fixed_intervals_keep_step_with_a_walk() {
    let lines = lines(&run(&["stream", "8"], 64, None));
    assert!(lines.len() > 900, "{} records", lines.len());
    let sets = effective(lines.iter().map(|line| line % 64));
    assert!(sets < SETS / 2.0, "{sets} sets: fixed intervals would do as well");
}

/// Two loads that miss in turn, at the interval that types have when none is
/// asked for.
#[test]
fn loads_that_miss_as_often_have_as_many_records() {
    let of_loads = |seed| {
        let recorded = run(&["pair", "2000000"], 10_000, seed);
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for record in &recorded.records {
            *counts.entry(record.ip).or_default() += 1;
        }
        let mut counts: Vec<u32> = counts.into_values().collect();
        counts.sort_unstable();
        let largest = counts.pop().unwrap();
        (largest, counts.pop().unwrap_or(0))
    };
    for seed in 1..=3 {
        let (more, fewer) = of_loads(Some(seed));
        let all = f64::from(more + fewer);
        let error = 0.5 / all.sqrt();
        let share = f64::from(more) / all;
        assert!(all > 350.0 && share - 0.5 < 3.0 * error, "{more} and {fewer} of seed {seed}");
    }
    let (more, fewer) = of_loads(None);
    assert!(fewer * 20 < more, "{more} and {fewer}: fixed intervals would do as well");
}
