//! Blocks of the heap: each write of programs that know who asked for what they write to.

use std::{collections::BTreeMap, process::Command};

use tests::{Account, Outcome, Scene, rights, workload};

/// Writes by the line that asked for the block, as the program tells them.
fn told(outcome: &Outcome) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (at, count) = line.rsplit_once(' ').unwrap();
        (at.to_owned(), count.parse().unwrap())
    };
    outcome.out.lines().filter(|line| line.starts_with("heap")).map(line).collect()
}

/// The same as the report has them, of the routine that writes.
fn found(scene: &Scene, key: &str) -> BTreeMap<String, u64> {
    let options = format!("-e memory_stores --by {key} --csv --filter routine=*touch*");
    let report = scene.run(&format!("ebs report {options} h.data")).success();
    // Files without the folders they are in.
    let name = |place: String| place.rsplit('/').next().unwrap_or_default().to_owned();
    report.counts_by(key).into_iter().map(|(place, count)| (name(place), count)).collect()
}

/// Whether the emulated PMU runs here, and the compiler is there.
fn runs(test: &str, compiler: &str) -> bool {
    rights::emulated_pmu(test) && rights::program(test, compiler)
}

/// Records every store of a program, and compares.
fn compare(scene: &Scene, build: &str) {
    scene.shell(build).success();
    let run = scene
        .run("ebs -u -t memory_stores -i 1 --source emulated --heap -o h.data ./heap")
        .success();
    for account in Account::each_of_stream(&scene.path("h.data")) {
        assert_eq!(account.count("kernel"), account.count("delivered") + account.lost());
    }
    let truth = told(&run);
    assert!(truth.len() > 4, "{run}");
    let mut rows = found(scene, "alloc-line");
    // Without optimization it has its own variables on its stack.
    rows.remove("[not in the heap]");
    assert_eq!(rows, truth, "{build}");
}

fn source(name: &str) -> String {
    workload::sources().join(name).display().to_string()
}

#[test]
fn every_write_is_of_the_line_that_asked_for_its_block() {
    let test = "every_write_is_of_the_line_that_asked_for_its_block";
    if !runs(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    for options in ["-O0", "-O1 -fno-pie -no-pie", "-O2 -static -no-pie"] {
        compare(&scene, &format!("gcc {options} -g -pthread -o heap {}", source("heap.c")));
    }
}

#[test]
fn containers_of_cxx_are_of_the_lines_that_use_them() {
    let test = "containers_of_cxx_are_of_the_lines_that_use_them";
    if !runs(test, "g++") {
        return;
    }
    let scene = Scene::new();
    for options in ["-O0", "-O2"] {
        compare(&scene, &format!("g++ -std=c++17 {options} -g -o heap {}", source("heap.cc")));
    }
}

#[test]
fn containers_of_rust_are_of_the_lines_that_use_them() {
    let test = "containers_of_rust_are_of_the_lines_that_use_them";
    if !runs(test, "rustc") {
        return;
    }
    let scene = Scene::new();
    // The scene's home has no toolchain.
    let sysroot = Command::new("rustc").arg("--print=sysroot").output().unwrap().stdout;
    let rustc = format!("{}/bin/rustc", String::from_utf8(sysroot).unwrap().trim());
    // Unoptimized it stores in a routine of the library's.
    for options in ["-C opt-level=2", "-C opt-level=3 -C panic=abort"] {
        let options = format!("--edition 2024 {options} -g");
        compare(&scene, &format!("{rustc} {options} -o heap {}", source("heap.rs")));
    }
}

/// As musl's, and that of tcmalloc: one function has several names, and tables tell no callers.
#[test]
fn blocks_of_an_allocator_of_many_names_are_of_their_lines() {
    let test = "blocks_of_an_allocator_of_many_names_are_of_their_lines";
    if !runs(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    let tables = "-fno-asynchronous-unwind-tables -fomit-frame-pointer";
    let own = format!("gcc -O1 -g {tables} -c {}", source("own_malloc.c"));
    scene.shell(&own).success();
    compare(&scene, &format!("gcc -O1 -g -o heap {} own_malloc.o", source("heap_aliased.c")));
}

#[test]
fn causes_are_of_the_lines_that_asked() {
    let test = "causes_are_of_the_lines_that_asked";
    if !runs(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    scene.shell(&format!("gcc -O1 -g -pthread -o heap {}", source("heap.c"))).success();
    let truth = told(&scene.shell("./heap").success());
    let causes = scene.run("ebs causes --heap --json -- ./heap").success().out;
    // What the program says stands before it.
    let causes = &causes[causes.find("\n{").unwrap_or(0)..];
    let causes: serde_json::Value = serde_json::from_str(causes).unwrap();
    let rows = causes["events"][0]["rows"].as_array().unwrap();
    let touches = rows.iter().filter(|row| row["site"]["routine"] == "touch");
    let mut lines = 0;
    for row in touches {
        let data = row["data"].as_str().unwrap();
        let Some(asked) = data.strip_prefix("block from ") else { continue };
        let line = asked.rsplit('/').next().unwrap_or_default();
        assert!(truth.contains_key(line), "{data}: {truth:?}");
        lines += 1;
    }
    assert!(lines > 4, "{rows:?}");
}

#[test]
fn what_is_not_recorded_is_told() {
    let test = "what_is_not_recorded_is_told";
    if !runs(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    scene.shell(&format!("gcc -O1 -g -pthread -o heap {}", source("heap.c"))).success();
    scene.run("ebs -u -t memory_stores -i 1 -o h.data ./heap").success();
    let rows = found(&scene, "alloc");
    let only: Vec<&String> = rows.keys().collect();
    assert_eq!(only, ["[not recorded; --heap]"]);
    let refused =
        scene.run("ebs -u -t memory_stores --source emulated --heap --burst 1k/10k ./heap");
    refused.refused(2, &["--heap", "leave --burst out"]);
}
