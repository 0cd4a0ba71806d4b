//! Bounds of events that take turns, on a PMU with fewer counters than
//! groups: the kernel's own turns, real ones but for the PMU.

use serde_json::Value;
use tests::Scene;

use crate::{
    Skip,
    facts::{Facts, Precision},
    keep_figure, log,
    phases::{PhaseCounts, Phases},
};

/// Runs of each program, each drawn anew.
const RUNS: u32 = 100;
/// What is counted beside the events that are looked at: groups of four.
const OTHERS: &str = "cache,memory,tlb,branches,l2_rqsts";

/// What the program is, and how its phases are drawn.
const PROGRAMS: [(&str, Phases); 3] = [
    // Spans of thousands of instructions: all alike after some milliseconds.
    ("steady", Phases { shortest: 100, longest: 1000, divisor: 1 }),
    // 5 to 60 ms that do nothing but load, store, branch or add.
    ("phases", Phases { shortest: 50_000, longest: 600_000, divisor: 1 }),
    // Adds for 10 to 40 ms; between them loads, stores or branches for 0.5 to 2.
    ("bursts", Phases { shortest: 100_000, longest: 400_000, divisor: 20 }),
];

/// What was found of one event of a program so far.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    runs: u32,
    within: u32,
    unbounded: u32,
    width: f64,
    share: f64,
}

/// Of 100 runs of a steady program the truth of each event is within its bounds
/// at least 95 times; of the others how often is told. Runs so short have too
/// few turns for an upper bound (`docs/stat.md`), which is told, too: then the
/// lower one alone is looked at.
pub(crate) fn held(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let mut found = [[Held::default(); 4]; 3];
    for seed in 1..=RUNS {
        for ((name, phases), found) in PROGRAMS.iter().zip(&mut found) {
            let truths = phases.counts(seed).by_event();
            if seed == 1 {
                let counted = counted(&scene, facts, &phases.arguments(seed), "");
                for (row, truth) in counted.iter().zip(truths) {
                    assert_eq!(row["value"].as_f64(), Some(truth), "{name}: {row}");
                    assert_eq!(row["share"], 1.0, "a counter for each: {row}");
                }
            }
            let more = format!(" -m {OTHERS}");
            let counted = counted(&scene, facts, &phases.arguments(seed), &more);
            for ((row, truth), held) in counted.iter().zip(truths).zip(found) {
                held.add(row, truth);
            }
        }
        if seed.is_multiple_of(10) {
            log::tell(&format!("turns: {}", told(&found)));
        }
    }
    keep_figure(told(&found));
    let [steady, ..] = &found;
    assert!(steady.iter().all(|held| held.within * 100 >= held.runs * 95), "{found:?}");
    Ok(())
}

/// Loads, stores, branches, taken ones.
fn counted(scene: &Scene, facts: &Facts, program: &str, more: &str) -> [Value; 4] {
    let events = match facts.precision {
        Precision::Pebs => ["r81d0", "r82d0", "rc4", "r20c4"],
        Precision::Ibs => ["r129", "r229", "rc2", "rc4"],
    };
    let all = events.join(",");
    let line = format!("ebs stat -u -t {all}{more} --json -o s.json phases {program}");
    scene.run(&line).success();
    let document: Value = serde_json::from_str(&scene.read("s.json")).unwrap();
    let rows = document["rows"].as_array().unwrap();
    events.map(|event| rows.iter().find(|row| row["event"] == event).unwrap().clone())
}

impl Held {
    fn add(&mut self, row: &Value, truth: f64) {
        let share = row["share"].as_f64().unwrap();
        assert!(share < 0.9, "it takes turns: {row}");
        // What was never on a counter is not counted, and has no bounds.
        let low = row["low"].as_f64().unwrap_or_else(|| panic!("{row}"));
        let high = row["high"].as_f64();
        self.runs += 1;
        self.unbounded += u32::from(high.is_none());
        self.within += u32::from(low <= truth && high.is_none_or(|high| truth <= high));
        self.share += share;
        self.width += (high.unwrap_or(low) - low) / truth.max(1.0);
    }
}

/// In the order of the events.
fn told(found: &[[Held; 4]; 3]) -> String {
    let of = |(program, held): (&(&str, Phases), &[Held; 4])| {
        let each = |of: &dyn Fn(&Held) -> String| held.iter().map(of).collect::<Vec<_>>().join(" ");
        let part = |sum: f64, held: &Held| format!("{:.0}", 100.0 * sum / f64::from(held.runs));
        format!(
            "{} of {} runs: {} within, {} without an upper bound, bounds {} % apart, on a counter {} %",
            program.0,
            held[0].runs,
            each(&|held| held.within.to_string()),
            each(&|held| held.unbounded.to_string()),
            each(&|held| part(held.width, held)),
            each(&|held| part(held.share, held)),
        )
    };
    PROGRAMS.iter().zip(found).map(of).collect::<Vec<_>>().join("; ")
}

impl PhaseCounts {
    fn by_event(self) -> [f64; 4] {
        [self.loads, self.stores, self.branches, self.taken].map(f64::from)
    }
}
