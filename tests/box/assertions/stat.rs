//! What `ebs stat` counts of its groups, and what `perf stat` does.

use std::collections::BTreeMap;

use hardmeter_tests::Scene;
use serde_json::Value;

use crate::{Skip, facts::Facts, figures};

/// Groups that all cores have events of, and the program counts itself with.
const GROUPS: &str = "cache,memory,tlb,branches";

/// Each event of each group, counted for a run of its own each, is what `perf
/// stat` counts of the same code; each metric is of these counts.
pub(crate) fn groups(_facts: &Facts) -> Skip {
    let scene = Scene::new();
    let counted =
        scene.run(&format!("ebs stat -u -m {GROUPS} --passes --json -o s.json walk")).success();
    let document: Value = serde_json::from_str(&scene.read("s.json")).unwrap();
    let rows = document["rows"].as_array().unwrap();
    // One event of several groups has the same code.
    let mut ours: BTreeMap<&str, f64> = BTreeMap::new();
    for row in rows {
        if let (Some(event), Some(value)) = (row["event"].as_str(), row["value"].as_f64()) {
            assert_eq!(row["share"], 1.0, "no group takes turns: {row}");
            let before = ours.insert(event, value);
            assert!(before.is_none_or(|before| before == value), "{event} {before:?} {value}");
        }
    }
    assert!(ours.len() >= 8, "{document}{counted}");
    let events: Vec<&str> = ours.keys().copied().collect();
    for some in events.chunks(3) {
        let named: String = some.iter().map(|event| format!(" -e {event}u")).collect();
        let told = scene.run(&format!("perf stat -x, -o stat{named} walk")).success();
        let stat = scene.read("stat");
        let theirs = stat.lines().filter(|line| line.split(',').count() > 4);
        let theirs: Vec<f64> =
            theirs.map(|line| line.split(',').next().unwrap().parse().unwrap_or(-1.0)).collect();
        for (event, theirs) in some.iter().zip(theirs) {
            let mine = ours[event];
            // What caches hold when it begins depends on the pages that it is given.
            let may_differ = if is_of_the_program(event) { 0.0 } else { 16.0 + mine / 1000.0 };
            assert!((mine - theirs).abs() <= may_differ, "{event}: {mine}, {theirs}: {stat}{told}");
        }
    }
    let metrics = rows.iter().filter(|row| row["group"].is_string() && row["value"].is_number());
    figures::keep(format!("{} events, {} metrics", events.len(), metrics.count()));
    Ok(())
}

/// Whether its instructions alone say how many there are: instructions,
/// loads and stores, branches, mispredicted or not (the event's code).
fn is_of_the_program(event: &str) -> bool {
    ["c0/", "d0/", "c4/", "c2/"].iter().any(|code| event.ends_with(code))
}
