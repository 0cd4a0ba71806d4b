//! Records that are compared with the model's log, when the box has ended.

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

use hardmeter_tests::Scene;

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

/// Samples with these arguments between two marks, and keeps the records.
fn recorded(scene: &Scene, name: &str, arguments: &str) {
    write(MARKS, &format!("begin {name}"));
    let outcome = scene.run(&format!("ebs {arguments} -c all -o {name}.txt walk"));
    write(MARKS, &format!("end {name}"));
    let told = outcome.success().told();
    assert_eq!(told.lost, 0, "{name}");
    fs::copy(scene.path(&format!("{name}.txt")), format!("/results/{name}.txt")).unwrap();
}

/// What `box-judge` compares, record by record, outside of the box.
pub(crate) fn records(facts: &Facts) -> Skip {
    let scene = Scene::new();
    match facts.precision {
        Precision::Pebs => {
            recorded(&scene, "loads", "-u -t memory_loads -i 97");
            recorded(&scene, "stores-both", "-u -k -t memory_stores -i 53");
            recorded(&scene, "misses-both", "-u -k -t l1_cache_miss -i 101");
            recorded(&scene, "latency-both", "-u -k -t load_latency -m ldlat=3 -i 103");
            recorded(&scene, "instructions-kernel", "-k -t instr_retired -i 1013");
        }
        Precision::Ibs => recorded(&scene, "ibs-instructions", "-u -k -t instr_retired -i 10000"),
    }
    Ok(())
}
