//! Records that are compared with the model's log, when the box has ended.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use tests::{Outcome, Scene};

use crate::{
    Skip,
    facts::{Facts, Precision},
};

/// The port that Bochs prints, and the one whose lines the model writes into
/// its log as marks.
const PRINTED: &str = "0xe9";
const MARKS: &str = "0xe8";

/// A line for whoever started the box.
pub(crate) fn tell(line: &str) {
    write(PRINTED, line);
}

/// Writes a line to a port; it is there when this returns.
fn write(port: &str, line: &str) {
    let mut tell = Command::new("tell").arg(port).stdin(Stdio::piped()).spawn().unwrap();
    tell.stdin.take().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    assert!(tell.wait().unwrap().success());
}

/// A mark in the model's log.
pub(crate) fn mark(line: &str) {
    write(MARKS, line);
}

/// Runs something between two marks of a name.
pub(crate) fn marked<T>(name: &str, run: impl FnOnce() -> T) -> T {
    mark(&format!("begin {name}"));
    let done = run();
    mark(&format!("end {name}"));
    done
}

/// Leaves a file for `box-judge`.
pub(crate) fn leave(name: &str, content: &str) {
    fs::write(format!("/results/{name}"), content).unwrap();
}

/// A switch of the model (`model/README.md`) that is set while this lives.
pub(crate) struct Switched {
    name: &'static str,
}

impl Switched {
    /// Sets BX_PMU_`name`.
    pub(crate) fn to(name: &'static str, value: &str) -> Switched {
        mark(&format!("BX_PMU_{name}={value}"));
        Switched { name }
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        let usual = match self.name {
            "SKID" => "12",
            "BROKEN" => "",
            _ => "0",
        };
        mark(&format!("BX_PMU_{}={usual}", self.name));
    }
}

/// Samples with these arguments between two marks, and keeps the records.
pub(crate) fn recorded(scene: &Scene, name: &str, arguments: &str) -> Outcome {
    recorded_of(scene, name, arguments, "walk")
}

/// The same of another program.
pub(crate) fn recorded_of(scene: &Scene, name: &str, arguments: &str, program: &str) -> Outcome {
    let line = format!("ebs {arguments} -c all -o {name}.txt {program}");
    let outcome = marked(name, || scene.run(&line)).success();
    assert_eq!(outcome.told().lost, 0, "{name}");
    leave(&format!("{name}.txt"), &scene.read(&format!("{name}.txt")));
    outcome
}

/// What `box-judge` compares, record by record, outside of the box.
pub(crate) fn records(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let recorded = |name, arguments| drop(recorded(&scene, name, arguments));
    match facts.precision {
        Precision::Pebs => {
            recorded("loads", "-u -t memory_loads -i =97");
            recorded("stores-both", "-u -k -t memory_stores -i =53");
            recorded("misses-both", "-u -k -t l1_cache_miss -i =101");
            recorded("latency-both", "-u -k -t load_latency -m ldlat=3 -i =103");
            recorded("instructions-kernel", "-k -t instr_retired -i =1013");
        }
        Precision::Ibs => recorded("ibs-instructions", "-u -k -t instr_retired -i =10000"),
    }
    Ok(())
}
