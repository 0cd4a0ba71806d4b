use std::fs;

use rustix::process::Signal;
use tests::{Account, Scene, Truth, Workload, rights};

#[test]
fn a_thousand_writes_are_a_thousand_records() {
    let test = "a_thousand_writes_are_a_thousand_records";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Watch.build(&scene);
    let place = Truth::new(&scene.run("./watch 0").success().out);
    let (watched, after) = (place.number("watched"), place.number("after"));
    for modes in ["-u", "-u -k"] {
        let line = format!("ebs {modes} -t mem:{watched:#x}/8:w -c all -o w.data ./watch 1000");
        let sampled = scene.run(&line).success();
        let script = scene.run("ebs script -F ip,addr w.data").success().out;
        let expected = format!("{watched:x} {after:x}");
        let got: Vec<_> = script
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert!(got.iter().all(|line| *line == expected), "{expected}, not {got:?}");
        assert_eq!(got.len(), 1000, "{sampled}");
        let account = Account::of_stream(&scene.path("w.data"));
        assert_eq!((account.count("kernel"), account.count("delivered")), (1000, 1000));
    }
}

/// Each CPU counts towards an interval of its own; on one, none is split.
const ONE_CPU: &str = "taskset -c 0";

#[test]
fn the_interval_counts_writes() {
    if !rights::sampling("the_interval_counts_writes") {
        return;
    }
    let scene = Scene::new();
    Workload::Watch.build(&scene);
    let watched = Truth::new(&scene.run("./watch 0").success().out).number("watched");
    let line =
        format!("{ONE_CPU} ebs -u -i =100 -t mem:{watched:#x}:w -c all -o w.data ./watch 1000");
    scene.run(&line).success();
    let script = scene.run("ebs script -F addr w.data").success().out;
    assert_eq!(script.lines().count(), 10, "{script}");
}

/// A sample_type with PERIOD made the kernel ignore the interval.
#[test]
fn the_interval_counts_faults() {
    if !rights::sampling("the_interval_counts_faults") {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let line = format!("{ONE_CPU} ebs -u -t page_fault -i =100 -c all -o s.data ./storm 20000");
    let sampled = scene.run(&line).success();
    let delivered = Account::of_stream(&scene.path("s.data")).count("delivered");
    // The storm's 200, and what two threads keep or swap of their remainders.
    assert!((199..=201).contains(&delivered), "{sampled}");
    let script = scene.run("ebs script -F period s.data").success().out;
    assert!(script.lines().all(|line| line.trim() == "100"), "{script}");
}

/// Writes N times to `watched`, where it was linked or elsewhere.
const MOVABLE: &str = "#include <stdio.h>
#include <stdlib.h>
volatile long watched = 1;
int main(int argc, char **argv)
{
    char line[8];
    if (argc > 2 && !fgets(line, sizeof line, stdin))
        return 1;
    for (long left = atol(argv[1]); left > 0; left--)
        watched = left;
}
";

#[test]
fn an_address_in_a_position_independent_file_is_told_to_be_one() {
    let test = "an_address_in_a_position_independent_file_is_told_to_be_one";
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped {test}: its program is written for x86-64");
        return;
    }
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    scene.write("movable.c", MOVABLE);
    scene.shell("gcc -O1 -fPIE -pie -o movable movable.c").success();
    scene.shell("gcc -O1 -static -no-pie -fno-pie -o fixed movable.c").success();
    let address = |program: &str| {
        let told = scene.shell(&format!("nm {program} | grep ' watched$'")).success().out;
        u64::from_str_radix(told.split(' ').next().unwrap(), 16).unwrap()
    };
    let (movable, fixed) = (address("movable"), address("fixed"));
    let said = "movable, which is position-independent";
    let there = |told: &str| {
        let told = told.lines().find(|line| line.contains(said)).unwrap();
        let last = told.rsplit_once("-t mem:").unwrap().1;
        last.split([',', ' ']).next().unwrap().to_owned()
    };

    // A command: what works is told, and does.
    let line = format!("-t mem:{movable:#x}/8:w -o w.data");
    let outcome = scene.run(&format!("ebs -u {line} ./movable 10")).success();
    assert!(outcome.err.contains(said) && outcome.err.contains("setarch -R"), "{outcome}");
    assert!(outcome.err.contains(": not accessed at 0x"), "{outcome}");
    let named = format!("mem:{movable:#x}@movable/8:w");
    assert!(outcome.err.contains(&format!("say -t {named}, ")), "{outcome}");
    let outcome = scene.run(&format!("ebs -u -t {named} -o w.data ./movable 10")).success();
    assert!(!outcome.err.contains(said), "{outcome}");
    assert_eq!(Account::of_stream(&scene.path("w.data")).count("kernel"), 10, "{outcome}");
    let outcome = scene.run(&format!("ebs -u {line} ./movable 10")).success();
    let moved = there(&outcome.err);
    let unmoved = scene.run(&format!("setarch -R ebs -u {line} ./movable 10")).success();
    assert!(unmoved.err.contains(&format!("or -t mem:{moved}, where it will be")), "{unmoved}");
    let watch = format!("setarch -R ebs -u -t mem:{moved} -o w.data ./movable 10");
    let outcome = scene.run(&watch).success();
    assert!(!outcome.err.contains("is an address in the file"), "{outcome}");
    assert_eq!(Account::of_stream(&scene.path("w.data")).count("kernel"), 10, "{outcome}");

    // A process.
    fs::remove_file(scene.path("w.data")).unwrap();
    let mut target = scene.start("./movable 10 wait");
    let pid = target.pid();
    let line = format!("ebs -u -t mem:{movable:#x}/8:w -o w.data {pid}");
    let mut ebs = scene.start(&line);
    let written = || fs::metadata(scene.path("w.data")).is_ok_and(|it| it.len() > 0);
    ebs.wait_until("it wrote", |_| written());
    ebs.signal(Signal::INT);
    let outcome = ebs.finish();
    assert!(outcome.err.contains("movable, which is position-independent"), "{outcome}");
    assert!(outcome.err.contains(&format!("; in process {pid} it is at -t mem:")), "{outcome}");
    let moved = there(&outcome.err);
    fs::remove_file(scene.path("w.data")).unwrap();
    let mut ebs = scene.start(&format!("ebs -u -t mem:{moved} -o w.data {pid}"));
    ebs.wait_until("it wrote", |_| written());
    target.tell("go");
    target.finish();
    let outcome = ebs.finish().success();
    assert!(!outcome.err.contains("is an address in the file"), "{outcome}");

    // A program whose addresses are those of its file.
    let line = format!("ebs -u -t mem:{fixed:#x}/8:w -o w.data ./fixed 10");
    let outcome = scene.run(&line).success();
    assert!(!outcome.err.contains("is an address in the file"), "{outcome}");
    assert!(Account::of_stream(&scene.path("w.data")).count("kernel") >= 10, "{outcome}");
}
