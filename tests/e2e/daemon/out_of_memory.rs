//! A control group that has less memory than the daemon would take (R20):
//! who dies, and who goes on.

use std::{
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::{Ebsd, Scene, User, Workload, rights};

use super::raw::{Raw, start_time, wait_for};
use super::standing::{config, is_running, storm, wait_until, worker};

/// A control group with so many bytes; empty when it is dropped.
struct Small(PathBuf);

impl Small {
    /// None: this machine limits no memory.
    fn make(bytes: u64) -> Option<Small> {
        let name = format!("hm-oom-{}", std::process::id());
        let places =
            [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];
        places.into_iter().find_map(|(root, limit)| {
            let root = PathBuf::from(root);
            // It may be no more than where hierarchies are mounted.
            fs::metadata(root.join("cgroup.procs")).ok()?;
            let group = root.join(&name);
            fs::create_dir(&group).ok()?;
            let group = Small(group);
            fs::write(group.0.join(limit), bytes.to_string()).ok()?;
            // What is swapped out takes no memory: the limit would not be met.
            // Neither is there where swap is not counted.
            for (swap, most) in [("memory.swap.max", 0), ("memory.memsw.limit_in_bytes", bytes)] {
                let path = group.0.join(swap);
                if path.exists() {
                    fs::write(path, most.to_string()).unwrap();
                }
            }
            Some(group)
        })
    }

    fn take(&self, pid: u32) {
        fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }

    fn kills(&self) -> u64 {
        let text = ["memory.events", "memory.oom_control"]
            .iter()
            .find_map(|name| fs::read_to_string(self.0.join(name)).ok())
            .unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line.unwrap().parse().unwrap()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Of a test that failed, too: nothing stays behind.
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let text = fs::read_to_string(self.0.join("cgroup.procs")).unwrap_or_default();
            for pid in text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)) {
                let _gone = kill_process(pid, Signal::KILL);
            }
            // A group is busy until the last has gone.
            if fs::remove_dir(&self.0).is_ok() || Instant::now() > deadline {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn score(pid: u32) -> i32 {
    let text = fs::read_to_string(format!("/proc/{pid}/oom_score_adj")).unwrap();
    text.trim().parse().unwrap()
}

/// A client who takes nothing, of a session that samples a lot, with a queue
/// that is larger than all the memory that there is.
#[test]
fn a_worker_that_takes_all_memory_dies_alone() {
    let test = "a_worker_that_takes_all_memory_dies_alone";
    if !rights::root(test) {
        return;
    }
    let Some(group) = Small::make(64 << 20) else {
        eprintln!("skipped {test}: no control group limits memory here");
        return;
    };
    let scene = Scene::new();
    scene.open_commands();
    let program = Workload::Storm.build(&scene);
    let mut recorded = storm(&scene, &program, "1000000 1 wait 3000");
    let limits = "[limits]\nqueue = \"256 MiB\"\nmemory_per_user = \"300 MiB\"\n\
                  memory = \"2 GiB\"\n";
    let mut ebsd = Ebsd::start(&scene, &format!("{limits}{}", config(&scene)));
    wait_until(&ebsd, "it samples", is_running);
    let recorder = worker(&ebsd).unwrap().as_raw_nonzero().get().cast_unsigned();
    group.take(ebsd.pid());
    group.take(recorder);

    let mut command = User::new(4001).command(&scene, &program);
    let mut hog = tests::Running::start(command.args(["100000000", "1", "wait"]));
    assert_eq!(hog.hear(), "ready");
    let mut slow = Raw::new_as(&ebsd.socket, User::new(4001));
    let target = json!({"process": {"pid": hog.pid(), "start_time": start_time(hog.pid())}});
    let job = json!({"event": "page_fault", "user": true, "interval": 1});
    let started = slow.ask(&json!({"verb": "start", "job": job, "target": target}));
    assert_eq!(started["reply"], "started", "{started}");
    let is_his = |pid: &u32| super::confinement::id_of(*pid, "Uid:") == 4001;
    let his = ebsd.workers().into_iter().find(is_his).unwrap();
    assert!(score(his) > score(recorder) && score(recorder) > score(ebsd.pid()));
    recorded.tell("go");
    hog.tell("go");
    wait_for("a kill", || group.kills() > 0);
    wait_for("his worker was killed", || !ebsd.workers().contains(&his));
    ebsd.wait_until("the daemon goes on", || true);
    drop(slow);
    hog.signal(Signal::KILL);
    let _killed = hog.finish();
    // Everybody is served, he too. The kernel may have killed who records as
    // well, before the first had given its memory back: then it is there
    // again.
    for id in [4001, 4002] {
        let mut next = Raw::new_as(&ebsd.socket, User::new(id));
        assert_eq!(next.ask(&json!({"verb": "sessions"}))["reply"], "sessions");
    }
    wait_until(&ebsd, "it records", is_running);
    recorded.signal(Signal::KILL);
    let _killed = recorded.finish();
    let outcome = ebsd.end();
    assert!(outcome.err.contains("a worker has broken off"), "{outcome}");
}
