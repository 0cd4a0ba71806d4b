use rustix::process::Signal;
use std::thread::sleep;
use std::time::Duration;
use tests::{Running, Scene, Workload, rights};

/// What the program does to the emulator's memory in it; see there.
const WAYS: [&str; 12] = [
    "random", "ones", "ring", "forged", "lock", "mem", "vm", "advise", "cut", "protect", "unmap",
    "move",
];

/// A program finds the emulator's memory in itself and damages it, in each of
/// these ways: it may come to harm, `ebs` may not, nor who reads what was
/// recorded.
#[test]
fn a_program_that_damages_the_emulators_memory_harms_itself_alone() {
    if !rights::emulated_pmu("a_program_that_damages_the_emulators_memory_harms_itself_alone") {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Vandal.build(&scene);
    for way in WAYS {
        let mut command = scene.command("ebs");
        let line = "-u --source emulated -t memory_loads -i 10 -c all -o x.data --";
        command.args(line.split(' ')).arg(&program).arg(way);
        let outcome = Running::start(&mut command).finish().sane();
        // Not a signal's: of a program that a signal ended it is 128 and more.
        let _told = outcome.code();
        assert!(outcome.out.starts_with("found 4"), "{way}: {outcome}");
        // As natively, where nothing is mapped there.
        if ["protect", "move"].contains(&way) {
            assert!(!outcome.err.contains("broke off"), "{way}: {outcome}");
        }
        assert!(!outcome.out.contains("cut\n"), "{way}: {outcome}");
        assert!(!outcome.err.contains("internal error"), "{way}: {outcome}");
        assert!(outcome.last_line().contains(" records, "), "{way}: {outcome}");
        for read in ["ebs report x.data", "ebs script x.data"] {
            // One that could not all be read is told with status 1.
            let read = scene.run(read).sane();
            assert!(read.code() <= 1, "{way}: {read}");
        }
        if way == "forged" {
            let said = "the program has written into the emulator's memory";
            assert!(outcome.err.contains(said), "{outcome}");
            assert!(outcome.last_line().contains("lost (parse "), "{outcome}");
        }
    }
}

/// What one process does ends its own emulation alone, and is told.
#[test]
fn a_process_that_cannot_be_emulated_further_is_given_up_and_told() {
    let test = "a_process_that_cannot_be_emulated_further_is_given_up_and_told";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Corner.build(&scene);
    let mut command = scene.command("ebs");
    let line = "-u --source emulated -t l1_cache_miss -i 100 -c all -o x.data --";
    command.args(line.split(' ')).arg(&program).arg("child");
    let outcome = Running::start(&mut command).finish().sane();
    assert!(outcome.out.ends_with("after\nchild 6\n"), "{outcome}");
    let told = "broke off; the process runs on natively: no room for translated code near 0x";
    assert!(outcome.err.contains(told), "{outcome}");
    assert_eq!(outcome.code(), 1, "{outcome}");
    assert!(outcome.last_line().contains(", 0 lost, "), "{outcome}");
}

/// The kernel cuts a name at 15 bytes, in the middle of a character where that is there.
#[test]
fn a_program_whose_name_is_no_text_is_emulated() {
    let test = "a_program_whose_name_is_no_text_is_emulated";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Touch.build(&scene);
    let named = scene.path("aaaaaaaaaaaaaa\u{e9}");
    std::fs::copy(program, &named).unwrap();
    let mut command = scene.command("ebs");
    command
        .args("-u --source emulated -t l1_cache_miss -i 100 --".split(' '))
        .arg(&named)
        .arg("10");
    let outcome = Running::start(&mut command).finish().success();
    assert!(outcome.last_line().contains(" records, 0 lost, "), "{outcome}");
}

/// A lock of the emulator that the program has taken for ever keeps no one.
#[test]
fn a_program_that_keeps_the_emulators_lock_is_let_go_at_once() {
    let test = "a_program_that_keeps_the_emulators_lock_is_let_go_at_once";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Vandal.build(&scene);
    let mut command = scene.command("ebs");
    let line = "-u --source emulated -t memory_loads -i 10 -c all -o x.data --";
    command.args(line.split(' ')).arg(&program).arg("keep");
    let mut ebs = Running::start(&mut command);
    assert_eq!(ebs.hear(), "found 4");
    assert_eq!(ebs.hear(), "kept");
    // Until it waits for the lock, which it does for good.
    sleep(Duration::from_millis(300));
    ebs.signal(Signal::INT);
    // It ends by itself: it runs natively by now.
    assert_eq!(ebs.hear(), "sum 16384");
    let outcome = ebs.finish().sane();
    assert!(!outcome.err.contains("broke off"), "{outcome}");
}
