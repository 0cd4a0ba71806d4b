//! `ebs selftest`: what it says of this machine, whatever that has.

use rustix::process::Signal;
use serde_json::Value;
use tests::{Scene, rights};

/// So long that no row is left out on a busy machine.
const ALL: &str = "--seconds 600";

fn is_x86(test: &str) -> bool {
    let is = cfg!(target_arch = "x86_64");
    if !is {
        eprintln!("skipped {test}: its programs are x86-64 ones");
    }
    is
}

/// The document of a test that found nothing wrong.
fn sound(scene: &Scene, options: &str) -> Value {
    let done = scene.run(&format!("ebs selftest --json {ALL} {options}")).success();
    assert_eq!(done.err, "", "nothing is said beside the document");
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["schema"], "hardmeter-selftest/1");
    assert_eq!(document["failed"], 0, "{document:#}");
    document
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().unwrap()
}

/// Each sample that was made arrived or is lost, and those that were judged
/// are among them.
fn assert_accounted(row: &Value) {
    let sampled = &row["sampled"];
    let account = &sampled["account"];
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{row:#}"));
    let arrived = number(&account["delivered"]) + number(&account["lost"]);
    if let Some(made) = account["made"].as_u64() {
        assert_eq!(made, arrived, "{row:#}");
    }
    let judged = number(&sampled["samples"]);
    assert!((20..=arrived).contains(&judged), "{row:#}");
    let instruction = &sampled["shares"]["instruction"];
    assert_eq!(number(&instruction["of"]), judged, "{row:#}");
}

#[test]
fn every_type_passes_or_says_why_not() {
    if !is_x86("every_type_passes_or_says_why_not") {
        return;
    }
    let scene = Scene::new();
    let document = sound(&scene, "");
    let mut emulated = 0;
    for row in rows(&document) {
        let reasons = row["reasons"].as_array().unwrap();
        match row["verdict"].as_str() {
            Some("PASS") => {
                assert!(reasons.is_empty(), "{row:#}");
                assert_accounted(row);
            }
            Some("why not") => {
                assert!(row["sampled"].is_null() && !reasons.is_empty(), "{row:#}");
            }
            other => panic!("{other:?}: {row:#}"),
        }
        emulated += u64::from(row["counted_by"] == "emulated");
    }
    let passed = document["passed"].as_u64().unwrap();
    let kernel = rows(&document).iter().filter(|row| row["counted_by"] == "kernel").count() as u64;
    assert!(passed >= emulated + kernel, "{document:#}");
    if !rights::core_pmu() {
        // Each type that the emulated PMU has, on each of its programs.
        assert_eq!(emulated, 26, "{document:#}");
    }
    if rights::paranoid() <= 2 {
        let fault = rows(&document).iter().find(|row| row["type"] == "page_fault").unwrap();
        assert_eq!(fault["verdict"], "PASS", "{fault:#}");
        assert_eq!(fault["counted_by"], "kernel");
    }
}

/// On any machine: rows say who counted.
#[test]
fn the_emulated_pmu_is_tested_where_it_is_asked_for() {
    if !is_x86("the_emulated_pmu_is_tested_where_it_is_asked_for") {
        return;
    }
    let scene = Scene::new();
    let types = "-t l1_cache_miss,hitm,page_walk --source emulated";
    let document = sound(&scene, types);
    assert_eq!(rows(&document).len(), 5, "{document:#}");
    for row in rows(&document) {
        assert_eq!(row["counted_by"], "emulated", "{row:#}");
        assert_eq!(row["verdict"], "PASS", "{row:#}");
        let shares = &row["sampled"]["shares"];
        for share in ["exact_ip", "instruction", "address", "registers", "latency", "data_source"] {
            assert!(shares[share]["of"].as_u64() > Some(20), "{share}: {row:#}");
        }
    }
    let table = scene.run(&format!("ebs selftest {ALL} {types}")).success().out;
    for part in ["type ", "emulated/0x1/ppp every ", " PASS\n", "# 5 PASS, 0 FAIL, 0 not sampled, "]
    {
        assert!(table.contains(part), "{part}: {table}");
    }
    assert!(table.contains("; no hardware was sampled\n"), "{table}");
}

#[test]
fn what_is_not_to_be_had_is_no_failure() {
    let test = "what_is_not_to_be_had_is_no_failure";
    if !is_x86(test) || rights::core_pmu() {
        eprintln!("skipped {test}: this machine has a PMU");
        return;
    }
    let scene = Scene::new();
    let done = scene.run("ebs selftest -t l1_cache_miss,remote_dram --source pmu").success();
    let text = &done.out;
    assert!(text.contains("why not l1_cache_miss:u:\n"), "{done}");
    assert!(text.contains("no hardware PMU") && text.contains("page_fault"), "{done}");
    assert!(text.contains("why not remote_dram:\n") && text.contains("numactl"), "{done}");
    assert!(text.contains("\n# 0 PASS, 0 FAIL, 4 not sampled, "), "{done}");
}

#[test]
fn after_its_time_no_row_is_begun() {
    let scene = Scene::new();
    let done = scene.run("ebs selftest -t page_fault --seconds 0").success();
    assert!(done.out.contains("0 seconds were over"), "{done}");
    assert!(done.out.contains("# 0 PASS, 0 FAIL, 2 not sampled, "), "{done}");
}

#[test]
fn sigint_prints_the_rows_that_there_are() {
    if !is_x86("sigint_prints_the_rows_that_there_are") {
        return;
    }
    let scene = Scene::new();
    let mut running = scene.start(&format!("ebs selftest --json {ALL} --source emulated"));
    // It catches signals before its first program runs.
    running.wait_until("its first program", |pid| {
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.is_ok_and(|text| !text.trim().is_empty())
    });
    running.signal(Signal::INT);
    let done = running.finish().success();
    let document: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(document["interrupted"], true, "{document:#}");
    assert_eq!(document["failed"], 0, "{document:#}");
    let reasons = rows(&document).iter().map(|row| row["reasons"].to_string());
    assert!(reasons.filter(|text| text.contains("interrupted")).count() > 10, "{document:#}");
}

#[test]
fn words_without_meaning_are_refused() {
    let scene = Scene::new();
    scene.run("ebs selftest -t l1_cash_miss").refused(2, &["\"l1_cash_miss\"", "l1_cache_miss"]);
    scene.run("ebs selftest --source box").refused(2, &["\"box\"", "emulated"]);
    scene.run("ebs selftest --seconds x").refused(2, &["x"]);
    // Its programs are nothing to run by hand.
    scene.run("ebs selftest-program rows").refused(1, &["ebs selftest"]);
    let help = scene.run("ebs help selftest").success();
    assert!(help.out.contains("ebs selftest --json > st.json"), "{help}");
    let page = scene.run("ebs man pages").success();
    assert_eq!(page.out, "");
    assert!(scene.read("pages/ebs-selftest.1").contains("known"), "a page of its own");
    let completions = scene.run("ebs completions bash").success();
    assert!(completions.out.contains("selftest"), "{completions}");
    assert!(!completions.out.contains("selftest-program"), "{completions}");
}
