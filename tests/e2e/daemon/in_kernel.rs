//! Sessions that the kernel counts: each user's own, and gone with them.

use std::{collections::BTreeSet, fs, thread, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

use super::raw::{Raw, start_time};

/// BPF programs and maps that a process has, as the kernel numbers them.
fn held(pid: u32) -> BTreeSet<String> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fdinfo")) else { return BTreeSet::new() };
    let texts = files.flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
    let ids = texts.flat_map(|text| {
        let numbered = |line: &str| {
            let (kind, id) = line.split_once("_id:")?;
            ["prog", "map"].contains(&kind).then(|| format!("{kind} {}", id.trim()))
        };
        text.lines().filter_map(numbered).collect::<Vec<_>>()
    });
    ids.collect()
}

/// Those that there are.
fn all(scene: &Scene) -> BTreeSet<String> {
    scene.run("./bpf_ids").success().out.lines().map(str::to_owned).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[track_caller]
fn within(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if holds() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("not within a minute: {what}");
}

/// A session of that user's that runs, its target, and its worker.
fn session(scene: &Scene, ebsd: &Ebsd, user: User) -> (Running, Running, u32) {
    let mut sleeper = Running::start(&mut user.command(scene, scene.path("sleeper")));
    assert_eq!(sleeper.hear(), "ready");
    let mut command = user.command(scene, scene.path("bin/ebs"));
    command.args(["-u", "-t", "page_fault", "-i", "1", "--in-kernel", "--daemon", "--socket"]);
    let mut ebs = Running::start(command.arg(&ebsd.socket).arg(sleeper.pid().to_string()));
    let uid = format!("Uid:\t{0}\t{0}\t{0}\t{0}", user.id);
    let is_its = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line == uid) && !held(*pid).is_empty()
    };
    let mut worker = None;
    ebs.wait_until("its worker has a program", |_| {
        worker = ebsd.workers().into_iter().find(is_its);
        worker.is_some()
    });
    (sleeper, ebs, worker.unwrap())
}

#[test]
fn a_client_may_say_any_time_between_aggregates() {
    let test = "a_client_may_say_any_time_between_aggregates";
    if !rights::root(test) || !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let pid = std::process::id();
    let target = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
    let job = json!({"event": "page_fault", "user": true, "interval": 1, "rings": false,
        "in_kernel": {"duty": {"aggregate": {}}}, "every_seconds": u64::MAX});
    let mut raw = Raw::new(&ebsd.socket);
    let started = raw.ask(&json!({"verb": "start", "job": job, "target": target}));
    assert_eq!(started["in_kernel"], "counted in the kernel", "{started}");
    let stats = raw.ask(&json!({"verb": "stats", "session": started["session"]}));
    assert_eq!(stats["reply"], "stats", "it goes on: {stats}");
    ebsd.end();
}

#[test]
fn programs_and_maps_are_in_their_own_worker_alone_and_gone_with_it() {
    let test = "programs_and_maps_are_in_their_own_worker_alone_and_gone_with_it";
    if !rights::root(test) || !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Sleeper.build(&scene);
    Workload::BpfIds.build(&scene);
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    let (one_sleeper, one_ebs, one) = session(&scene, &ebsd, User::new(4001));
    let (other_sleeper, other_ebs, other) = session(&scene, &ebsd, User::new(4002));
    let (of_one, of_other) = (held(one), held(other));
    assert!(of_one.iter().any(|id| id.starts_with("prog")), "{of_one:?}");
    assert!(of_one.len() > 3 && of_other.len() > 3, "{of_one:?} {of_other:?}");
    assert!(of_one.is_disjoint(&of_other), "{of_one:?} {of_other:?}");
    // Neither the supervisor, nor a client, nor anybody else.
    // The supervisor closes what it has handed over a moment later.
    let mut others = processes().filter(|pid| ![one, other].contains(pid)).collect::<Vec<_>>();
    within("nobody else has any of them", || {
        others.retain(|&pid| {
            let theirs = held(pid);
            !theirs.is_disjoint(&of_one) || !theirs.is_disjoint(&of_other)
        });
        others.is_empty()
    });
    let status = fs::read_to_string(format!("/proc/{}/status", ebsd.pid())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let resident: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(resident <= 16 * 1024, "the supervisor has {resident} KiB after loading two");
    let kill = |pid: u32| {
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    };
    assert!(all(&scene).is_superset(&of_one));
    kill(one);
    within("a killed worker leaves nothing", || all(&scene).is_disjoint(&of_one));
    assert!(all(&scene).is_superset(&of_other), "and costs nobody else anything");
    assert_ne!(one_ebs.finish().code(), 0);
    ebsd.kill();
    within("a killed supervisor leaves nothing", || all(&scene).is_disjoint(&of_other));
    assert_ne!(other_ebs.finish().code(), 0);
    one_sleeper.finish();
    other_sleeper.finish();
}

/// The line of a report for an address: its count.
fn count_at(report: &str, address: u64) -> Option<u64> {
    let address = format!("{address:#x}");
    let mut rows = report.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find(|row| row.get(2) == Some(&address.as_str()))?[0].parse().ok()
}

#[test]
fn a_standing_session_is_counted_recorded_and_reported() {
    let test = "a_standing_session_is_counted_recorded_and_reported";
    if !rights::root(test) || !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Storm.build(&scene);
    let mut storm = Running::start(scene.command(program).args(["5000", "1", "wait"]));
    assert_eq!(storm.hear(), "ready");
    let pid = scene.write("web.pid", storm.pid().to_string());
    let config = format!(
        "[store]\ndirectory = {:?}\nkeep_free = \"1 MiB\"\n\
         [[standing]]\nname = \"web\"\ntype = \"page_fault\"\ninterval = 1\nmode = \"aggregate\"\n\
         aggregate_every = \"1s\"\ntarget = {{ pid_file = {pid:?} }}\n",
        scene.path("store")
    );
    let mut ebsd = Ebsd::start(&scene, &config);
    let socket = ebsd.socket.clone();
    let line = || Raw::new(&socket).ask(&json!({"verb": "standing"}))["sessions"][0].clone();
    ebsd.wait_until("it samples", || line()["state"] == "running");
    storm.tell("go");
    let truth = Truth::new(&storm.finish().out);
    ebsd.wait_until("its target has ended", || line()["state"] != "running");
    let written = line()["written"].as_u64().unwrap();
    let run = |words: &str| {
        scene.run(&format!("ebs {words} --socket {}", socket.display())).success().out
    };
    let report = run("report --daemon web --since 1h");
    assert!(
        report.contains(&format!("{written} hits counted in the kernel, 0 samples")),
        "{report}"
    );
    assert_eq!(count_at(&report, truth.number("site")), Some(truth.number("faults")), "{report}");
    let mut raw = Raw::new(&socket);
    assert_eq!(raw.ask(&json!({"verb": "follow", "name": "web"}))["reply"], "joined");
    let (stream, end) = raw.all();
    assert_eq!(super::stream::Counted::new(&stream).samples, 0, "nothing came by a ring");
    assert_eq!(end["client"]["delivered"].as_u64(), Some(written), "{end}");
    ebsd.end();
}

/// What an interval counted may be more than a queue holds: it goes as the
/// reader takes it.
#[test]
fn an_interval_that_is_larger_than_the_queue_is_recorded() {
    let test = "an_interval_that_is_larger_than_the_queue_is_recorded";
    if !rights::root(test) || !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    let config = format!(
        "[limits]\nqueue = \"64 KiB\"\n\
         [store]\ndirectory = {:?}\nkeep_free = \"1 MiB\"\n\
         [[standing]]\nname = \"all\"\ntype = \"page_fault\"\ninterval = 1\n\
         mode = [\"both\", \"aggregate\"]\naggregate_every = \"10s\"\ntarget = \"system\"\n",
        scene.path("store")
    );
    let mut ebsd = Ebsd::start(&scene, &config);
    let socket = ebsd.socket.clone();
    let line = || Raw::new(&socket).ask(&json!({"verb": "standing"}))["sessions"][0].clone();
    ebsd.wait_until("it samples", || line()["state"] == "running");
    // Many programs, and so hundreds of sites: each takes a kilobyte.
    let mut worked = 0;
    ebsd.wait_until("an interval is recorded", || {
        worked += 1;
        scene.run("bash -c :");
        line()["written"].as_u64().unwrap() > 0
    });
    let told = line();
    let report =
        format!("ebs report --daemon all --since 1h --top 1000 --socket {}", socket.display());
    let report = scene.run(&report).success().out;
    assert!(report.contains("hits counted in the kernel, 0 samples"), "{report}");
    // Which do not fit: 64 KiB are 45 of them.
    let sites = report.lines().filter(|line| line.contains("0x")).count();
    assert!(sites > 45, "{sites} sites, {told}: {report}");
    ebsd.end();
}

#[test]
fn without_the_right_rings_serve_and_say_why() {
    let test = "without_the_right_rings_serve_and_say_why";
    if !rights::root(test) || rights::paranoid() > 2 {
        return eprintln!("skipped {test}: perf_event_paranoid is {}", rights::paranoid());
    }
    let scene = Scene::new();
    Workload::Sleeper.build(&scene);
    let bin = scene.open_commands();
    let directory = scene.path("own");
    fs::create_dir(&directory).unwrap();
    std::os::unix::fs::chown(&directory, Some(4002), Some(4002)).unwrap();
    let socket = directory.join("sock");
    let mut command = User::new(4002).command(&scene, bin.join("ebsd"));
    let mut ebsd = Running::start(command.arg("--socket").arg(&socket));
    ebsd.wait_until_listening(socket.as_ref());
    let mut own = User::new(4002).command(&scene, bin.join("ebs"));
    own.args(["--daemon", "--in-kernel", "-u", "-t", "page_fault", "-i", "1", "--socket"]);
    let outcome = Running::start(own.arg(&socket).args(["ls", "/"])).finish().sane().success();
    assert!(outcome.err.contains("the daemon lacks CAP_BPF"), "{outcome}");
    let last = outcome.last_line();
    assert!(last.contains("sampled through rings, not in the kernel"), "{outcome}");
    let mut sleeper = Running::start(&mut User::new(4002).command(&scene, scene.path("sleeper")));
    assert_eq!(sleeper.hear(), "ready");
    // Who wants nothing else is refused; and a program is no word of theirs.
    let ask = "$| = 1; my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die $!; \
               for (@ARGV[1..$#ARGV]) { print $s pack('VCCv', length, 1, 0, 3), $_; \
               sysread $s, my $h, 8; my ($n) = unpack 'V', $h; my $t = ''; \
               while ($n > length $t) { sysread $s, $t, $n - length $t, length $t or last } \
               print \"$t\\n\" }";
    let hello = json!({"verb": "hello", "oldest": 3, "newest": 3, "client": "perl"}).to_string();
    let target =
        json!({"process": {"pid": sleeper.pid(), "start_time": start_time(sleeper.pid())}});
    let job = |rings, keep| {
        let in_kernel = json!({"duty": {"aggregate": {}}, "keep": keep});
        let job = json!({"event": "page_fault", "user": true, "interval": 1, "rings": rings,
            "in_kernel": in_kernel});
        json!({"verb": "start", "job": job, "target": target}).to_string()
    };
    let strict = job(false, json!({}));
    let nonsense = job(true, json!({"one_in": 0}));
    let mut perl = User::new(4002).command(&scene, "perl");
    perl.args(["-MIO::Socket::UNIX", "-e", ask]).arg(&socket).args([hello, strict, nonsense]);
    let told = Running::start(&mut perl).finish().success().out;
    let told: Vec<&str> = told.lines().collect();
    assert!(told[1].contains("refused") && told[1].contains("CAP_BPF"), "{told:?}");
    assert!(told[2].contains("unplannable") && told[2].contains("one sample in 0"), "{told:?}");
    sleeper.finish();
    ebsd.signal(Signal::TERM);
    ebsd.finish().success();
}
