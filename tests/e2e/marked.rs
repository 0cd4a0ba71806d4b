//! Regions that programs name, in recordings of what the kernel counts.

use std::{collections::BTreeMap, path::Path};

use serde_json::Value;
use tests::workload::{compile_marked, with_library};
use tests::{Running, Scene, User, built, rights};

/// Where libhardmeter.so is.
fn library() -> String {
    built::directory().join("libhardmeter.so").display().to_string()
}

/// Faults on the program's fresh pages by region, and what was lost of all.
fn by_region(scene: &Scene, recording: &str) -> (BTreeMap<String, u64>, u64) {
    let line = format!(
        "ebs report --json --by region --filter addr=0x200000000000-0x200001000000 {recording}"
    );
    let report = scene.run(&line).success();
    let report: Value = serde_json::from_str(&report.out).unwrap();
    let event = &report["events"][0];
    let rows = event["rows"].as_array().unwrap().iter().map(|row| {
        let region = &row["region"];
        let region = region.as_str().unwrap_or("-").to_owned();
        (region, row["count"].as_u64().unwrap())
    });
    let count = |key: &str| event["ledger"][key].as_u64().unwrap();
    (rows.collect(), count("kernel") - count("delivered"))
}

/// Each region has the pages that it touched, but for what was lost.
#[track_caller]
fn assert_regions(scene: &Scene, recording: &str, truth: &[(&str, u64)]) {
    let (found, lost) = by_region(scene, recording);
    let mut missing = 0;
    for (region, pages) in truth {
        let count = found.get(*region).copied().unwrap_or(0);
        assert!(count <= *pages, "{region}: {count} of {pages} in {found:?}");
        missing += pages - count;
    }
    assert!(missing <= lost, "{missing} missing, {lost} lost, in {found:?}");
    let known = |region: &String| truth.iter().any(|(name, _)| name == region);
    assert!(found.keys().all(known), "{found:?}");
}

const MARKED: [(&str, u64); 8] = [
    ("-", 17),
    ("solve", 25),
    ("solve/sweep", 30),
    ("worker", 40),
    ("make", 2),
    ("fork", 9),
    ("fork/child", 4),
    ("again", 8),
];

#[test]
fn regions_are_those_that_the_program_was_in() {
    if !rights::sampling("regions_are_those_that_the_program_was_in") {
        return;
    }
    let scene = Scene::new();
    let sampled = "ebs -u -t page_fault -i 1 -d --regions -o f.data --";
    // Threads, a fork and an exec; not linked, and linked.
    compile_marked(&scene, "marked", &[]);
    let told = scene.shell(&format!("LD_PRELOAD={} {sampled} ./marked", library())).success();
    assert!(!told.err.contains("region"), "{told}");
    assert_regions(&scene, "f.data", &MARKED);
    compile_marked(&scene, "marked", &with_library());
    scene.run(&format!("{sampled} ./marked")).success();
    assert_regions(&scene, "f.data", &MARKED);
    // A name means that region, whatever lies around or in it.
    let rows = scene.run(
        "ebs report --csv --by region --filter region=solve \
         --filter addr=0x200000000000-0x200001000000 f.data",
    );
    let rows = rows.success().out;
    assert!(rows.contains("solve/sweep") && !rows.contains("worker"), "{rows}");
}

#[test]
fn programs_marked_for_others_need_no_change() {
    if !rights::sampling("programs_marked_for_others_need_no_change") {
        return;
    }
    let scene = Scene::new();
    let cases: [(&str, &[(&str, u64)]); 2] = [
        ("itt_marked", &[("outer", 11), ("outer/inner", 12), ("frames", 13), ("step", 14)]),
        ("likwid_marked", &[("copy", 15), ("triad", 16), ("copy/triad", 0)]),
    ];
    for (program, truth) in cases {
        compile_marked(&scene, program, &[]);
        let line = "ebs -u -t page_fault -i 1 -d --regions -o f.data --";
        scene.shell(&format!("LD_PRELOAD={} {line} ./{program}", library())).success();
        assert_regions(&scene, "f.data", truth);
    }
}

#[test]
fn a_user_without_rights_marks_regions() {
    if !rights::root("a_user_without_rights_marks_regions") {
        return;
    }
    let scene = Scene::new();
    compile_marked(&scene, "marked", &[]);
    let commands = scene.open_commands();
    std::fs::copy(library(), scene.path("libhardmeter.so")).unwrap();
    let script = format!(
        "cd $(mktemp -d) && LD_PRELOAD={} {} -u -t page_fault -i 1 -d --regions -o f.data -- {} \
         && chmod a+r f.data && pwd",
        scene.path("libhardmeter.so").display(),
        commands.join("ebs").display(),
        scene.path("marked").display(),
    );
    let mut command = User::new(65_533).command(&scene, "bash");
    let outcome = Running::start(command.args(["-euc", &script])).finish().success();
    let place = Path::new(outcome.out.trim());
    std::fs::rename(place.join("f.data"), scene.path("f.data"))
        .or_else(|_| std::fs::copy(place.join("f.data"), scene.path("f.data")).map(drop))
        .unwrap();
    std::fs::remove_dir_all(place).unwrap();
    assert_regions(&scene, "f.data", &MARKED);
}

#[test]
fn what_has_no_regions_is_told() {
    let scene = Scene::new();
    let refused = |line: &str, words: &[&str]| {
        scene.run(line).refused(2, words);
    };
    refused("ebs -u -t page_fault --regions -o f.data 1", &["--regions needs a program"]);
    refused("ebs -u -t page_fault --regions -- true", &["goes into recordings", "-o FILE.data"]);
    refused("ebs -u -t page_fault --regions --in-kernel -o f.data true", &["--in-kernel"]);
    if !rights::sampling("what_has_no_regions_is_told") {
        return;
    }
    let told = scene.run("ebs -u -t page_fault --regions -o f.data -- true").success();
    assert!(told.err.contains("no region was marked"), "{told}");
}
