use std::process::{Command, Output, Stdio};

use emulator::{Burst, EmulatedEvent, TaskExit};

use crate::run::{Recording, end};
use crate::workload::Workload;

pub(crate) const GEOMETRY: &str = "l1d=32k,8,64 l1i=off l2=512k,8,64 l3=off dtlb=64,4 stlb=off";

pub(crate) fn natively(program: &Workload, arguments: &[&str]) -> Output {
    Command::new("setarch")
        .arg("-R")
        .arg(program.path())
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Fails unless the program writes and ends as it does natively.
#[track_caller]
pub(crate) fn assert_same_behaviour(program: &Workload, arguments: &[&str]) {
    assert_same_behaviour_in(None, program, arguments);
}

#[track_caller]
pub(crate) fn assert_same_behaviour_in(
    burst: Option<Burst>,
    program: &Workload,
    arguments: &[&str],
) {
    let native = natively(program, arguments);
    let every = Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY);
    let recording = Recording { interval: 100, burst, ..every };
    let recorded = recording.of(&program.path(), arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&recorded.out), text(&native.stdout), "{arguments:?}");
    assert_eq!(recorded.ended, Some(end(&native.status)), "{arguments:?}");
    assert_eq!(recorded.account.not_followed, [], "{arguments:?}");
    assert_eq!(recorded.account.broken, [], "{arguments:?}");
    assert!(recorded.counts().events > 0, "{arguments:?}");
    // The books of all threads, wherever their memory was.
    assert_eq!(recorded.counts().records, recorded.records.len() as u64, "{arguments:?}");
}

#[test]
fn control_flow_of_every_shape() {
    let shapes: [&[&str]; 4] = [&["-static"], &["-static-pie"], &["-no-pie"], &["-pie", "-fPIE"]];
    for shape in shapes {
        assert_same_behaviour(&Workload::shaped("jumps.c", shape), &[]);
    }
}

#[test]
fn what_handlers_see_and_change() {
    assert_same_behaviour(&Workload::usual("frames.c"), &[]);
}

#[test]
fn threads_alarms_faults_and_children_at_once() {
    assert_same_behaviour(&Workload::usual("crowd.c"), &[]);
}

#[test]
fn every_way_to_make_a_process() {
    assert_same_behaviour(&Workload::usual("children.c"), &[]);
}

#[test]
fn code_that_is_made_and_changed() {
    assert_same_behaviour(&Workload::usual("generator.c"), &["50"]);
}

#[test]
fn calls_that_signals_interrupt() {
    assert_same_behaviour(&Workload::usual("waits.c"), &[]);
}

#[test]
fn threads_that_live_for_a_moment() {
    assert_same_behaviour(&Workload::usual("churn.c"), &["80"]);
}

#[test]
fn strings_that_fault_on_their_way() {
    assert_same_behaviour(&Workload::usual("faults.c"), &[]);
}

#[test]
fn a_program_that_has_given_up_system_calls() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: only root emulates a program under its filter");
    }
    assert_same_behaviour(&Workload::usual("filter.c"), &[]);
}

/// By itself, by the kernel, after fork, without the right to run it.
#[test]
fn code_that_changes_in_every_way() {
    let program = Workload::usual("patches.c");
    for how in ["fork", "read", "rights", "hidden", "moved", "nowhere", "far", "locked", "filed"] {
        assert_same_behaviour(&program, &[how]);
    }
}

/// More than share one copy of translated code.
#[test]
fn many_processes_of_one() {
    assert_same_behaviour(&Workload::usual("herd.c"), &["540"]);
}

#[test]
fn what_a_program_learns_about_itself() {
    assert_same_behaviour(&Workload::usual("surroundings.c"), &["one", "two words", ""]);
}

#[test]
fn children_that_work_before_they_exec() {
    assert_same_behaviour(&Workload::usual("vfork.c"), &[]);
}

#[test]
fn a_first_thread_that_ends_first() {
    assert_same_behaviour(&Workload::usual("leader.c"), &[]);
}

#[test]
fn signals_that_carry_something() {
    assert_same_behaviour(&Workload::usual("queued.c"), &[]);
}

#[test]
fn flags_that_a_program_saves() {
    assert_same_behaviour(&Workload::usual("flags.c"), &[]);
}

#[test]
fn the_signal_that_breakpoints_use() {
    assert_same_behaviour(&Workload::usual("traps.c"), &[]);
}

#[test]
fn code_that_children_change() {
    assert_same_behaviour(&Workload::usual("siblings.c"), &[]);
}

#[test]
fn exceptions() {
    assert_same_behaviour(&Workload::usual("thrown.cc"), &[]);
}

#[test]
fn objects_that_come_and_go() {
    let objects = [("a.so", "-DKIND=3"), ("b.so", "-DKIND=5")];
    let program = Workload::usual("objects.c");
    let directory = program.path().parent().unwrap().to_owned();
    for (name, kind) in objects {
        let built = Command::new("gcc")
            .args(["-O2", "-shared", "-fPIC", kind, "-o"])
            .arg(directory.join(name))
            .arg(Workload::source("object.c"))
            .status()
            .unwrap();
        assert!(built.success());
    }
    assert_same_behaviour(&program, &[directory.to_str().unwrap()]);
}

#[test]
fn ends_of_every_kind() {
    let program = Workload::usual("die.c");
    for how in [
        "0", "3", "255", "segv", "abrt", "ill", "fpe", "trap", "kill", "term", "pipe", "hlt",
        "jump", "exec", "stack", "sys",
    ] {
        assert_same_behaviour(&program, &[how]);
    }
}

#[test]
fn memory_that_is_shared_generated_or_reserved() {
    let program = Workload::usual("memory.c");
    for way in ["descriptors", "userfault", "contexts", "generated", "memory", "self", "vectors"] {
        assert_same_behaviour(&program, &[way]);
    }
}

/// A task has one tracer at most: what the program traces is left to it.
#[test]
fn what_the_program_traces_is_left_to_it() {
    let program = Workload::usual("tasks.c");
    let native = Command::new(program.path()).arg("traced").output().unwrap();
    let recording =
        Recording { interval: 100, ..Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY) };
    let recorded = recording.of(&program.path(), &["traced"]);
    assert_eq!(String::from_utf8_lossy(&recorded.out), String::from_utf8_lossy(&native.stdout));
    assert_eq!(recorded.ended, Some(TaskExit::Exited(0)));
    let why: Vec<&str> =
        recorded.account.not_followed.iter().map(|(_, why)| why.as_str()).collect();
    let [own, by] = why.as_slice() else { panic!("{why:?}") };
    assert_eq!(*own, "its parent traces it");
    assert!(by.starts_with("process ") && by.ends_with(" of the target traces it"), "{by}");
}

/// The emulator's memory is not the program's: calls about it find nothing there.
#[test]
fn calls_about_ranges_of_the_emulators_memory() {
    assert_same_behaviour(&Workload::usual("ranges.c"), &[]);
    assert_same_behaviour(&Workload::fixed("ranges.c"), &["narrow"]);
}
