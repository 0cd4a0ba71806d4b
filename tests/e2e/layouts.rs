//! Layouts that are tried in the model: what is foretold is what the program has
//! that was changed so, by our count and by cachegrind's.

use crate::cachegrind;
use serde_json::Value;
use tests::{Scene, rights};

/// Compiled, and static: what it misses on is its own.
fn layouts(scene: &Scene) {
    let source = tests::workload::sources().join("layouts.c");
    let line =
        format!("gcc -O1 -g -static -no-pie -fno-pie -pthread -o layouts {}", source.display());
    scene.shell(&line).success();
}

fn json(scene: &Scene, line: &str) -> Value {
    let told = scene.run(line).success();
    serde_json::from_str(&told.out).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// What a routine missed, of rows.
fn of_routine(rows: &Value, routine: &str, events: impl Fn(&Value) -> u64) -> u64 {
    let rows = rows.as_array().unwrap().iter();
    rows.filter(|row| row["site"]["routine"] == routine).map(events).sum()
}

/// Misses of a routine on an object as it is, as it was tried, and as it is in the
/// changed program.
struct Misses {
    before: u64,
    tried: u64,
    changed: u64,
    /// Rows of the first thread's stack that have many.
    stacks: usize,
}

fn misses(scene: &Scene, name: &str, change: &str, words: &str) -> Misses {
    let words = format!("--json --cache l1d=32k,8 {words}");
    let routine = if name == "pair" { "adds" } else { "visit" };
    let trial = json(
        scene,
        &format!("ebs causes {words} --try {change}@{name} -- ./layouts {name} before"),
    );
    let rows = &trial["events"][0]["rows"];
    let row = rows.as_array().unwrap().iter().find(|row| row["site"]["routine"] == routine);
    assert_eq!(row.unwrap()["data"], name, "{trial:#}");
    // The changed program, by a run whose output is a trial's of nothing.
    let again = json(scene, &format!("ebs causes {words} --try align=1 -- ./layouts {name} after"));
    // What was not changed has its row in both runs: the number of the thread, which
    // differs, is in none.
    let events = |row: &Value, at: &str| row.pointer(at).and_then(Value::as_u64).unwrap();
    let stacks = again["events"][0]["rows"].as_array().unwrap().iter().filter(|row| {
        let data = row["data"].as_str().unwrap();
        data == "stack of thread no. 1" && events(row, "/before/events") > 3
    });
    let stacks: Vec<&Value> = stacks.collect();
    for row in &stacks {
        assert!(events(row, "/after/0/events") > 0, "{row:#}");
    }
    Misses {
        stacks: stacks.len(),
        before: of_routine(rows, routine, |row| row["before"]["events"].as_u64().unwrap()),
        tried: of_routine(rows, routine, |row| row["after"][0]["events"].as_u64().unwrap()),
        changed: of_routine(&again["events"][0]["rows"], routine, |row| {
            row["before"]["events"].as_u64().unwrap()
        }),
    }
}

/// Within one in a hundred, or a few lines that others had of a set.
fn near(one: u64, other: u64) -> bool {
    one.abs_diff(other) <= (one.max(other) / 100).max(8)
}

#[test]
fn what_is_tried_is_what_the_changed_program_misses() {
    let test = "what_is_tried_is_what_the_changed_program_misses";
    if !rights::program(test, "valgrind") || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    layouts(&scene);
    for (name, change) in [
        ("rows", "pad=64"),
        ("nodes", "colour"),
        ("table", "align=64"),
        ("records", "split=64:0..8"),
    ] {
        let Misses { before, tried, changed, stacks } = misses(&scene, name, change, "");
        assert!(stacks > 0, "{name}");
        assert!(near(tried, changed), "{name}: {tried} tried, {changed} changed");
        assert!(tried * 3 < before * 2, "{name}: {tried} of {before}");
        // Of the whole program, whose start misses as often both times.
        let [was, is] = ["before", "after"].map(|when| {
            u64::from(cachegrind::misses(&scene, &format!("./layouts {name} {when}"), 8))
        });
        let (spared, theirs) = (before - tried, was - is);
        assert!(
            spared.abs_diff(theirs) <= was / 100,
            "{name}: {spared} spared, {theirs} by theirs"
        );
    }
}

#[test]
fn lines_of_their_own_end_sharing() {
    let test = "lines_of_their_own_end_sharing";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    layouts(&scene);
    let Misses { before, tried, changed, .. } = misses(&scene, "pair", "apart", "");
    // How often they take it from each other is a matter of turns.
    assert!(before > 100, "{before}");
    assert!(near(tried, changed), "{tried} tried, {changed} changed");
    assert!(tried < 8, "{tried}");
}

#[test]
fn large_pages_are_foretold() {
    let test = "large_pages_are_foretold";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    layouts(&scene);
    let caches = "-t page_walk --cache dtlb=64,4 --cache stlb=512,4";
    let allowed =
        std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    if allowed.contains("[never]") || allowed.is_empty() {
        eprintln!("skipped {test}: there are no transparent large pages here");
        return;
    }
    let Misses { before, tried, changed, .. } = misses(&scene, "pages", "pages=2m", caches);
    assert!(before > 20_000, "{before}");
    assert!(near(tried, changed), "{tried} tried, {changed} changed");
    assert!(tried < 16, "{tried}");
}

#[test]
fn what_cannot_be_tried_is_told() {
    let test = "what_cannot_be_tried_is_told";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    layouts(&scene);
    for (tried, about) in [
        ("pad=64@nothing", "no miss is on an object \"nothing\"; misses are on"),
        ("split=0..8@records", "have no even steps"),
        ("rows=1m+64@records", "more than its 131072"),
        ("align=64@records,apart@records", "about the same bytes"),
        ("align=64@0x1000+64,align=64@0x1020+64", "about the same bytes"),
    ] {
        let told = scene.run(&format!("ebs causes --try {tried} -- ./layouts records before"));
        assert_eq!(told.status.code(), Some(1), "{told}");
        assert!(told.err.contains(about), "{tried}: {told}");
    }
    let told = scene.run("ebs causes --try pad=64@rows miss.data");
    assert_eq!(told.status.code(), Some(2), "{told}");
    let told = scene.run(
        "ebs -u -t l1_cache_miss -i 100 --layout align=64@0x1000+64 --layout apart=8@0x1010+8 \
         -- ./layouts rows before",
    );
    assert!(told.err.contains("about the same bytes"), "{told}");
    assert!(!told.status.success(), "{told}");
}
