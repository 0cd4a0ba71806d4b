//! Whatever ends `ebs`, a process that was there before goes on.

use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tests::{Running, Scene, Workload, rights};

const SAMPLE: &str = "ebs -u --source emulated -t memory_loads -i 20000 -c all";
/// Rounds of the server that show that it goes on.
const ROUNDS: &str = "50";

/// A server with several threads, which checks its own results.
fn server(scene: &Scene) -> Running {
    let program = Workload::Server.build(scene);
    let mut server = Running::start(&mut scene.command(program));
    assert_eq!(server.hear(), "ready");
    server
}

/// Fails unless the server works, and right.
#[track_caller]
fn assert_works(server: &mut Running, after: &str) {
    server.tell(ROUNDS);
    assert_eq!(server.hear(), "right", "after {after}");
    assert!(!server.ended(), "after {after}");
}

/// The thread that traces a process; 0: none.
fn tracer(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.map_or(0, |tracer| tracer.trim().parse().unwrap())
}

/// Whether its code is translated, and its first records are on the way.
fn is_emulated(pid: u32) -> bool {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    tracer(pid) != 0 && maps.contains("memfd:hardmeter")
}

/// Fails unless nobody traces the server any more, soon.
#[track_caller]
fn assert_let_go(server: &mut Running) {
    server.wait_until("it was let go", |pid| tracer(pid) == 0);
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    assert!(!maps.contains("memfd:hardmeter"), "nothing stays behind: {maps}");
}

/// Starts `ebs` on the server, which is emulated then.
fn attached(scene: &Scene, server: &mut Running) -> Running {
    let ebs = scene.start(&format!("{SAMPLE} {}", server.pid()));
    server.wait_until("it was emulated", is_emulated);
    std::thread::sleep(Duration::from_millis(100));
    ebs
}

/// All that end a process and can be caught, but those of faults.
const ENDING: [Signal; 14] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::ABORT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::TERM,
    Signal::STKFLT,
    Signal::XCPU,
    Signal::VTALARM,
    Signal::PROF,
    Signal::IO,
    Signal::POWER,
];

#[test]
fn every_signal_that_ends_ebs_lets_the_process_go() {
    let test = "every_signal_that_ends_ebs_lets_the_process_go";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    for signal in ENDING {
        let ebs = attached(&scene, &mut server);
        ebs.signal(signal);
        let outcome = ebs.finish().sane();
        let asked_for = [Signal::INT, Signal::TERM].contains(&signal);
        let status = if asked_for { 0 } else { 128 + signal.as_raw() };
        assert_eq!(outcome.code(), status, "{signal:?}: {outcome}");
        // It has been let go before anything was printed.
        assert_let_go(&mut server);
        assert!(outcome.out.contains("# emulated/memory_loads/, every 20000"), "{outcome}");
        assert!(outcome.last_line().contains(", 0 lost"), "{outcome}");
        assert!(outcome.err.contains("goes on natively whatever ends ebs"), "{outcome}");
        assert_works(&mut server, &format!("{signal:?}"));
    }
    server.finish().success();
}

/// SIGKILL, and those of faults: the process that was killed can do nothing.
#[test]
fn a_killed_ebs_leaves_the_process_and_its_results() {
    if !rights::emulated_pmu("a_killed_ebs_leaves_the_process_and_its_results") {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    for signal in [Signal::KILL, Signal::ILL, Signal::FPE, Signal::SYS, Signal::TRAP] {
        let ebs = attached(&scene, &mut server);
        ebs.signal(signal);
        // Its outputs end with the process that traced.
        let outcome = ebs.finish().sane();
        assert!(!outcome.status.success(), "{signal:?}: {outcome}");
        assert_let_go(&mut server);
        assert!(outcome.out.contains("# emulated/memory_loads/, every 20000"), "{outcome}");
        assert!(outcome.last_line().contains(", 0 lost"), "{outcome}");
        assert_works(&mut server, &format!("{signal:?}"));
    }
    server.finish().success();
}

/// While the threads are taken hold of, and translated code is made.
#[test]
fn a_signal_at_any_moment_lets_the_process_go() {
    if !rights::emulated_pmu("a_signal_at_any_moment_lets_the_process_go") {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    for turn in 0..12 {
        let ebs = scene.start(&format!("{SAMPLE} {}", server.pid()));
        std::thread::sleep(Duration::from_millis(turn * 15));
        ebs.signal(if turn % 2 == 0 { Signal::HUP } else { Signal::KILL });
        let outcome = ebs.finish().sane();
        assert!(!outcome.status.success(), "{outcome}");
        assert_let_go(&mut server);
        assert_works(&mut server, &format!("turn {turn}"));
    }
    server.finish().success();
}

#[test]
fn a_stopped_ebs_does_not_stop_the_process() {
    if !rights::emulated_pmu("a_stopped_ebs_does_not_stop_the_process") {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    for signal in [Signal::STOP, Signal::TSTP, Signal::TTIN, Signal::TTOU] {
        let ebs = scene.start(&format!("{SAMPLE} -o x.data {}", server.pid()));
        server.wait_until("it was emulated", is_emulated);
        ebs.signal(signal);
        // The ring would be full by then more than once.
        for _ in 0..4 {
            assert_works(&mut server, &format!("{signal:?}"));
        }
        ebs.signal(Signal::INT);
        ebs.signal(Signal::CONT);
        let outcome = ebs.finish().success();
        assert!(outcome.last_line().contains(", 0 lost"), "{outcome}");
        assert_let_go(&mut server);
    }
    server.finish().success();
}

/// A reader that reads no more, while `ebs` waits for it; then one that is
/// gone.
#[test]
fn an_output_that_takes_no_more_does_not_hold_the_process() {
    if !rights::emulated_pmu("an_output_that_takes_no_more_does_not_hold_the_process") {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    // A record for each load: the pipe and the ring are soon full.
    let line = "ebs -u --source emulated -t memory_loads -i 1 -c all -o -";
    let mut words = line.split(' ');
    let mut command = scene.command(words.next().unwrap());
    command.args(words).arg(server.pid().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut ebs = command.spawn().unwrap();
    server.wait_until("it was emulated", is_emulated);
    std::thread::sleep(Duration::from_secs(2));
    let pid = rustix::process::Pid::from_child(&ebs);
    rustix::process::kill_process(pid, Signal::HUP).unwrap();
    assert_let_go(&mut server);
    assert_works(&mut server, "a hangup with a full pipe");
    // The reader goes away.
    drop(ebs.stdout.take());
    let mut told = String::new();
    ebs.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert_eq!(ebs.wait().unwrap().code(), Some(129), "{told}");
    assert!(told.contains("goes on natively"), "{told}");

    let mut ebs = scene.start(&format!("{line} {}", server.pid()));
    server.wait_until("it was emulated", is_emulated);
    ebs.stop_hearing();
    let outcome = ebs.finish().sane();
    assert_eq!(outcome.code(), 0, "a reader that has seen enough is no failure: {outcome}");
    assert_let_go(&mut server);
    assert_works(&mut server, "the end of the reader");
    server.finish().success();
}

/// What a command is sent for `ebs` it gets from there: all but SIGINT.
#[test]
fn a_hangup_is_passed_on_to_a_command() {
    if !rights::emulated_pmu("a_hangup_is_passed_on_to_a_command") {
        return;
    }
    let scene = Scene::new();
    let dies = "echo on; while :; do :; done";
    let lives = "trap 'echo heard; exit 7' HUP; echo on; while :; do :; done";
    for (script, status, said) in [(dies, 129, ""), (lives, 7, "heard\n")] {
        let mut command = scene.command("ebs");
        command.args(SAMPLE.split(' ').skip(1)).args(["--", "sh", "-c", script]);
        let mut ebs = Running::start(&mut command);
        assert_eq!(ebs.hear(), "on");
        ebs.signal(Signal::HUP);
        let outcome = ebs.finish().sane();
        assert_eq!(outcome.code(), status, "{outcome}");
        assert!(outcome.out.starts_with(said), "{outcome}");
        assert!(outcome.out.contains("# emulated/memory_loads/, every 20000"), "{outcome}");
    }
}

/// As nohup(1) starts it.
#[test]
fn a_signal_that_is_ignored_stays_so() {
    if !rights::emulated_pmu("a_signal_that_is_ignored_stays_so") {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    let pid = server.pid();
    let script = format!("trap '' HUP; exec {SAMPLE} -o x.data {pid}");
    let mut ebs = Running::start(scene.command("bash").args(["-c", &script]));
    server.wait_until("it was emulated", is_emulated);
    ebs.signal(Signal::HUP);
    std::thread::sleep(Duration::from_millis(500));
    assert!(!ebs.ended() && tracer(pid) != 0, "it was told not to hear that");
    ebs.signal(Signal::INT);
    ebs.finish().success();
    assert_let_go(&mut server);
    assert_works(&mut server, "a hangup that was ignored");
    server.finish().success();
}

/// Which is that of whoever opens it, and who emulates has none.
#[test]
fn an_output_to_the_terminal_by_its_own_name_is_refused() {
    if !rights::emulated_pmu("an_output_to_the_terminal_by_its_own_name_is_refused") {
        return;
    }
    let scene = Scene::new();
    let mut server = server(&scene);
    let outcome = scene.run(&format!("{SAMPLE} -o /dev/tty {}", server.pid())).sane();
    assert_eq!(outcome.code(), 1, "{outcome}");
    assert!(outcome.err.contains("cannot write to /dev/tty: "), "{outcome}");
    assert!(outcome.err.contains("; say -o -, or -o with the terminal's name"), "{outcome}");
    assert!(!outcome.err.contains("goes on natively"), "it was not taken hold of: {outcome}");
    assert_works(&mut server, "a refusal");
    server.finish().success();
}
