//! Workers: whose they are, what they may, and who may look into them.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

/// A session of that user's that runs, and its worker.
fn session(scene: &Scene, ebsd: &Ebsd, user: User) -> (Running, Running, u32) {
    let mut sleeper = Running::start(&mut user.command(scene, scene.path("sleeper")));
    assert_eq!(sleeper.hear(), "ready");
    let mut command = user.command(scene, scene.path("bin/ebs"));
    command.args(["-u", "-t", "page_fault", "-i", "1", "--daemon", "--socket"]).arg(&ebsd.socket);
    let mut ebs = Running::start(command.arg(sleeper.pid().to_string()));
    // The filter is the last that it puts on, before it hears the client.
    let is_confined = |pid| line_of(pid, "Seccomp:") == ["2"];
    let mut worker = None;
    ebs.wait_until("it has a worker whose system calls are filtered", |_| {
        let is_his = |&pid: &u32| id_of(pid, "Uid:") == user.id && is_confined(pid);
        worker = ebsd.workers().into_iter().find(is_his);
        worker.is_some()
    });
    (sleeper, ebs, worker.unwrap())
}

fn line_of(pid: u32, key: &str) -> Vec<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.split_whitespace().map(str::to_owned).collect()
}

/// The real id, where all four are one.
pub(super) fn id_of(pid: u32, key: &str) -> u32 {
    let ids = line_of(pid, key);
    match ids.iter().all(|id| *id == ids[0]) && !ids.is_empty() {
        true => ids[0].parse().unwrap(),
        false => u32::MAX,
    }
}

#[test]
fn a_worker_is_its_users_and_has_no_rights() {
    let test = "a_worker_is_its_users_and_has_no_rights";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sleeper.build(&scene);
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    for id in [4001, 0] {
        let (sleeper, ebs, worker) = session(&scene, &ebsd, User::new(id));
        assert_eq!((id_of(worker, "Uid:"), id_of(worker, "Gid:")), (id, id));
        assert_eq!(line_of(worker, "Groups:"), Vec::<String>::new());
        for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
            assert_eq!(line_of(worker, set), ["0000000000000000"], "{set}");
        }
        assert_eq!(line_of(worker, "NoNewPrivs:"), ["1"]);
        let limits = fs::read_to_string(format!("/proc/{worker}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
        ebs.signal(rustix::process::Signal::INT);
        ebs.finish();
        sleeper.finish();
    }
    ebsd.end();
}

#[test]
fn nobody_looks_into_a_worker() {
    let test = "nobody_looks_into_a_worker";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sleeper.build(&scene);
    Workload::Pry.build(&scene);
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    let (owner, stranger) = (User::new(4001), User::new(4002));
    let (sleeper, ebs, worker) = session(&scene, &ebsd, owner);
    let pry = |user: User, pid: u32| {
        let mut command = user.command(&scene, scene.path("pry"));
        Running::start(command.arg(pid.to_string())).finish().success().out
    };
    let into_own = pry(owner, sleeper.pid());
    let refused = |line: &str| line.ends_with(" EPERM") || line.ends_with(" EACCES");
    assert!(!into_own.lines().any(refused), "one's own programs are open:\n{into_own}");
    for user in [owner, stranger] {
        for pid in [worker, ebsd.pid()] {
            let told = pry(user, pid);
            assert_eq!(told.lines().count(), into_own.lines().count(), "{told}");
            assert!(told.lines().all(refused), "{user:?} into {pid}:\n{told}");
        }
    }
    // Nor by the daemon.
    for user in [owner, stranger] {
        for pid in [worker, ebsd.pid()] {
            let mut command = user.command(&scene, scene.path("bin/ebs"));
            command.args(["-u", "-t", "page_fault", "--daemon", "--socket"]).arg(&ebsd.socket);
            Running::start(command.arg(pid.to_string())).finish().sane().refused(1, &[]);
        }
    }
    ebs.signal(rustix::process::Signal::INT);
    ebs.finish();
    sleeper.finish();
    ebsd.end();
}

#[test]
fn a_worker_without_work_ends_and_the_next_client_gets_another() {
    let test = "a_worker_without_work_ends_and_the_next_client_gets_another";
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let raw = super::raw::Raw::new(&ebsd.socket);
    let [first] = ebsd.workers()[..] else { panic!("{test}: one worker: {:?}", ebsd.workers()) };
    thread::sleep(Duration::from_secs(33));
    assert_eq!(ebsd.workers(), [first], "a client that says nothing keeps it");
    drop(raw);
    let begun = Instant::now();
    while !ebsd.workers().is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it has ended long ago");
        thread::sleep(Duration::from_millis(100));
    }
    assert!(begun.elapsed() > Duration::from_secs(25), "after half a minute: {begun:?}");
    let _served = super::raw::Raw::new(&ebsd.socket);
    assert_ne!(ebsd.workers(), [first]);
    ebsd.end();
}

#[test]
fn what_lies_in_the_kernels_half_is_dropped_and_counted() {
    let test = "what_lies_in_the_kernels_half_is_dropped_and_counted";
    if !rights::root(test) {
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped {test}: only x86-64 has a page of vsyscalls");
        return;
    }
    let scene = Scene::new();
    let program = Workload::Vsyscall.build(&scene);
    let mut caller = Running::start(scene.command(program).arg("500"));
    assert_eq!(caller.hear(), "ready");
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = super::raw::Raw::new(&ebsd.socket);
    assert_eq!(raw.start("page_fault", caller.pid())["reply"], "started");
    caller.tell("go");
    let (_, end) = raw.all();
    let calls = Truth::new(&caller.finish().out).number("calls");
    let account = &end["session"];
    let (delivered, lost) = super::raw::sums(account);
    assert_eq!(account["kernel"].as_u64(), Some(delivered + lost), "{end}");
    assert_eq!(account["lost"]["scrubbed"].as_u64(), Some(calls), "{end}");
    ebsd.end();
}
