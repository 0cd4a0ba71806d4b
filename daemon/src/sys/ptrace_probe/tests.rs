#![allow(clippy::print_stderr, reason = "a test that skips says why")]

use std::collections::BTreeMap;
use std::process::{Child, Command};

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

use super::*;

fn ids() -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let of = |line: &&str| ["Uid:", "Gid:", "Cap"].iter().any(|key| line.starts_with(key));
    status.lines().filter(of).collect()
}

/// A process that sleeps, of a user, and in namespaces that `words` make.
fn sleeper(uid: u32, words: &[&str]) -> Child {
    let mut child = Command::new("setpriv")
        .args([format!("--reuid={uid}"), format!("--regid={uid}")])
        .args(["--clear-groups"])
        .args(words)
        .args(["sleep", "60"])
        .spawn()
        .unwrap();
    let comm = format!("/proc/{}/comm", child.id());
    while fs::read_to_string(&comm).unwrap() != "sleep\n" {
        assert_eq!(child.try_wait().unwrap(), None, "{words:?}");
        std::thread::yield_now();
    }
    child
}

#[test]
fn each_user_is_answered_as_that_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can ask as others");
        return;
    }
    let before = ids();
    let mut child = sleeper(4001, &[]);
    let theirs = i32::try_from(child.id()).unwrap();
    let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
    let ptrace_probe = PtraceProbe::default();
    for ((uid, gid), pid, sees) in [
        ((4001, 4001), theirs, true),
        ((4001, 4002), theirs, false),
        ((4002, 4002), theirs, false),
        ((0, 0), theirs, false),
        ((4001, 4001), parent, false),
        // Root's, but with capabilities that this has not.
        ((0, 0), parent, false),
        ((4001, 4001), 2, false),
        ((4001, 4001), i32::MAX, false),
        ((0, 0), rustix::process::getpid().as_raw_nonzero().get(), false),
    ] {
        let user = ProbeUser { uid, gid };
        assert_eq!(ptrace_probe.may_access(user, pid).unwrap(), sees, "{user:?} at {pid}");
        assert_eq!(ids(), before);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// What a child does: on a thread here, as a test's process has several.
fn looked_at(uid: u32, pid: i32) -> bool {
    let user = ProbeUser { uid, gid: uid };
    let look = move || {
        let sees = probe_as(user, pid).unwrap();
        let signal = rustix::process::parent_process_death_signal().unwrap();
        assert_eq!(signal, Some(Signal::KILL), "it does not outlive who asks");
        sees
    };
    std::thread::spawn(look).join().unwrap()
}

#[test]
fn who_made_a_namespace_is_who_looks_into_it() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can ask as others");
        return;
    }
    let before = ids();
    let apart = ["unshare", "--user"];
    let (mut of_root, mut of_user) = (sleeper(0, &apart), sleeper(4001, &apart));
    let [roots, users] = [&of_root, &of_user].map(|child| i32::try_from(child.id()).unwrap());
    for (uid, pid, sees) in
        [(4001, roots, false), (4001, users, true), (4002, users, false), (4002, roots, false)]
    {
        assert_eq!(looked_at(uid, pid), sees, "{uid} at {pid}");
    }
    // Why nobody asks as the superuser that this is: it made that one.
    let seen = namespace_seen_by(ProbeUser { uid: 4001, gid: 4001 }, roots, &mut false).unwrap();
    assert!(seen.is_some() && seen != namespace(Path::new("/proc/self")).unwrap(), "{seen:?}");
    assert_eq!(ids(), before);
    for child in [&mut of_root, &mut of_user] {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn nobody_waits_long_for_an_answer() {
    let receive = |answer| receive(answer, Instant::now() + PROBE_TIMEOUT);
    let (answer, held) = io::pipe().unwrap();
    assert_eq!(receive(answer).unwrap_err().kind(), io::ErrorKind::TimedOut);
    drop(held);
    let (answer, ended) = io::pipe().unwrap();
    drop(ended);
    assert_eq!(receive(answer).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    for (said, heard) in [(YES, Some(true)), (NO, Some(false)), (FAILED, None)] {
        let (answer, mut answers) = io::pipe().unwrap();
        answers.write_all(&[said]).unwrap();
        assert_eq!(receive(answer).ok(), heard, "{said:?}");
    }
}

/// As a unit's SystemCallFilter= does it.
#[test]
fn ids_that_cannot_be_taken_on_need_not_be_laid_down() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can ask as others");
        return;
    }
    let mut child = sleeper(4001, &[]);
    let theirs = i32::try_from(child.id()).unwrap();
    let ask = move || {
        let calls = [libc::SYS_setfsuid, libc::SYS_setfsgid];
        let rules = BTreeMap::from(calls.map(|call| (call, Vec::new())));
        let action = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let arch = std::env::consts::ARCH.try_into().unwrap();
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch).unwrap();
        let filter: BpfProgram = filter.try_into().unwrap();
        seccompiler::apply_filter(&filter).unwrap();
        let before = ids();
        let ptrace_probe = PtraceProbe::default();
        let asked = ptrace_probe.may_access(ProbeUser { uid: 4001, gid: 4001 }, theirs);
        assert_eq!(asked.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(!ptrace_probe.is_tainted());
        assert_eq!(ids(), before);
    };
    std::thread::spawn(ask).join().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
}
