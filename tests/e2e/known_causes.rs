//! Programs whose cause is known, judged twice: by what their source says, and by
//! two runs of cachegrind, with 8 ways and with one set of 512.

use crate::cachegrind::misses;
use serde_json::Value;
use tests::{Scene, rights, workload};

/// A way to go through memory, the routine that does it, and its cause.
struct Known {
    pattern: &'static str,
    routine: &'static str,
    cause: &'static str,
}

const fn known(pattern: &'static str, routine: &'static str, cause: &'static str) -> Known {
    Known { pattern, routine, cause }
}

/// All misses of a cache of 64 sets of 8 lines.
const EACH_MISS: &str = "-t l1_cache_miss --cache l1d=32k,8";

/// Those of `patterns.c` that are about a cache.
const IN_C: [Known; 12] = [
    known("stream", "visit", "capacity"),
    known("first", "visit", "cold"),
    known("nodes", "visit", "conflict"),
    known("below", "visit", "conflict"),
    known("edge", "visit", "edge"),
    known("above", "visit", "capacity"),
    known("columns", "visit", "conflict"),
    known("padded", "visit", "capacity"),
    known("product", "multiply", "conflict"),
    known("wide", "visit", "capacity"),
    known("pages", "visit", "conflict"),
    known("chase", "walk", "capacity"),
];

const IN_CXX: [Known; 3] = [
    known("nodes", "add_up", "conflict"),
    known("columns", "add_up", "conflict"),
    known("chase", "add_up", "capacity"),
];

/// Whether all is here that these tests need.
fn can(test: &str) -> bool {
    rights::emulated_pmu(test)
        && ["valgrind", "gcc", "g++"].iter().all(|name| rights::program(test, name))
}

/// Compiled, and static: what it misses on is its own.
fn compile(scene: &Scene, compiler: &str, source: &str, more: &str) {
    let source = workload::sources().join(source);
    let options = "-O1 -g -static -no-pie -fno-pie -pthread";
    let line = format!("{compiler} {options} {more} -o known {}", source.display());
    scene.shell(&line).success();
}

/// What `ebs causes` says of a program in the scene.
fn told(scene: &Scene, options: &str, program: &str) -> Value {
    let told = scene.run(&format!("ebs causes --json -i 1 {options} -- {program}")).success();
    let json = told.out.split_once('\n').map_or("", |(_, json)| json);
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {told}"))
}

/// The row of a routine that has most samples.
fn row<'c>(rows: &'c Value, routine: &str) -> &'c Value {
    let all = rows.as_array().unwrap().iter();
    let is_it =
        |row: &&Value| row["site"]["routine"].as_str().is_some_and(|name| name.contains(routine));
    let row = all.filter(is_it).max_by_key(|row| row["samples"].as_u64());
    row.unwrap_or_else(|| panic!("{routine}: {rows:#}"))
}

/// Misses that differ from run to run by where stack and heap are.
const OF_PLACES: f64 = 32.0;

/// Points by which conflicts of all of a program are off from what a better spread
/// over the sets would spare by cachegrind, where `of` misses are a hundred; a
/// few that are by chance aside.
fn off(scene: &Scene, rows: &Value, program: &str, of: f64) -> f64 {
    let conflict: f64 = rows.as_array().unwrap().iter().map(|row| samples(row, "conflict")).sum();
    let [sets, full] = [8, 512].map(|ways| f64::from(misses(scene, program, ways)));
    100.0 * ((conflict - (sets - full)).abs() - OF_PLACES).max(0.0) / of
}

/// Judges a program by the exact classes of all its misses, and cachegrind beside.
fn judge(scene: &Scene, of: &Known) {
    let Known { pattern, routine, cause } = *of;
    let program = format!("./known {pattern}");
    let causes = told(scene, EACH_MISS, &program);
    let rows = &causes["events"][0]["rows"];
    let own = row(rows, routine);
    assert_eq!(own["verdict"]["cause"], cause, "{pattern}: {own:#}");
    assert_eq!(own["verdict"]["grade"], "exact", "{pattern}: {own:#}");
    let off = off(scene, rows, &program, own["samples"].as_f64().unwrap());
    assert!(off <= 1.0, "{pattern}: {off} points off, {own:#}");
}

/// Samples of a row that are of a class.
fn samples(row: &Value, class: &str) -> f64 {
    let shares = row["verdict"]["shares"].as_array().unwrap();
    let share = shares.iter().find(|it| it["class"] == class);
    share.map_or(0.0, |it| it["share"].as_f64().unwrap() * row["samples"].as_f64().unwrap())
}

#[test]
fn exact_verdicts_are_cachegrinds() {
    if !can("exact_verdicts_are_cachegrinds") {
        return;
    }
    let scene = Scene::new();
    compile(&scene, "gcc", "patterns.c", "");
    IN_C.iter().for_each(|of| judge(&scene, of));
}

#[test]
fn exact_verdicts_of_cxx_are_cachegrinds() {
    if !can("exact_verdicts_of_cxx_are_cachegrinds") {
        return;
    }
    let scene = Scene::new();
    compile(&scene, "g++", "patterns.cc", "");
    IN_CXX.iter().for_each(|of| judge(&scene, of));
}

#[test]
fn kernels_are_in_their_own_way_until_they_are_padded() {
    if !can("kernels_are_in_their_own_way_until_they_are_padded") {
        return;
    }
    for (kernel, routine) in [("adi", "sweep_columns"), ("align", "diagonals"), ("jacobi", "relax")]
    {
        let scene = Scene::new();
        let program = format!("./known {kernel}");
        let shares = ["-DPAD=0", "-DPAD=64"].map(|pad| {
            compile(&scene, "gcc", "conflicts.c", pad);
            let causes = told(&scene, EACH_MISS, &program);
            let rows = &causes["events"][0]["rows"];
            let all = rows.as_array().unwrap().iter();
            let all: f64 = all.map(|row| row["samples"].as_f64().unwrap()).sum();
            let off = off(&scene, rows, &program, all);
            assert!(off <= 1.0, "{kernel} {pad}: {off} points off");
            let conflict: f64 =
                rows.as_array().unwrap().iter().map(|row| samples(row, "conflict")).sum();
            if pad == "-DPAD=0" {
                let own = row(rows, routine);
                assert_eq!(own["verdict"]["cause"], "conflict", "{kernel}: {own:#}");
                let remedies = own["remedies"].as_array().unwrap();
                assert!(remedies.iter().any(|it| it["kind"] == "pad"), "{kernel}: {own:#}");
            }
            conflict / all
        });
        let [before, after] = shares;
        assert!(before > 0.6 && after < 0.1, "{kernel}: {before} before, {after} after");
    }
}

#[test]
fn splits_have_offsets_and_an_alignment() {
    if !can("splits_have_offsets_and_an_alignment") {
        return;
    }
    let scene = Scene::new();
    compile(&scene, "gcc", "patterns.c", "");
    let causes = told(&scene, "-t split_load_retired", "./known split");
    let own = row(&causes["hindrances"][0]["rows"], "visit_long");
    assert_eq!(own["verdict"]["cause"], "split", "{own:#}");
    assert_eq!(own["verdict"]["grade"], "measured", "{own:#}");
    assert_eq!(own["samples"], 512, "{own:#}");
    let evidence = &own["evidence"];
    assert_eq!(evidence["offsets"][0]["offset"], 60, "{own:#}");
    assert_eq!(evidence["width"], 8, "{own:#}");
    // Of 512 lines every 64th is the last one of a page.
    assert_eq!(evidence["crossing_pages"], 8, "{own:#}");
    let text = own["remedies"][0]["text"].as_str().unwrap();
    assert!(text.contains("4 bytes behind multiples of 8: 4 more before it"), "{text}");
    let text = scene.run("ebs causes -t split_load_retired -- ./known split").success();
    assert!(text.out.contains("100.00% in two lines, from offset 60 (100.00%)"), "{text}");
}

#[test]
fn loads_that_stores_block_name_the_store() {
    if !can("loads_that_stores_block_name_the_store") {
        return;
    }
    let scene = Scene::new();
    compile(&scene, "gcc", "patterns.c", "");
    let causes = told(&scene, "-t mob_load_replay_retired", "./known forward");
    let own = row(&causes["hindrances"][0]["rows"], "write_and_read");
    assert_eq!(own["verdict"]["cause"], "forwarding", "{own:#}");
    assert_eq!(own["verdict"]["grade"], "measured", "{own:#}");
    let store = &own["evidence"]["store"];
    assert_eq!(store["width"], 4, "{own:#}");
    assert_eq!(store["site"]["routine"], "write_and_read", "{own:#}");
    assert_eq!(own["remedies"][0]["kind"], "widths", "{own:#}");
}

#[test]
fn pages_are_judged_by_the_tlb_that_walks_are_made_behind() {
    if !can("pages_are_judged_by_the_tlb_that_walks_are_made_behind") {
        return;
    }
    let scene = Scene::new();
    compile(&scene, "gcc", "patterns.c", "");
    for (event, entries) in [("page_walk", 1536), ("dtlb_load_miss", 64)] {
        let options = format!("-t {event} --cache dtlb=64,4 --cache stlb=1536,12");
        let causes = told(&scene, &options, "./known reach");
        let judged = &causes["events"][0];
        assert_eq!(judged["shape"]["entries"], entries, "{event}: {judged:#}");
        let own = row(&judged["rows"], "visit");
        assert_eq!(own["verdict"]["cause"], "capacity", "{event}: {own:#}");
        assert_eq!(own["evidence"]["lines"], 2048, "{event}: {own:#}");
        let text = own["remedies"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("2048 pages of 4 KiB for {entries} entries")), "{text}");
        assert_eq!(own["remedies"].as_array().unwrap().len(), 1, "no prefetch: {own:#}");
    }
}

#[test]
fn lines_that_threads_write_are_shared() {
    if !can("lines_that_threads_write_are_shared") {
        return;
    }
    let scene = Scene::new();
    compile(&scene, "gcc", "lines.c", "");
    for how in ["true", "false"] {
        let program = format!("./known {how} 100000");
        let causes = told(&scene, EACH_MISS, &program);
        let own = row(&causes["events"][0]["rows"], "adds");
        assert_eq!(own["verdict"]["cause"], "sharing", "{how}: {own:#}");
        assert_eq!(own["verdict"]["grade"], "exact", "{how}: {own:#}");
        // Without classes: other threads were seen to write it.
        let line = "ebs -u --source emulated -t l1_cache_miss -c all -d --cache l1d=32k,8";
        for interval in [1, 10] {
            scene.run(&format!("{line} -i {interval} -o misses.data {program}")).success();
            let told = scene.run("ebs causes --json misses.data").success();
            let causes: Value = serde_json::from_str(&told.out).unwrap();
            let own = row(&causes["events"][0]["rows"], "adds");
            let cause = &own["verdict"]["cause"];
            assert!(cause == "sharing" || cause.is_null(), "{how} {interval}: {own:#}");
            assert!(interval > 1 || cause == "sharing", "{how} {interval}: {own:#}");
        }
    }
}
