//! Programs whose events are known, and the truth that they tell.

use std::{fmt, path::PathBuf, process::Command};

use crate::{Scene, built};

/// A program of `tests/programs`; its file says what it does.
#[derive(Clone, Copy, Debug)]
pub enum Workload {
    /// Fresh pages touched with all registers pinned.
    Touch,
    /// Writes to one address.
    Watch,
    /// Faults as fast as they come.
    Storm,
    /// Faults as fast as they come, each time it is told to.
    Bursts,
    /// Threads and processes that live for a moment.
    Threads,
    /// Faults at sixteen instructions, by threads of several processes.
    Sites,
    /// Runs a program that may not have bpf(2).
    NoBpf,
    /// Numbers of the BPF programs and maps that there are.
    BpfIds,
    /// Structures 8 KiB apart.
    List,
    /// Fresh pages touched when it is told to, each step its own.
    Steps,
    /// System calls.
    Calls,
    /// Fresh pages touched by instructions of known classes.
    Classes,
    /// Sleeps, and may hide itself.
    Sleeper,
    /// A process with the number of one that has ended.
    Reborn,
    /// Runs a program in namespaces of its own.
    Apart,
    /// Faults at addresses that a hash of the kernel's could take for one.
    Collide,
    /// Asks the kernel whether it may sample a process.
    MaySample,
    /// Looks into a process, or tries to.
    Pry,
    /// Makes code, and tells of it in a map.
    Maker,
    /// Faults on addresses of the kernel's half.
    Vsyscall,
    /// Writes into memory that is not its own.
    Vandal,
    /// Runs code with nothing free beside it, in a child or itself.
    Corner,
    /// Two threads that take a line of memory from each other.
    Sharing,
    /// Threads that check their own results, for as long as they are let.
    Server,
}

impl Workload {
    /// Compiles it into the scene, under its own name. Static and at fixed
    /// addresses: the same instructions lie at the same places on every run.
    pub fn build(self, scene: &Scene) -> PathBuf {
        let name = self.to_string();
        let source = sources().join(format!("{name}.c"));
        let program = scene.path(name.rsplit('/').next().unwrap_or(&name));
        let compiled = Command::new("gcc")
            .args(["-O2", "-Wall", "-Wextra", "-static", "-no-pie", "-fno-pie", "-pthread", "-o"])
            .arg(&program)
            .arg(&source)
            .output()
            .expect("these tests need gcc");
        assert!(
            compiled.status.success(),
            "{}: {}",
            source.display(),
            String::from_utf8_lossy(&compiled.stderr)
        );
        program
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Workload::Touch => "touch",
            Workload::Watch => "watch",
            Workload::Storm => "storm",
            Workload::Bursts => "bursts",
            Workload::Threads => "threads",
            Workload::Sites => "sites",
            Workload::NoBpf => "no_bpf",
            Workload::BpfIds => "bpf_ids",
            Workload::List => "list",
            Workload::Steps => "steps",
            Workload::Calls => "calls",
            Workload::Classes => "classes",
            Workload::Sleeper => "sleeper",
            Workload::Reborn => "reborn",
            Workload::Apart => "apart",
            Workload::Collide => "collide",
            Workload::MaySample => "may_sample",
            Workload::Pry => "pry",
            Workload::Maker => "maker",
            Workload::Vsyscall => "vsyscall",
            Workload::Vandal => "vandal",
            Workload::Corner => "emulated/corner",
            Workload::Sharing => "sharing",
            Workload::Server => "server",
        })
    }
}

/// Compiles a program of `tests/programs` into the scene against hardmeter.h and
/// the headers that stand in for others; `more` is for the linker.
pub fn compile_marked(scene: &Scene, name: &str, more: &[String]) {
    let include = sources().join("../../crates/hardmeter/include");
    let compiled = Command::new("gcc")
        .args(["-O2", "-Wall", "-Wextra", "-pthread", "-DLIKWID_PERFMON", "-o"])
        .arg(scene.path(name))
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}", include.join("other").display()))
        .arg(sources().join(format!("{name}.c")))
        .args(more)
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{name}: {}", String::from_utf8_lossy(&compiled.stderr));
}

/// What links a program with libhardmeter.so; also one of the header's weak
/// calls alone, which are no reason to link it.
pub fn with_library() -> [String; 4] {
    let directory = built::directory().display();
    [
        "-Wl,--no-as-needed".to_owned(),
        format!("-L{directory}"),
        "-lhardmeter".to_owned(),
        format!("-Wl,-rpath,{directory}"),
    ]
}

/// Where their sources are.
pub fn sources() -> PathBuf {
    PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("programs")
}

/// What a workload told: lines of a key and values.
#[derive(Clone, Debug)]
pub struct Truth {
    rows: Vec<Vec<String>>,
}

impl Truth {
    /// Reads the lines.
    pub fn new(text: &str) -> Truth {
        let row = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Truth { rows: text.lines().map(row).collect() }
    }

    /// The numbers of every line with this key.
    #[track_caller]
    pub fn rows(&self, key: &str) -> Vec<Vec<u64>> {
        let with_key = self.rows.iter().filter(|row| row.first().is_some_and(|word| word == key));
        with_key.map(|row| row[1..].iter().map(|word| number(word)).collect()).collect()
    }

    /// The number of the one line with this key.
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        match self.rows(key).as_slice() {
            [row] if row.len() == 1 => row[0],
            other => panic!("{key}: {other:?} is not one number, in {:?}", self.rows),
        }
    }
}

/// A number in C's notation, or in hexadecimal digits behind `0x`.
#[track_caller]
pub fn number(word: &str) -> u64 {
    let parsed = match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => word.parse(),
    };
    parsed.unwrap_or_else(|error| panic!("{word:?}: {error}"))
}
