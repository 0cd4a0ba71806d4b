use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use emulator::{
    Class, Classifier, EmulatedEvent, Emulation, EmulationSettings, EmulationState, EmulationTarget,
};
use perfdata::{InstructionClass, Pid};

use crate::run::Recording;
use crate::sys::Ring;
use crate::workload::Workload;

const GEOMETRY: &str = "l1d=32k,8,64 l1i=off l2=512k,8,64 l3=off dtlb=64,4 stlb=off";
const RECORDS: u64 = 200;
const NOBODY: u32 = 65_534;
const LIMIT: Duration = Duration::from_secs(60);

fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("skipped: it takes root to make processes of others");
    }
    root
}

/// The process that a wrapper has started, or is itself, once it runs the
/// program of this name.
fn running(child: &Child, name: &str) -> i32 {
    let start = Instant::now();
    let mut pid = i32::try_from(child.id()).unwrap();
    loop {
        let comm = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
        if comm.trim() == name {
            return pid;
        }
        assert!(start.elapsed() < LIMIT, "{name} does not start: {comm}");
        sleep(Duration::from_millis(10));
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        pid = children.split(' ').next().and_then(|pid| pid.parse().ok()).unwrap_or(pid);
    }
}

/// Emulates a process for some records; it must run on natively afterwards.
fn attach(pid: i32) {
    let recording =
        Recording { interval: 100, ..Recording::every(EmulatedEvent::L1DataMiss, GEOMETRY) };
    let settings = EmulationSettings { count: Some(RECORDS), ..recording.settings() };
    let emulation = Emulation::start(EmulationTarget::Process(Pid(pid)), settings).unwrap();
    let ring = Ring::map(emulation.ring());
    let mut bytes = Vec::new();
    let start = Instant::now();
    while emulation.state() == EmulationState::Emulated {
        emulation.wait(Duration::from_millis(20));
        ring.drain(&mut bytes);
        assert!(start.elapsed() < LIMIT, "{RECORDS} records do not come");
    }
    assert_eq!(emulation.state(), EmulationState::Left);
    let account = emulation.finish().unwrap();
    assert_eq!((account.by_event[0].records, account.not_followed), (RECORDS, vec![]));
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    assert!(stat.contains(") R "), "it runs on: {stat}");
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    assert!(!maps.contains("memfd:hardmeter"), "nothing stays behind: {maps}");
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A fault of ours: the rule of a class, which is asked for while code is
/// translated, panics.
#[test]
fn an_internal_error_lets_the_process_go() {
    let program = Workload::shaped("spin.c", &["-static"]);
    let child = Command::new(program.path()).spawn().unwrap();
    let pid = running(&child, "program");
    for after in [1, 2, 4] {
        let left = AtomicU64::new(after);
        let classifier = Classifier::new(move |_| {
            assert!(left.fetch_sub(1, Ordering::Relaxed) > 1, "it is meant to");
            true
        });
        let event = EmulatedEvent::Class(Class::Of(InstructionClass::ReadsMemory));
        let recording = Recording { interval: 1000, ..Recording::every(event, GEOMETRY) };
        let recording = Recording { classifier: Some(classifier), ..recording.clone() };
        let settings = recording.settings();
        let told = match Emulation::start(EmulationTarget::Process(Pid(pid)), settings) {
            Err(error) => error.to_string(),
            Ok(emulation) => {
                let start = Instant::now();
                while emulation.state() == EmulationState::Emulated && start.elapsed() < LIMIT {
                    let ring = Ring::map(emulation.ring());
                    emulation.wait(Duration::from_millis(20));
                    ring.drain(&mut Vec::new());
                }
                emulation.finish().unwrap_err().to_string()
            }
        };
        assert!(told.contains("an internal error: it is meant to"), "after {after}: {told}");
        let state = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(state.contains("TracerPid:\t0"), "after {after}: {state}");
        assert!(state.contains("State:\tR"), "it runs on: {state}");
    }
    kill(child);
}

#[test]
fn a_process_of_another_user() {
    if !is_root() {
        return;
    }
    let program = Workload::shaped("spin.c", &["-static"]);
    let copy = open_copy(&program);
    let child = Command::new(copy.path().join("spin")).uid(NOBODY).gid(NOBODY).spawn().unwrap();
    attach(running(&child, "spin"));
    kill(child);
}

/// The program in a directory that everybody can look into, and that can be
/// all that a process sees.
fn open_copy(program: &Workload) -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::Builder::new().prefix("hardmeter-").tempdir().unwrap();
    let all = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), all).unwrap();
    std::fs::copy(program.path(), directory.path().join("spin")).unwrap();
    directory
}

#[test]
fn a_process_that_cannot_see_us() {
    if !is_root() {
        return;
    }
    let program = Workload::shaped("spin.c", &["-static"]);
    let root = open_copy(&program);
    let child = Command::new("unshare")
        .args(["--pid", "--fork", "--mount", "--net", "--kill-child", "chroot"])
        .arg(root.path())
        .arg("/spin")
        .spawn()
        .unwrap();
    attach(running(&child, "spin"));
    kill(child);
}

#[test]
fn a_process_in_a_user_namespace_of_its_own() {
    if !is_root() {
        return;
    }
    let program = Workload::shaped("spin.c", &["-static"]);
    let copy = open_copy(&program);
    let child = Command::new("unshare")
        .args(["--user", "--map-root-user", "--pid", "--fork", "--kill-child"])
        .arg(copy.path().join("spin"))
        .uid(NOBODY)
        .gid(NOBODY)
        .spawn()
        .unwrap();
    attach(running(&child, "spin"));
    kill(child);
}
