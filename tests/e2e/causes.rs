//! Why programs miss, judged from outside: cachegrind counts what a fully
//! associative cache of the same size would spare.

use crate::cachegrind::misses;
use serde_json::Value;
use tests::{Scene, rights};

/// Compiled, and static: what it misses on is its own.
fn patterns(scene: &Scene) {
    let source = tests::workload::sources().join("patterns.c");
    let line = format!("gcc -O1 -g -static -no-pie -fno-pie -o patterns {}", source.display());
    scene.shell(&line).success();
}

/// Misses that a fully associative cache would spare.
fn spared(scene: &Scene, pattern: &str) -> f64 {
    let [sets, full] =
        [8, 512].map(|ways| f64::from(misses(scene, &format!("./patterns {pattern}"), ways)));
    sets - full
}

/// The causes of what `visit` misses, of which every miss was sampled.
fn of_visit(scene: &Scene, pattern: &str) -> Value {
    let line = format!(
        "ebs -u -t l1_cache_miss -i 1 -c all -d --cache l1d=32k,8 -o misses.data ./patterns {pattern}"
    );
    scene.run(&line).success();
    let told = scene.run("ebs causes --json misses.data").success();
    let causes: Value = serde_json::from_str(&told.out).unwrap();
    let rows = causes["events"][0]["rows"].as_array().unwrap().clone();
    let row = rows.into_iter().find(|row| row["site"]["routine"] == "visit");
    row.unwrap_or_else(|| panic!("{told}"))
}

/// Samples of a row that are of a class.
fn samples(row: &Value, class: &str) -> f64 {
    let shares = row["verdict"]["shares"].as_array().unwrap();
    let share = shares.iter().find(|it| it["class"] == class);
    share.map_or(0.0, |it| it["share"].as_f64().unwrap() * row["samples"].as_f64().unwrap())
}

fn words(row: &Value) -> String {
    let remedies = row["remedies"].as_array().unwrap().iter();
    remedies.map(|it| it["text"].as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn classes_are_what_cachegrind_counts() {
    let test = "classes_are_what_cachegrind_counts";
    if !rights::program(test, "valgrind") || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    for (pattern, cause) in [
        ("stream", "capacity"),
        ("nodes", "conflict"),
        ("columns", "conflict"),
        ("padded", "capacity"),
    ] {
        let row = of_visit(&scene, pattern);
        let net = spared(&scene, pattern);
        let conflict = samples(&row, "conflict");
        let all = row["samples"].as_f64().unwrap();
        assert!((conflict - net).abs() <= 0.005 * all, "{pattern}: {net} by cachegrind, {row:#}");
        assert_eq!(row["verdict"]["cause"], cause, "{pattern}: {row:#}");
        assert_eq!(row["verdict"]["grade"], "measured", "{pattern}: {row:#}");
        assert_eq!(row["data"], "memory", "{pattern}: {row:#}");
    }
}

#[test]
fn lines_in_one_set_at_random_are_conflicts_as_far_as_they_would_fit() {
    let test = "lines_in_one_set_at_random_are_conflicts_as_far_as_they_would_fit";
    if !rights::program(test, "valgrind") || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let row = of_visit(&scene, "pages");
    let net = spared(&scene, "pages");
    let all = row["samples"].as_f64().unwrap();
    let conflict = samples(&row, "conflict");
    let edge = samples(&row, "edge") + samples(&row, "undetermined");
    assert!(conflict <= net + 0.02 * all, "{net} by cachegrind, {row:#}");
    assert!(net <= conflict + edge + 0.02 * all, "{net} by cachegrind, {row:#}");
    let sets = row["evidence"]["effective_sets"].as_f64().unwrap();
    assert!((sets - 1.0).abs() < 0.01, "{row:#}");
}

#[test]
fn a_working_set_as_large_as_the_cache_is_at_the_edge() {
    let test = "a_working_set_as_large_as_the_cache_is_at_the_edge";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let row = of_visit(&scene, "edge");
    // One line less that always hits, and they would fit: nobody sampled those.
    // Where the stack lies in that set, too, rounds are seen to be at the edge.
    let (open, edge) = (samples(&row, "undetermined"), samples(&row, "edge"));
    assert!((open + edge - 5120.0).abs() < 0.5, "{row:#}");
    if edge < 0.5 {
        assert_eq!(row["verdict"]["grade"], "undetermined", "{row:#}");
        assert!(row["verdict"]["open"].as_str().unwrap().contains("conflict or edge"), "{row:#}");
    }
}

#[test]
fn remedies_have_numbers() {
    if !rights::program("remedies_have_numbers", "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let columns = words(&of_visit(&scene, "columns"));
    assert!(columns.contains("pad rows by 64 bytes: steps of 2048 bytes"), "{columns}");
    assert!(columns.contains("spares 88 % of these misses at most"), "{columns}");
    let nodes = words(&of_visit(&scene, "nodes"));
    assert!(nodes.contains("in 1 of 64 sets") || nodes.contains("into 1 of 64 sets"), "{nodes}");
    assert!(nodes.contains("its 64 lines fit then"), "{nodes}");
    let text = scene.run("ebs causes misses.data").success();
    assert!(text.out.contains("judged by L1D of 32 KiB, 8 ways, 64 sets"), "{text}");
    assert!(text.out.contains("visit+0x"), "{text}");
}

#[test]
fn samples_of_some_misses_say_what_they_do_not_tell() {
    let test = "samples_of_some_misses_say_what_they_do_not_tell";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let line = "ebs -u -t l1_cache_miss -i 50 -c all -d --cache l1d=32k,8 -o some.data";
    scene.run(&format!("{line} ./patterns columns")).success();
    let told = scene.run("ebs causes --json some.data").success();
    let causes: Value = serde_json::from_str(&told.out).unwrap();
    let rows = causes["events"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["site"]["routine"] == "visit").unwrap();
    assert_eq!(row["verdict"]["grade"], "undetermined", "{row:#}");
    assert!(row["verdict"]["open"].as_str().unwrap().contains("-i 1"), "{row:#}");
}

/// The verdict on a routine of a recording, its remedies beside.
fn verdict(scene: &Scene, options: &str, routine: &str) -> (Value, String) {
    let told = scene.run(&format!("ebs causes --json {options}")).success();
    let causes: Value = serde_json::from_str(&told.out).unwrap();
    let rows = causes["events"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["site"]["routine"] == routine);
    let row = row.unwrap_or_else(|| panic!("{routine}: {causes:#}"));
    (row["verdict"].clone(), words(row))
}

#[test]
fn samples_of_some_misses_do_not_contradict_all_of_them() {
    let test = "samples_of_some_misses_do_not_contradict_all_of_them";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let record = |pattern: &str, interval: &str| {
        let line = format!(
            "ebs -u -t l1_cache_miss -i {interval} -c all -d --cache l1d=32k,8 -o some.data"
        );
        scene.run(&format!("{line} ./patterns {pattern}")).success();
    };
    for (pattern, cause) in [
        ("once", "capacity"),
        ("stream", "capacity"),
        ("nodes 10", "conflict"),
        ("product", "conflict"),
    ] {
        let routine = if pattern == "product" { "multiply" } else { "visit" };
        for interval in [7, 100] {
            record(pattern, &interval.to_string());
            let (told, remedies) = verdict(&scene, "some.data", routine);
            assert!(told["cause"] == cause || told["cause"].is_null(), "{pattern}: {told:#}");
            assert!(!remedies.contains("no constant step"), "{pattern}: {remedies}");
            // Few lines of one set are found to be in each other's way all the same.
            let is_proven = pattern == "nodes 10" && interval == 7;
            assert!(!is_proven || told["cause"] == cause, "{told:#}");
        }
    }
    // An interval that keeps step with the rounds meets the same 128 lines in each.
    record("stream 4", "=64");
    let (even, _) = verdict(&scene, "some.data", "visit");
    assert_eq!(even["grade"], "undetermined", "{even:#}");
    // Neither do all misses of one routine: another one had its lines before.
    record("once", "1");
    assert_eq!(verdict(&scene, "some.data", "visit").0["cause"], "capacity");
    let (part, _) = verdict(&scene, "-f routine=visit some.data", "visit");
    assert_eq!(part["grade"], "undetermined", "{part:#}");
    assert!(part["open"].as_str().unwrap().contains("filters"), "{part:#}");
}

#[test]
fn what_is_no_miss_has_no_causes() {
    if !rights::program("what_is_no_miss_has_no_causes", "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    scene.run("ebs -u -t instr_retired -i 1000 -o other.data ./patterns edge").success();
    scene.run("ebs causes other.data").refused(1, &["instr_retired", "l1_cache_miss"]);
    scene.run("ebs causes --cache l1d=3,x other.data").refused(1, &["l1d=3,x"]);
    Scene::new().run("ebs causes").refused(2, &["no recording"]);
}

#[test]
fn a_command_is_sampled_and_has_its_own_status() {
    if !rights::program("a_command_is_sampled_and_has_its_own_status", "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let told = scene.run("ebs causes --top 2 --cache l1d=32k,8 -- ./patterns columns").success();
    assert!(told.out.starts_with("sum 8192\n"), "{told}");
    assert!(told.out.contains("conflict, exact:"), "{told}");
    assert!(told.out.contains("pad rows by 64 bytes"), "{told}");
    let failed = scene.run("ebs causes -- ./patterns nothing");
    assert_eq!(failed.code(), 2, "{failed}");
    assert!(failed.out.contains("judged by L1D"), "{failed}");
    scene.run("ebs causes -t dtlb_load_miss -- ./patterns edge").success();
    scene.run("ebs causes -- ./nowhere").refused(1, &["./nowhere", "not sampled"]);
    scene.run("ebs causes -t nothing -- ./patterns edge").refused(1, &["nothing"]);
    scene.run("ebs causes -i 3 misses.data").refused(2, &["--interval"]);
}

#[test]
fn classes_of_some_misses_hold_the_truth() {
    let test = "classes_of_some_misses_hold_the_truth";
    if !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    patterns(&scene);
    let line = "ebs causes --json -i 20 --cache l1d=32k,8 -- ./patterns";
    for (pattern, class, truth) in
        [("stream", "capacity", 1.0), ("columns", "conflict", 0.875), ("edge", "edge", 1.0)]
    {
        let told = scene.run(&format!("{line} {pattern}")).success();
        let json = told.out.split_once('\n').map_or("", |(_, json)| json);
        let causes: Value = serde_json::from_str(json).unwrap();
        let rows = causes["events"][0]["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["site"]["routine"] == "visit").unwrap();
        assert_eq!(row["verdict"]["grade"], "exact", "{pattern}: {row:#}");
        let shares = row["verdict"]["shares"].as_array().unwrap();
        let share = shares.iter().find(|it| it["class"] == class).unwrap();
        let [low, high] = ["low", "high"].map(|end| share[end].as_f64().unwrap());
        // The intervals are 95 %, and samples are drawn anew each time: twice as wide.
        let room = high - low;
        assert!(low - room <= truth && truth <= high + room, "{pattern}: {row:#}");
    }
}
