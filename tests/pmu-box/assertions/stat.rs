//! What `ebs stat` counts of its groups, and what `perf stat` does.

use std::{collections::BTreeMap, thread, time::Duration};

use serde_json::Value;
use tests::{Account, Scene, running::has_attached};

use crate::{
    Skip,
    facts::{Facts, Precision},
    keep_figure, walk,
};

/// All groups but the kernel's own; a core has those that it has events of.
const GROUPS: &str = "core,cache,memory,tlb,branches,l2_rqsts,topdown";

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
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows {
        if let (Some(event), Some(value)) = (row["event"].as_str(), row["value"].as_f64()) {
            assert_eq!(row["share"], 1.0, "no group takes turns: {row}");
            let before = ours.insert(event, value);
            let is_alike = |before: f64| (before - value).abs() <= may_differ(event, value);
            assert!(before.is_none_or(is_alike), "{event} {before:?} {value}");
            names.insert(event, row["name"].as_str().unwrap());
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
            let apart = (mine - theirs).abs();
            assert!(apart <= may_differ(event, mine), "{event}: {mine}, {theirs}: {stat}{told}");
        }
    }
    let metrics = rows.iter().filter(|row| row["group"].is_string() && row["value"].is_number());
    keep_figure(format!("{} events, {} metrics", events.len(), metrics.count()));
    // What the model has no meaning for counts nothing, whoever asks.
    let nothing = events.iter().filter(|event| ours[*event] == 0.0).map(|event| names[event]);
    keep_figure(format!("0 by both: {}", nothing.collect::<Vec<_>>().join(" ")));
    let lacking: Vec<&str> =
        counted.err.lines().filter(|line| line.contains("not counted")).collect();
    keep_figure(lacking.join("; "));
    Ok(())
}

/// One run, counted and sampled: both count what the program does, and there
/// are as many records as the interval makes of it.
pub(crate) fn beside_samples(facts: &Facts) -> Skip {
    const INTERVAL: u64 = 1009;
    if facts.precision == Precision::Ibs {
        return Err("IBS has no counter that ebs stat reads");
    }
    let scene = Scene::new();
    let mut walk = scene.start("walk-waits");
    assert_eq!(walk.hear(), "ready");
    let target = walk.pid();
    let stream = scene.path("b.data");
    let line = format!("ebs -u -t memory_loads -i ={INTERVAL} -c all -o b.data {target}");
    let mut samples = scene.start(&line);
    samples.wait_until("it attached", |pid| stream.exists() && has_attached(pid, target));
    let line = format!("ebs stat -u -t memory_loads --json -o b.json -p {target}");
    let mut stat = scene.start(&line);
    stat.wait_until("it attached", |pid| has_attached(pid, target));
    // Both try what the kernel takes before: events that they close again.
    thread::sleep(Duration::from_millis(100));
    walk.tell("go");
    walk.finish().success();
    let (sampled, counted) = (samples.finish().success(), stat.finish().success());
    let document: Value = serde_json::from_str(&scene.read("b.json")).unwrap();
    let row = &document["rows"][0];
    assert_eq!(row["value"].as_f64(), Some(walk::LOADS as f64), "{row}{counted}");
    let account = Account::of_stream(&stream);
    assert_eq!(account.count("events"), walk::LOADS, "{sampled}");
    assert_eq!(account.count("delivered") + account.lost(), walk::LOADS / INTERVAL, "{sampled}");
    keep_figure(format!("{} by both, {} records", walk::LOADS, account.count("delivered")));
    Ok(())
}

/// How far two runs are apart: what caches hold when it begins depends on the
/// pages that it is given, and each miss waits.
fn may_differ(event: &str, count: f64) -> f64 {
    match event {
        _ if is_of_the_program(event) => 0.0,
        _ if ["3c/", "76/"].iter().any(|code| event.ends_with(code)) => count / 20.0,
        _ => 16.0 + count / 1000.0,
    }
}

/// Whether its instructions alone say how many there are: instructions,
/// loads and stores, branches, mispredicted or not (the event's code).
fn is_of_the_program(event: &str) -> bool {
    ["c0/", "d0/", "c4/", "c2/"].iter().any(|code| event.ends_with(code))
}
