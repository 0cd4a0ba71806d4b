use std::process::Command;

use emulator::{EmulatedEvent, Ended};

use crate::behaviour::{GEOMETRY, assert_same_behaviour};
use crate::run::Recording;
use crate::workload::Workload;

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
    assert_eq!(recorded.ended, Some(Ended::Exited(0)));
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
