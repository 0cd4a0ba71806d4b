//! What the daemon does when it, or what it samples, takes too much.

use std::fs;

use serde_json::{Value, json};
use tests::{Ebsd, Running, Scene, User, Workload, rights};

use super::raw::{Raw, start_time, sums, wait_for};
use super::storm;

#[test]
fn a_storm_slows_then_refuses_then_stops_the_newest_session() {
    let scene = Scene::new();
    let mut storm = storm(&scene, "40000000 1 wait");
    let config = "[limits]\ncpu_percent = 2\nguard_seconds = 1\n";
    let ebsd = Ebsd::start(&scene, config);
    let mut owner = Raw::new(&ebsd.socket);
    let started = owner.start("page_fault", storm.pid());
    assert_eq!(started["reply"], "started", "{started}");
    storm.tell("go");
    let mut busy = Value::Null;
    let mut other = Raw::new(&ebsd.socket);
    let reader = std::thread::spawn(move || owner.all());
    // Between the steps a second passes.
    wait_for("a session is refused", || {
        busy = other.start("cpu_clock", storm.pid());
        if busy["reply"] == "started" {
            other = Raw::new(&ebsd.socket);
        }
        busy["code"] == "busy"
    });
    assert!(busy["text"].as_str().unwrap().contains("% of a CPU"), "{busy}");
    let (stream, end) = reader.join().unwrap();
    let reason = end["reason"].as_str().unwrap();
    assert!(reason.starts_with("guardrail: ") && reason.contains("cpu_percent"), "{end}");
    let slowed = end["notes"][0].as_str().unwrap();
    assert!(slowed.starts_with("interval=2;") && slowed.contains("why=guardrail: "), "{end}");
    let text = String::from_utf8_lossy(&stream);
    assert!(text.contains("interval=2;at=") && text.contains("ended=guardrail: "), "in the stream");
    // Until then all is accounted for.
    let (delivered, lost) = sums(&end["client"]);
    assert_eq!(end["client"]["kernel"], delivered + lost, "{end}");
    assert!(end["client"]["lost"]["thinned"].as_u64().unwrap() > 0, "{end}");
    // With nothing to hold back, sessions begin again.
    wait_for("sessions begin again", || {
        let mut raw = Raw::new(&ebsd.socket);
        raw.start("cpu_clock", std::process::id())["reply"] == "started"
    });
    ebsd.end();
}

#[test]
fn intervals_below_the_floor_are_for_those_with_permissions() {
    let test = "intervals_below_the_floor_are_for_those_with_permissions";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let config = "[limits]\nleast_interval = 100\n\
                  [[allow]]\ngroup = 4100\npermissions = [\"others_tasks\"]\n";
    let ebsd = Ebsd::start(&scene, config);
    let sample = |user: User, interval: &str| {
        let mut command = user.command(&scene, scene.path("bin/ebs"));
        command.args(["--daemon", "-u", "-t", "page_fault", "-i", interval, "--socket"]);
        Running::start(command.arg(&ebsd.socket).args(["ls", "/"])).finish().sane()
    };
    let refused = sample(User::new(4002), "=99").refused(1, &["99 is below 100", "least_interval"]);
    assert_eq!(refused.err.matches("least_interval").count(), 1, "said once: {refused}");
    sample(User::new(4002), "=100").success();
    sample(User { group: Some(4100), ..User::new(4001) }, "1").success();
    ebsd.end();
}

#[test]
fn timers_are_held_to_the_kernels_sample_rate() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let mut raw = Raw::new(&ebsd.socket);
    let pid = std::process::id();
    let target = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
    let job = json!({"event": "cpu_clock", "user": true});
    let started = raw.ask(&json!({"verb": "start", "job": job, "target": target}));
    assert_eq!(started["reply"], "started", "{started}");
    let session = &started["session"];
    let mut owner = Raw::new(&ebsd.socket);
    let change =
        |interval: u64| json!({"verb": "set_interval", "session": session, "interval": interval});
    let answer = owner.ask(&change(5));
    assert_eq!(answer["code"], "unplannable", "{answer}");
    let text = answer["text"].as_str().unwrap();
    assert!(text.contains("200000000 samples a second"), "{text}");
    assert!(text.contains("perf_event_max_sample_rate"), "{text}");
    assert_eq!(owner.ask(&change(2_000_000))["reply"], "done");
    let stats = owner.ask(&json!({"verb": "stats", "session": session}));
    assert_eq!(stats["interval"], 2_000_000, "{stats}");
    ebsd.end();
}

/// The machine's sample rate as it was, put back when dropped.
struct Rate {
    before: String,
}

const RATE: &str = "/proc/sys/kernel/perf_event_max_sample_rate";

impl Drop for Rate {
    fn drop(&mut self) {
        fs::write(RATE, &self.before).unwrap();
    }
}

#[test]
fn a_change_of_the_kernels_sample_rate_is_told_in_the_stream() {
    let test = "a_change_of_the_kernels_sample_rate_is_told_in_the_stream";
    let before = fs::read_to_string(RATE).unwrap().trim().to_owned();
    if fs::write(RATE, &before).is_err() {
        eprintln!("skipped {test}: {RATE} cannot be written");
        return;
    }
    let rate = Rate { before };
    let scene = Scene::new();
    let mut sleeper = Running::start(&mut scene.command(Workload::Sleeper.build(&scene)));
    assert_eq!(sleeper.hear(), "ready");
    let ebsd = Ebsd::start(&scene, "");
    let mut owner = Raw::new(&ebsd.socket);
    let session = owner.start("page_fault", sleeper.pid())["session"].clone();
    // The guard has looked once.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let lower = rate.before.parse::<u64>().unwrap() - 1;
    fs::write(RATE, lower.to_string()).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let mut other = Raw::new(&ebsd.socket);
    assert_eq!(other.ask(&json!({"verb": "stop", "session": session}))["reply"], "done");
    let (stream, end) = owner.all();
    let told = format!("max_sample_rate={lower};was={};at=", rate.before);
    assert!(end["notes"][0].as_str().is_some_and(|note| note.starts_with(&told)), "{end}");
    assert!(String::from_utf8_lossy(&stream).contains(&told), "in the stream");
    ebsd.end();
}

#[test]
fn a_process_of_many_threads_is_attached_to_in_part_and_told_so() {
    let scene = Scene::new();
    let mut storm = storm(&scene, "2000 40 wait");
    let ebsd = Ebsd::start(&scene, "[limits]\nevents_per_session = 40\n");
    let mut owner = Raw::new(&ebsd.socket);
    let started = owner.start("page_fault", storm.pid());
    assert_eq!(started["reply"], "started", "{started}");
    let notes = started["notes"].to_string();
    assert!(notes.contains("threads are not sampled") && notes.contains("40 events"), "{notes}");
    storm.tell("go");
    let (_, end) = owner.all();
    let (delivered, lost) = sums(&end["client"]);
    assert_eq!(end["client"]["kernel"], delivered + lost, "of those that are: {end}");
    assert!(delivered < 2000, "{end}");
    ebsd.end();
}

#[test]
fn a_storm_of_threads_does_not_hold_up_an_attach() {
    let scene = Scene::new();
    let program = Workload::Threads.build(&scene);
    let mut threads = Running::start(scene.command(program).args(["100", "20", "3"]));
    assert_eq!(threads.hear(), "ready");
    let ebsd = Ebsd::start(&scene, "");
    let mut owner = Raw::new(&ebsd.socket);
    // The storm blows until it is told: an attach that waited for its end
    // would never be answered.
    let started = owner.start("page_fault", threads.pid());
    assert_eq!(started["reply"], "started", "{started}");
    assert!(!threads.ended(), "the storm still blows");
    threads.tell("enough");
    let (_, end) = owner.all();
    let (delivered, lost) = sums(&end["client"]);
    assert_eq!(end["client"]["kernel"], delivered + lost, "{end}");
    threads.finish().success();
    ebsd.end();
}

#[test]
fn out_of_descriptors_the_daemon_says_so_and_recovers() {
    let test = "out_of_descriptors_the_daemon_says_so_and_recovers";
    if !rights::root(test) || !rights::program(test, "prlimit") {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    let mut first = Raw::new(&ebsd.socket);
    // Room for a connection, and not for the lines to a worker.
    let open = fs::read_dir(format!("/proc/{}/fd", ebsd.pid())).unwrap().count();
    let limit = format!("--nofile={}", open + 2);
    let mut prlimit = scene.command("prlimit");
    prlimit.args(["--pid", &ebsd.pid().to_string(), &limit]);
    Running::start(&mut prlimit).finish().success();
    // Each user takes a worker, and stays.
    let stays: Vec<Running> = (0..6)
        .map(|user| {
            let mut command = User::new(4100 + user).command(&scene, scene.path("bin/ebs"));
            command.args(["--daemon", "-u", "-t", "page_fault", "-i", "1", "--socket"]);
            Running::start(command.arg(&ebsd.socket).args(["sleep", "4"]))
        })
        .collect();
    let outcomes: Vec<_> = stays.into_iter().map(|stays| stays.finish().sane()).collect();
    // Workers have no more than the daemon: what they lack is said, too.
    let says = |words: &str| outcomes.iter().filter(|o| o.err.contains(words)).count();
    let failed = outcomes.iter().filter(|outcome| outcome.code() != 0).count();
    assert!(says("no file descriptor left") > 0, "{outcomes:#?}");
    // A worker that has too few to begin with ends before it has a word.
    let told = says("refused: ") + says("limit of open files") + says("the daemon has gone");
    assert_eq!(failed, told, "{outcomes:#?}");
    assert_eq!(first.ask(&json!({"verb": "sessions"}))["reply"], "sessions", "it goes on");
    wait_for("a client is let in", || Raw::welcomed(&ebsd.socket).is_some());
    ebsd.end();
}
