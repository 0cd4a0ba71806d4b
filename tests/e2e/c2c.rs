//! Lines that threads share, of a program that says how.

use hardmeter_tests::{Scene, rights};
use serde_json::Value;

/// What is shared by two threads that share it so.
fn shared(scene: &Scene, how: &str, more: &str) -> Value {
    let source = hardmeter_tests::workload::sources().join("lines.c");
    let flags = "-O1 -g -static -no-pie -fno-pie -pthread";
    scene.shell(&format!("gcc {flags} -o lines {}", source.display())).success();
    let line =
        "ebs -u --source emulated -t hitm,memory_stores,memory_loads -i 50,500,500 -c all -d";
    scene.run(&format!("{line} -o lines.data ./lines {how}")).success();
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
