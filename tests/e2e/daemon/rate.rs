//! What many records a second to four clients cost, and what nothing costs.
//! benches/daemon-rate.sh runs this on release builds.

use std::{
    env, fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::{Ebsd, Running, Scene, Truth, Workload, rights};

use super::{
    raw::{Raw, start_time, sums},
    stream::Counted,
};

/// Records a second; HARDMETER_RATE asks for another number.
const RATE: u64 = 10_000;
const CLIENTS: usize = 4;

/// CPU time of a process so far (all threads' /proc/PID/task/TID/schedstat).
fn ran(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    // A thread may end meanwhile.
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok());
    let nanos = texts.map(|text| text.split(' ').next().unwrap().parse::<u64>().unwrap());
    Duration::from_nanos(nanos.sum())
}

/// Resident memory of its own, KiB (RssAnon of /proc/PID/status), and all.
fn resident(pid: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let field = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    };
    (field("RssAnon:"), field("VmRSS:"))
}

fn storm(scene: &Scene, rate: u64, seconds: u64) -> Running {
    let mut command = scene.command(scene.path("storm"));
    command.args([&(rate * seconds).to_string(), "1", "wait", &rate.to_string()]);
    let mut storm = Running::start(&mut command);
    assert_eq!(storm.hear(), "ready");
    storm
}

/// How often the threads of a process have waited for something so far.
fn waited(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let of = |thread: fs::DirEntry| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.map_or(0, |count| count.trim().parse::<u64>().unwrap())
    };
    threads.map(of).sum()
}

/// Percent of one CPU.
fn percent(cpu: Duration, took: Duration) -> f64 {
    100.0 * cpu.as_secs_f64() / took.as_secs_f64()
}

#[test]
fn four_clients_are_given_each_record() {
    let test = "four_clients_are_given_each_record";
    if !rights::root(test) {
        return;
    }
    let rate = env::var("HARDMETER_RATE").map_or(RATE, |rate| rate.parse().unwrap());
    let seconds = if rate == RATE { 1 } else { 10 };
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let ebsd = Ebsd::start(&scene, "");
    let mut storm = storm(&scene, rate, seconds);
    let pid = storm.pid();
    let target = json!({"process": {"pid": pid, "start_time": start_time(pid)}});
    let job = json!({"event": "page_fault", "user": true, "interval": 1});
    let mut first = Raw::new(&ebsd.socket);
    let started = first.ask(&json!({"verb": "start", "job": job, "target": target}));
    assert_eq!(started["reply"], "started", "{started}");
    let session = started["session"].clone();
    let mut clients = vec![first];
    for _ in 1..CLIENTS {
        let mut raw = Raw::new(&ebsd.socket);
        assert_eq!(raw.ask(&json!({"verb": "attach", "session": session}))["reply"], "joined");
        clients.push(raw);
    }
    thread::sleep(Duration::from_millis(300));
    let processes: Vec<u32> = [ebsd.pid()].into_iter().chain(ebsd.workers()).collect();
    let of_all = || processes.iter().map(|&pid| ran(pid)).sum::<Duration>();
    let readers: Vec<_> =
        clients.into_iter().map(|mut raw| thread::spawn(move || raw.all())).collect();
    let (before, began) = (of_all(), Instant::now());
    storm.tell("go");
    // Until its last batch: then the daemon is still there to be asked.
    thread::sleep(Duration::from_secs(seconds).saturating_sub(Duration::from_millis(50)));
    let (cpu, took) = (of_all() - before, began.elapsed());
    let memory: u64 = processes.iter().map(|&pid| resident(pid).0).sum();
    let truth = Truth::new(&storm.finish().success().out);
    let blown = began.elapsed();
    let ends: Vec<(Vec<u8>, Value)> = readers.into_iter().map(|one| one.join().unwrap()).collect();
    let lost: Vec<u64> = ends.iter().map(|(_, end)| sums(&end["client"]).1).collect();
    for (_, end) in &ends {
        let (delivered, lost) = sums(&end["client"]);
        let before = end["client"]["lost"]["before"].as_u64().unwrap_or(0);
        assert_eq!(end["client"]["kernel"].as_u64().unwrap(), delivered + lost, "{end}");
        assert!(delivered + lost - before >= truth.number("faults"), "{end}");
    }
    for (stream, end) in &ends {
        assert_eq!(Counted::new(stream).samples, sums(&end["client"]).0, "{end}");
    }
    eprintln!(
        "{rate} a second (reached {:.0}) to {CLIENTS} clients: {:.1} % of a CPU, {} bytes a record, \
         {memory} KiB of their own, lost {lost:?}",
        truth.number("faults") as f64 / blown.as_secs_f64(),
        percent(cpu, took),
        ends[0].0.len() as u64 / truth.number("faults"),
    );
    ebsd.end();
}

#[test]
fn an_idle_daemon_costs_nothing() {
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    thread::sleep(Duration::from_millis(500));
    let seconds = if env::var_os("HARDMETER_RATE").is_some() { 30 } else { 2 };
    let all: Vec<u32> = [ebsd.pid()].into_iter().chain(ebsd.workers()).collect();
    let of_all = || all.iter().map(|&pid| ran(pid)).sum::<Duration>();
    let waits = || all.iter().map(|&pid| waited(pid)).sum::<u64>();
    let (began, before, waited_before) = (Instant::now(), of_all(), waits());
    thread::sleep(Duration::from_secs(seconds));
    let (cpu, waited) = (of_all() - before, waits() - waited_before);
    let took = began.elapsed();
    let memory: Vec<(u64, u64)> = all.iter().map(|&pid| resident(pid)).collect();
    eprintln!(
        "idle: {:.2} % of a CPU, woken {waited} times; of its own and resident, KiB: {memory:?}",
        percent(cpu, took)
    );
    // Each process wakes by its own clock, some times a second, and on a busy
    // machine later, never more often.
    let most = 4 * all.len() as u64 * (took.as_secs() + 1);
    assert!(waited <= most, "woken {waited} times in {took:?}");
    // One that spins is not woken at all, and has the CPU all the time.
    assert!(cpu <= Duration::from_millis(50) * u32::try_from(waited + 1).unwrap(), "{cpu:?}");
    assert!(memory[0].1 <= 16 * 1024, "{memory:?}");
    ebsd.end();
}

/// For the bench alone: `perf record` of the same storm.
#[test]
fn perf_record_at_the_same_rate() {
    let test = "perf_record_at_the_same_rate";
    let Some(rate) = env::var_os("HARDMETER_RATE") else {
        eprintln!("skipped {test}: a figure for benches/daemon-rate.sh");
        return;
    };
    if !rights::root(test) || !rights::perf(test) {
        return;
    }
    let rate: u64 = rate.to_str().unwrap().parse().unwrap();
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    let mut storm = storm(&scene, rate, 10);
    let mut command = Command::new("perf");
    let registers = "AX,BX,CX,DX,SI,DI,BP,SP,IP,FLAGS,R8,R9,R10,R11,R12,R13,R14,R15";
    command.args(["record", "-q", "-e", "page-faults:u", "-c", "1", "-d", "-m", "2048"]);
    command.args([&format!("--intr-regs={registers}"), "-o"]);
    let perf = command.arg(scene.path("p.data")).args(["-p", &storm.pid().to_string()]);
    let perf = Running::start(perf);
    thread::sleep(Duration::from_millis(700));
    let (before, began) = (ran(perf.pid()), Instant::now());
    storm.tell("go");
    thread::sleep(Duration::from_millis(9_900));
    let (cpu, took) = (ran(perf.pid()) - before, began.elapsed());
    storm.finish().success();
    perf.signal(Signal::INT);
    perf.finish();
    let stats = scene.shell("perf report --stats -i p.data 2>/dev/null | grep -E 'SAMPLE|LOST'");
    eprintln!("perf record: {:.1} % of a CPU\n{}", percent(cpu, took), stats.out);
}
