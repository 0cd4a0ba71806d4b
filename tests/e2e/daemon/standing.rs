//! Standing sessions: recorded without anybody asking, read by those who may,
//! and there again after anything was killed.

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::{Ebsd, Running, Scene, Truth, User, Workload, rights};

use super::{raw::Raw, stream::Counted};

pub(super) const READERS: u32 = 4100;

/// Sessions of what `pids` name, every page fault of it.
pub(crate) fn config(scene: &Scene) -> String {
    format!(
        "[store]\ndirectory = {:?}\nkeep_free = \"1 MiB\"\n\
         [[standing]]\nname = \"web\"\ntype = \"page_fault\"\ninterval = 1\n\
         target = {{ pid_file = {:?} }}\nreaders = [{READERS}]\n",
        scene.path("store"),
        scene.path("web.pid"),
    )
}

/// A storm that waits for `go`, named by the pid file.
pub(crate) fn storm(scene: &Scene, program: &Path, faults: &str) -> Running {
    let mut command = scene.command(program);
    let mut storm = Running::start(command.args(faults.split(' ')));
    assert_eq!(storm.hear(), "ready");
    scene.write("web.pid", storm.pid().to_string());
    storm
}

/// The session in the list, once it is as wanted.
#[track_caller]
pub(super) fn wait_until(ebsd: &Ebsd, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + Duration::from_secs(120);
    let mut last = Value::Null;
    while Instant::now() < until {
        last = Raw::new(&ebsd.socket).ask(&json!({"verb": "standing"}));
        if holds(&last["sessions"][0]) {
            return last["sessions"][0].clone();
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("never: {what}: {last}");
}

pub(super) fn is_running(line: &Value) -> bool {
    line["state"] == "running"
}

/// All that was recorded: samples, LOST records' sum, what was said last.
pub(super) fn recorded(ebsd: &Ebsd) -> (u64, u64, Value) {
    let mut raw = Raw::new(&ebsd.socket);
    let joined = raw.ask(&json!({"verb": "follow", "name": "web"}));
    assert_eq!(joined["reply"], "joined", "{joined}");
    let (stream, end) = raw.all();
    let counted = Counted::new(&stream);
    (counted.samples, counted.gaps.values().sum(), end)
}

/// The same, once samples and losses are as many as the kernel counted.
#[track_caller]
fn recorded_whole(ebsd: &Ebsd, kernel: u64) -> (u64, u64, Value) {
    let until = Instant::now() + Duration::from_secs(180);
    loop {
        let (samples, lost, end) = recorded(ebsd);
        let all = samples + lost;
        if all == kernel {
            return (samples, lost, end);
        }
        assert!(all < kernel && Instant::now() < until, "{samples} + {lost}, not {kernel}: {end}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// The worker of the session: the daemon's child of that user.
pub(super) fn worker(ebsd: &Ebsd) -> Option<Pid> {
    let children = format!("/proc/{0}/task/{0}/children", ebsd.pid());
    let children = fs::read_to_string(children).unwrap();
    let mut pids = children.split_whitespace().map(|pid| pid.parse::<i32>().unwrap());
    let is_it = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("Uid:") && !line.ends_with("\t0"))
    };
    pids.find(is_it).and_then(Pid::from_raw)
}

#[test]
fn a_service_is_recorded_and_read_by_those_who_may() {
    let test = "a_service_is_recorded_and_read_by_those_who_may";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let program = Workload::Storm.build(&scene);
    let mut first = storm(&scene, &program, "20000 1 wait 20000");
    let ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it samples", is_running);
    first.tell("go");
    let truth = Truth::new(&first.finish().out);
    wait_until(&ebsd, "the storm is over", |line| line["state"] == "waiting for its target");
    let (samples, _, end) = recorded_whole(&ebsd, truth.number("kernel"));
    assert!(samples > 0, "{end}");
    assert_eq!(end["reason"], "that is all");

    // Its target is found again, another process now.
    let mut second = storm(&scene, &program, "30000 1 wait 20000");
    wait_until(&ebsd, "it samples again", is_running);
    second.tell("go");
    let all = truth.number("kernel") + Truth::new(&second.finish().out).number("kernel");
    wait_until(&ebsd, "that storm is over, too", |line| !is_running(line));
    let (both, ..) = recorded_whole(&ebsd, all);
    assert!(both > samples, "{both} after {samples}");

    let run = |user: User, line: &str| {
        let mut command = user.command(&scene, scene.path("bin/ebs"));
        command.args(line.split(' ')).arg("--socket").arg(&ebsd.socket);
        Running::start(&mut command).finish().sane()
    };
    let reader = User { group: Some(READERS), ..User::new(4001) };
    let report = run(reader, "report --daemon web --json --by ip").success();
    let report: Value = serde_json::from_str(&report.out).unwrap();
    let [event] = &report["events"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!(event["totals"]["samples"], both, "both samplings are one event: {report}");
    let none = run(reader, "report --daemon web --json --since 0s").success();
    let none: Value = serde_json::from_str(&none.out).unwrap();
    assert_eq!(none["events"][0]["totals"]["samples"], 0, "{none}");
    let listed = run(reader, "sessions").success();
    assert!(listed.out.starts_with("web  page_fault, standing: waiting"), "{listed}");
    // Others are told no more than that there is nothing to read.
    let refused = run(User::new(4002), "report --daemon web");
    refused.refused(1, &["there is none of that name that you may read"]);
    run(User::new(4002), "report --daemon beb").refused(1, &["none of that name"]);
    let listed = run(User::new(4002), "sessions").success();
    assert!(!listed.out.contains("web"), "{listed}");
    ebsd.end();
    let left = fs::read_dir(scene.path("store/web")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".open")), "{left:?}");
}

/// Pages that a program below touches, each from one chain of calls.
const TOUCHED: u64 = 300;

/// Waits for a line, then touches them.
fn toucher(scene: &Scene) -> Running {
    let source = format!(
        "#include <stdio.h>\n#include <sys/mman.h>\n\
         __attribute__((noinline)) void touch(volatile char *at) {{ *at = 1; }}\n\
         __attribute__((noinline)) void middle(char *at) {{ touch(at); }}\n\
         int main(void) {{\n puts(\"ready\"); fflush(stdout); getchar();\n\
         char *pages = mmap(0, {TOUCHED} * 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);\n\
         for (int at = 0; at < {TOUCHED}; at++) middle(pages + at * 4096);\n return 0;\n}}\n"
    );
    scene.write("toucher.c", source);
    let (from, to) = (scene.path("toucher.c"), scene.path("toucher"));
    let options = ["-O1", "-fno-optimize-sibling-calls", "-o"];
    let built = Command::new("gcc").args(options).arg(&to).arg(from).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut toucher = Running::start(&mut scene.command(&to));
    assert_eq!(toucher.hear(), "ready");
    scene.write("web.pid", toucher.pid().to_string());
    toucher
}

#[test]
fn callers_are_recorded_where_the_configuration_says_so() {
    let test = "callers_are_recorded_where_the_configuration_says_so";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    scene.open_commands();
    let mut toucher = toucher(&scene);
    let text = format!("{}call_graph = \"dwarf,1024\"\n", config(&scene));
    let ebsd = Ebsd::start(&scene, &text);
    wait_until(&ebsd, "it samples", is_running);
    toucher.tell("go");
    toucher.finish().success();
    wait_until(&ebsd, "it is over", |line| !is_running(line));
    let until = Instant::now() + Duration::from_secs(180);
    loop {
        let (_, lost, end) = recorded(&ebsd);
        let mut command = scene.command(scene.path("bin/ebs"));
        command.args(["report", "--daemon", "web", "--folded", "--socket"]).arg(&ebsd.socket);
        let told = Running::start(&mut command).finish().success();
        let of_chain = told.out.lines().filter_map(|line| line.rsplit_once(' '));
        let of_chain = of_chain.filter(|(chain, _)| chain.ends_with("main;middle;touch"));
        let touched: u64 = of_chain.map(|(_, count)| count.parse::<u64>().unwrap()).sum();
        assert!(touched <= TOUCHED, "{told}");
        if touched > 0 && touched + lost >= TOUCHED {
            break;
        }
        assert!(Instant::now() < until, "{touched} + {lost}: {end}, {told}");
        thread::sleep(Duration::from_millis(100));
    }
    ebsd.end();
}

#[test]
fn what_is_sampled_is_watched_live() {
    let test = "what_is_sampled_is_watched_live";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Storm.build(&scene);
    let mut storm = storm(&scene, &program, "1000000 1 wait 2000");
    let ebsd = Ebsd::start(&scene, &config(&scene));
    let socket = ebsd.socket.display();
    wait_until(&ebsd, "it samples", is_running);
    storm.tell("go");
    let line = format!("ebs watch web --every 1s --times 3 --by routine --socket {socket}");
    let watched = scene.run(&line).success();
    assert_eq!(watched.out.matches("# web, the last 1s").count(), 3, "{watched}");
    assert!(watched.out.contains("# page_fault, every event:"), "{watched}");
    assert!(!watched.out.contains("has no end"), "a live stream has none: {watched}");
    let early = scene.start(&format!("ebs watch web --times 1000 --socket {socket}"));
    thread::sleep(Duration::from_millis(500));
    ebsd.end();
    early.finish().sane().refused(1, &["the daemon has"]);
    storm.signal(Signal::KILL);
    let _killed = storm.finish();
}

#[test]
fn all_that_is_sampled_is_watched_by_who_came_before_it() {
    let test = "all_that_is_sampled_is_watched_by_who_came_before_it";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Storm.build(&scene);
    let mut storm = storm(&scene, &program, "6000 1 wait 2000");
    let ebsd = Ebsd::start(&scene, &config(&scene));
    let line = format!("ebs watch web --every 1s --json --socket {}", ebsd.socket.display());
    let mut early = scene.start(&line);
    wait_until(&ebsd, "it samples", is_running);
    storm.tell("go");
    let kernel = Truth::new(&storm.finish().success().out).number("kernel");
    let (mut text, mut seen) = (String::new(), 0);
    while seen < kernel {
        text.push_str(&early.hear());
        text.push('\n');
        let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
        let counts = documents.map_while(Result::ok).map(|document| {
            let samples = document["events"][0]["totals"]["samples"].as_u64().unwrap_or(0);
            samples + document["losses"]["lost"].as_u64().unwrap_or(0)
        });
        seen = counts.sum();
    }
    assert_eq!(seen, kernel, "{text}");
    ebsd.end();
    early.finish().sane().refused(1, &["the daemon has"]);
}

#[test]
fn killed_under_load_it_loses_a_second_at_most_and_says_so() {
    let test = "killed_under_load_it_loses_a_second_at_most_and_says_so";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Storm.build(&scene);
    let mut storm = storm(&scene, &program, "1000000000 1 wait 5000");
    let mut ebsd = Ebsd::start(&scene, &config(&scene));
    wait_until(&ebsd, "it samples", is_running);
    storm.tell("go");
    let mut before = 0;
    for round in 1..=4_usize {
        thread::sleep(Duration::from_millis(1700));
        let (so_far, ..) = recorded(&ebsd);
        assert!(so_far >= before, "round {round}: {so_far} after {before}");
        if round % 2 == 1 {
            kill_process(worker(&ebsd).unwrap(), Signal::KILL).unwrap();
            wait_until(&ebsd, "its worker is missed", |line| !is_running(line));
        } else {
            // Its workers die with it.
            let workers = worker(&ebsd);
            ebsd.kill();
            ebsd = Ebsd::start(&scene, &config(&scene));
            let gone = format!("/proc/{}", workers.unwrap().as_raw_nonzero());
            wait_until(&ebsd, "no worker is left", |_| !Path::new(&gone).exists());
        }
        let writes = |line: &Value| is_running(line) && line["written"].as_u64() > Some(0);
        wait_until(&ebsd, "it samples again", writes);
        let (after, _, end) = recorded(&ebsd);
        // What was read before the kill was written before it.
        assert!(after >= so_far, "round {round}: {after} of {so_far}");
        let said = end["reason"].as_str().unwrap();
        // Where the daemon dies, its workers may still end as they should.
        let told = said.matches("are missing").count();
        assert!(told >= round.div_ceil(2) && told <= round, "round {round}: {said}");
        before = after;
    }
    let line = format!("ebs report --daemon web --socket {}", ebsd.socket.display());
    let report = scene.run(&line).success();
    assert!(report.err.contains("s are missing"), "{report}");
    ebsd.end();
    storm.signal(Signal::KILL);
    let _killed = storm.finish();
}

#[test]
fn the_whole_system_and_a_disk_that_goes_away() {
    let test = "the_whole_system_and_a_disk_that_goes_away";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let text = config(&scene)
        .replace("page_fault", "cpu_clock")
        .replace(&format!("{{ pid_file = {:?} }}", scene.path("web.pid")), "\"system\"");
    let ebsd = Ebsd::start(&scene, &text.replace("interval = 1\n", "interval = 10000000\n"));
    wait_until(&ebsd, "it samples", is_running);
    let busy = "timeout 1 sh -c 'while :; do :; done' || true";
    let _busy = scene.shell(busy);
    wait_until(&ebsd, "it has samples", |line| line["written"].as_u64() > Some(10));
    fs::remove_dir_all(scene.path("store/web")).unwrap();
    wait_until(&ebsd, "it writes anew", |_| scene.path("store/web").exists());
    let _busy = scene.shell(busy);
    let (samples, _, end) = recorded(&ebsd);
    assert!(samples > 0, "{end}");
    ebsd.end();
}

/// A control group of version 2, empty when it is dropped.
struct Group(std::path::PathBuf);

impl Group {
    /// None: why there is none.
    fn make(name: &str) -> Result<Group, String> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mount = mounts.find(|fields| fields[2] == "cgroup2");
        let mount = mount.ok_or("no hierarchy of control groups of version 2")?;
        let path = Path::new(mount[1]).join(name);
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Group(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _busy = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_target_is_found_by_its_name_and_by_its_group() {
    let test = "a_target_is_found_by_its_name_and_by_its_group";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Storm.build(&scene);
    let named = format!("hm{}", std::process::id());
    fs::copy(&program, scene.path(&named)).unwrap();
    let group = Group::make(&named)
        .inspect_err(|why| eprintln!("skipped the groups of {test}: {why}"))
        .ok();
    let mut targets = vec![format!("{{ comm = {named:?} }}")];
    if group.is_some() {
        targets.push(format!("{{ cgroup = \"/{named}\" }}"));
        targets.push(format!("{{ unit = {named:?} }}"));
    }
    for (number, target) in targets.iter().enumerate() {
        let mut command = scene.command("sh");
        let enter = group.as_ref().map(|Group(path)| format!("echo $$ > {path:?}/cgroup.procs; "));
        let line = format!("{}exec ./{named} 20000 2 wait 20000", enter.unwrap_or_default());
        let mut storm = Running::start(command.args(["-c", &line]));
        assert_eq!(storm.hear(), "ready", "{target}");
        let store = scene.path(&format!("store{number}"));
        let text = config(&scene)
            .replace(&format!("{:?}", scene.path("store")), &format!("{store:?}"))
            .replace(&format!("{{ pid_file = {:?} }}", scene.path("web.pid")), target);
        let ebsd = Ebsd::start(&scene, &text);
        wait_until(&ebsd, target, is_running);
        storm.tell("go");
        let kernel = Truth::new(&storm.finish().out).number("kernel");
        // The target's own session begins after the state is told, and a
        // machine with too much else to do loses records, which are told.
        let until = Instant::now() + Duration::from_secs(120);
        let (mut samples, mut lost, mut end) = recorded(&ebsd);
        while samples + lost < kernel && Instant::now() < until {
            thread::sleep(Duration::from_millis(100));
            (samples, lost, end) = recorded(&ebsd);
        }
        // A thread's end may be in it beside the storm's faults.
        let all = samples + lost;
        assert!((kernel..kernel + 100).contains(&all), "{target}: {all}, not {kernel}: {end}");
        assert!(samples > 0, "{target}: {end}");
        ebsd.end();
    }
}
