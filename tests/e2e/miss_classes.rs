//! Why misses are some: beside cachegrind, whose caches may be fully associative,
//! and sums made by hand.

use std::collections::BTreeMap;

use crate::cachegrind::misses;
use tests::{Account, Scene, Workload, rights, workload};

/// Lines of the level that is modelled, 8 of a set.
const CACHES: &str = "--cache l1d=32k,8 --cache l2=512k,8 --cache l3=8m,16";

/// Builds `places.c`.
fn places(scene: &Scene, sizes: &str) {
    let source = workload::sources().join("places.c");
    let options = "-O1 -nostdlib -static -ffreestanding -fno-stack-protector -fno-pie -no-pie";
    scene.shell(&format!("gcc {options} {sizes} -o places {}", source.display())).success();
}

/// Samples of each class in a recording, of those that a filter lets pass.
fn classes(scene: &Scene, file: &str, filter: &str) -> BTreeMap<String, u64> {
    let told = scene.run(&format!("ebs report --by miss --csv {filter} {file}")).success();
    told.counts_by("miss")
}

/// Records each miss of `places`, and looks how many of each class there are.
fn recorded(scene: &Scene) -> BTreeMap<String, u64> {
    let line = format!("ebs -u -t l1_cache_miss -i 1 {CACHES} --classify exact -o l.data ./places");
    scene.run(&line).success();
    let account = Account::of_stream(&scene.path("l.data"));
    assert_eq!(account.count("kernel"), account.count("delivered"), "{account:?}");
    let classes = classes(scene, "l.data", "");
    assert_eq!(classes.values().sum::<u64>(), account.count("delivered"), "{classes:?}");
    classes
}

/// Both programs are the same and alone: no tolerance. In none of them does a line
/// stay in its set of 8 that 512 others would have driven out, so that the misses of
/// the fully associative cache are those that are no conflicts.
#[test]
fn classes_add_up_to_both_of_cachegrinds_counts() {
    let test = "classes_add_up_to_both_of_cachegrinds_counts";
    if !rights::emulated_pmu(test)
        || !rights::program(test, "valgrind")
        || !rights::program(test, "gcc")
    {
        return;
    }
    let scene = Scene::new();
    // Nodes in one set; columns of 256 rows, of rows with a line more; what is too
    // much by less than a tenth, and by more. Lines, and the other misses of the one
    // class that there is.
    for (sizes, lines_of, times, class) in [
        ("-DNODES=64 -DAPART=8192 -DTIMES=1 -DROUNDS=20", 64, 64 * 19, "conflict"),
        ("-DNODES=256 -DAPART=2048 -DTIMES=256 -DSTEP=8 -DROUNDS=1", 8192, 8192 * 7, "conflict"),
        ("-DNODES=256 -DAPART=2112 -DTIMES=256 -DSTEP=8 -DROUNDS=1", 8192, 0, "conflict"),
        ("-DNODES=530 -DAPART=8192 -DTIMES=1 -DROUNDS=4", 530, 530 * 3, "edge"),
        ("-DNODES=600 -DAPART=8192 -DTIMES=1 -DROUNDS=4", 600, 600 * 3, "capacity"),
    ] {
        places(&scene, sizes);
        let classes = recorded(&scene);
        let of = |class: &str| classes.get(class).copied().unwrap_or(0);
        let [sets, full] = [8, 512].map(|ways| u64::from(misses(&scene, "./places", ways)));
        let told = format!("{sizes}: {classes:?}, cachegrind {sets}, {full}");
        assert_eq!(classes.values().sum::<u64>(), sets, "{told}");
        assert_eq!(of("cold") + of("edge") + of("capacity"), full, "{told}");
        assert_eq!((of("cold"), of(class), of("sharing")), (lines_of, times, 0), "{told}");
    }
}

#[test]
fn a_line_that_two_threads_write_is_shared() {
    let test = "a_line_that_two_threads_write_is_shared";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    Workload::Sharing.build(&scene);
    for event in ["l1_cache_miss", "l2_cache_miss"] {
        let ebs = format!("ebs -u -t {event} -i 1 {CACHES} --classify exact");
        scene.run(&format!("{ebs} -o s.data ./sharing 40")).success();
        let own = classes(&scene, "s.data", "--filter routine=hand_over");
        let of = |class: &str| own.get(class).copied().unwrap_or(0);
        // Nothing else is touched there that could drive the line out.
        assert!(of("sharing") > 0, "{event}: {own:?}");
        assert!(of("cold") < of("sharing"), "{event}: {own:?}");
        assert_eq!(of("conflict") + of("edge") + of("capacity"), 0, "{event}: {own:?}");
        let only = classes(&scene, "s.data", "--filter routine=hand_over --filter miss=sharing");
        assert_eq!(only, BTreeMap::from([("sharing".to_owned(), of("sharing"))]), "{event}");
    }
}

#[test]
fn classes_are_told_everywhere_and_lacks_have_reasons() {
    let test = "classes_are_told_everywhere_and_lacks_have_reasons";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    places(&scene, "-DNODES=64 -DAPART=8192 -DTIMES=1 -DROUNDS=20");
    let ebs = format!("ebs -u -t l1_cache_miss,memory_loads -i 1 {CACHES}");
    scene.run(&format!("{ebs} --classify exact -o c.data ./places")).success();
    let script = scene.run("ebs script -F event,ip,miss c.data").success();
    assert!(script.out.lines().any(|line| line.contains(" conflict ")), "{script}");
    let report = scene.run("ebs report --by miss c.data").success();
    assert!(report.out.contains("[not recorded; --classify exact]"), "of loads: {report}");
    scene.run("ebs convert --anonymise c.data a.data").success();
    let of = |file| classes(&scene, file, "-e *l1_cache_miss*");
    assert_eq!(of("a.data"), of("c.data"));
    let filtered = scene.run("ebs report --by miss --filter miss!=cold c.data").success();
    assert!(filtered.out.contains("conflict") && !filtered.out.contains("  cold\n"), "{filtered}");
    if rights::program(test, "perf") {
        // Each line is a record's: perf has nothing to complain of.
        let theirs = scene.shell("perf script -i c.data 2>&1").success();
        let accounts = Account::each_of_stream(&scene.path("c.data"));
        let delivered: u64 = accounts.iter().map(|of| of.count("delivered")).sum();
        let lines = theirs.out.lines().filter(|line| line.contains("emulated/"));
        assert_eq!(lines.count() as u64, delivered, "{theirs}");
        assert_eq!(theirs.out.lines().count() as u64, delivered, "{theirs}");
    }
    scene.run("ebs -u -t l1_cache_miss -i 1 --source emulated -o n.data ./places").success();
    let report = scene.run("ebs report --by miss n.data").success();
    assert!(report.out.contains("[not recorded; --classify exact]"), "{report}");
    for (options, says) in [
        ("-t l1_cache_miss --prefetch", "leave --prefetch out"),
        ("-t l1_cache_miss --burst 1k/10k", "leave --burst out"),
        ("-t l1_cache_miss --source pmu", "--classify is of the emulated PMU"),
        ("-t l1_cache_miss --cache l1d=off", "has no L1D"),
        ("-t memory_loads", "no event is about misses of a data cache"),
    ] {
        let refused = scene.run(&format!("ebs -u {options} --classify exact ./places"));
        assert!(!refused.status.success() && refused.err.contains(says), "{options}: {refused}");
    }
}
