//! Lines that threads share, of a program that says how.

use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use tests::{Scene, rights, workload};

/// Processors kept busy until it is dropped.
struct Load {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Load {
    fn start(count: usize) -> Load {
        let is_over = Arc::new(AtomicBool::new(false));
        let busy = || {
            let is_over = Arc::clone(&is_over);
            thread::spawn(move || while !is_over.load(Ordering::Relaxed) {})
        };
        let threads = (0..count).map(|_| busy()).collect();
        Load { is_over, threads }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// What is shared by threads that share it so.
fn shared(scene: &Scene, how: &str, more: &str) -> Value {
    let source = workload::sources().join("lines.c");
    let flags = "-O1 -g -static -no-pie -fno-pie -pthread";
    scene.shell(&format!("gcc {flags} -o lines {}", source.display())).success();
    let line = "ebs -u --source emulated -t hitm,memory_stores,memory_loads -i 5,50,50 -c all -d";
    scene.run(&format!("{line} -o lines.data ./lines {how} 100000")).success();
    let told = scene.run(&format!("ebs c2c --json {more} lines.data")).success();
    serde_json::from_str(&told.out).unwrap()
}

/// The lines of a variable.
fn of(report: &Value, variable: &str) -> Vec<Value> {
    let lines = report["lines"].as_array().unwrap().iter();
    let has = |line: &&Value| line["data"].as_array().unwrap().contains(&variable.into());
    lines.filter(has).cloned().collect()
}

/// The bytes that each of two threads writes.
fn written(line: &Value) -> Vec<usize> {
    let threads = line["threads"].as_array().unwrap().iter();
    let mut first: Vec<usize> =
        threads.filter_map(|thread| thread["bytes"].as_str().unwrap().find(['w', 'b'])).collect();
    first.sort_unstable();
    first
}

#[test]
fn bytes_tell_true_sharing_from_false() {
    if !rights::program("bytes_tell_true_sharing_from_false", "gcc") {
        return;
    }
    let scene = Scene::new();
    for (how, variable, sharing, bytes) in [
        ("true", "together", "true", [0, 0]),
        ("false", "together", "false", [0, 8]),
        ("neighbours", "left", "false", [0, 8]),
    ] {
        let report = shared(&scene, how, "");
        let line = &report["lines"][0];
        assert_eq!(of(&report, variable), std::slice::from_ref(line), "{how}: {report:#}");
        assert_eq!(line["sharing"], sharing, "{how}: {line:#}");
        assert_eq!(written(line), bytes, "{how}: {line:#}");
        assert!(line["transfers"].as_u64().unwrap() > 0, "{how}: {line:#}");
        let first = &report["waits"][0];
        for side in ["site", "writer"] {
            assert_eq!(first[side]["routine"], "adds", "{how}: {first:#}");
        }
        let remedy = line["remedy"].as_str().unwrap();
        let words = match how {
            "true" => "gather per thread",
            "false" => "keep the members",
            _ => "left and right are neighbours",
        };
        assert!(remedy.contains(words), "{how}: {remedy}");
    }
}

#[test]
fn lines_of_their_own_and_lines_that_are_read_are_no_sharing() {
    let test = "lines_of_their_own_and_lines_that_are_read_are_no_sharing";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    let apart = shared(&scene, "apart", "");
    assert!(of(&apart, "apart").is_empty(), "{apart:#}");
    // Two lines, which are fetched together.
    let pair = shared(&scene, "apart", "--pair");
    let lines = of(&pair, "apart");
    assert!(lines.iter().all(|line| line["sharing"] == "false"), "{pair:#}");
    let read = shared(&scene, "read", "");
    let fought: Vec<Value> =
        of(&read, "table").into_iter().filter(|line| line["sharing"] != "initialised").collect();
    assert!(fought.is_empty(), "{read:#}");
}

#[test]
fn the_text_draws_bytes() {
    if !rights::program("the_text_draws_bytes", "gcc") {
        return;
    }
    let scene = Scene::new();
    shared(&scene, "false", "");
    let told = scene.run("ebs c2c --top 1 lines.data").success();
    assert!(told.out.contains("together  false sharing:"), "{told}");
    assert!(told.out.contains("     bbbbbbbb ........ "), "{told}");
    assert!(told.out.contains("     ........ bbbbbbbb "), "{told}");
    assert!(told.out.contains("who waits for whom:"), "{told}");
    scene.run("ebs c2c --top 1 -f routine=nothing lines.data").success();
    scene.run("ebs c2c nowhere.data").refused(1, &["nowhere.data"]);
}

/// Eleven ways to share a line, or not to, beside threads that leave no processor to
/// the program.
#[test]
fn sharing_is_told_whatever_the_load() {
    if !rights::program("sharing_is_told_whatever_the_load", "gcc") {
        return;
    }
    let scene = Scene::new();
    let _load = Load::start(2 * thread::available_parallelism().unwrap().get());
    for (how, expected) in [
        ("true", Some("true")),
        ("false", Some("false")),
        ("neighbours", Some("false")),
        ("apart", None),
        ("read", None),
        ("atomic", Some("true")),
        ("producer", Some("true")),
        ("reader", Some("false")),
        ("heap", Some("false")),
        ("both", Some("both")),
        ("summed", Some("false")),
    ] {
        let report = shared(&scene, how, "");
        let lines = report["lines"].as_array().unwrap().iter();
        // C libraries hand lines of their own from thread to thread, a few times.
        let busy = |line: &&Value| {
            let sites = line["sites"].as_array().unwrap().iter();
            let count = |site: &Value| {
                site["others"].as_u64().unwrap() + site["transfers"].as_u64().unwrap()
            };
            !["initialised", "in-turn"].contains(&line["sharing"].as_str().unwrap())
                && sites.map(count).sum::<u64>() >= 1000
        };
        let found: Vec<&Value> = lines.filter(busy).map(|line| &line["sharing"]).collect();
        let expected: Vec<Value> = expected.into_iter().map(Value::from).collect();
        assert_eq!(found, expected.iter().collect::<Vec<_>>(), "{how}: {report:#}");
    }
}

/// What `perf c2c report --stats` counts of a recording: loads, stores, transfers in
/// a node and between nodes, locked ones.
fn counted_by_perf(scene: &Scene, file: &Path) -> [u64; 5] {
    let told = scene.shell(&format!("perf c2c report --stats -i {} 2> /dev/null", file.display()));
    let told = told.success();
    let number = |title: &str| {
        let mut lines = told.out.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(name, _)| name.trim() == title);
        let number = found.and_then(|(_, number)| number.trim().parse().ok());
        number.unwrap_or_else(|| panic!("{title}: {told}"))
    };
    [
        "Load Operations",
        "Store Operations",
        "Load Local HITM",
        "Load Remote HITM",
        "Locked Load/Store Operations",
    ]
    .map(number)
}

#[test]
fn totals_are_those_of_perf() {
    let test = "totals_are_those_of_perf";
    if !rights::program(test, "gcc") || !rights::program(test, "perf") {
        return;
    }
    let scene = Scene::new();
    shared(&scene, "both", "");
    let fixtures = workload::sources().join("../../crates/perfdata/tests/fixtures");
    // The only one of hardware's with data sources.
    let hardware = fixtures.join("weight_struct-5.17.file.data");
    for file in [scene.path("lines.data"), hardware] {
        let told = scene.run(&format!("ebs c2c --json {}", file.display())).success();
        let report: Value = serde_json::from_str(&told.out).unwrap();
        let own = ["loads", "stores", "hitm_local", "hitm_remote", "locked"]
            .map(|name| report["totals"][name].as_u64().unwrap());
        assert_eq!(own, counted_by_perf(&scene, &file), "{}", file.display());
        assert!(own[0] > 0, "{report:#}");
    }
}
