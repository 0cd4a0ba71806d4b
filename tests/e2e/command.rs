use std::{fs::File, process::Stdio, time::Duration};

use rustix::process::Signal;
use tests::{Account, Running, Scene, Workload, rights};

#[test]
fn the_exit_status_is_the_commands() {
    if !rights::sampling("the_exit_status_is_the_commands") {
        return;
    }
    let scene = Scene::new();
    for code in [0, 1, 7, 42, 255] {
        let script = format!("exit {code}");
        let outcome = Running::start(scene.command("ebs").args([
            "-u",
            "-t",
            "page_fault",
            "--",
            "sh",
            "-c",
            &script,
        ]))
        .finish();
        assert_eq!(outcome.sane().code(), code);
    }
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("SEGV", 139), ("INT", 130)] {
        let script = format!("kill -{signal} $$");
        let outcome = Running::start(scene.command("ebs").args([
            "-u",
            "-t",
            "page_fault",
            "sh",
            "-c",
            &script,
        ]))
        .finish();
        assert_eq!(outcome.sane().code(), code, "killed by SIG{signal}");
    }
}

#[test]
fn ignored_signals_stay_ignored_and_others_are_not() {
    if !rights::sampling("ignored_signals_stay_ignored_and_others_are_not") {
        return;
    }
    let scene = Scene::new();
    for ignored in ["PIPE INT CHLD", "HUP"] {
        let run = |prefix: &str| {
            let line = format!(
                "trap '' {ignored}; {prefix} grep -E 'Sig(Ign|Blk)' /proc/self/status > out"
            );
            scene.shell(&line).success();
            scene.read("out")
        };
        let bare = run("");
        assert_eq!(run("ebs -u -t page_fault -o f.data --"), bare, "trap '' {ignored}");
    }
}

#[test]
fn stdin_stdout_and_stderr_are_the_commands() {
    if !rights::sampling("stdin_stdout_and_stderr_are_the_commands") {
        return;
    }
    let scene = Scene::new();
    let script = "cat; echo to-stderr >&2; test -t 0 && echo terminal; ls -l /proc/self/fd | wc -l";
    let run = |prefix: &str| {
        let line = format!("{prefix} sh -c '{script}' < in > out 2> err");
        scene.write("in", "one\ntwo\n");
        scene.shell(&line).success();
        (scene.read("out"), scene.read("err"))
    };
    let (bare, _) = run("");
    let (sampled, err) = run("ebs -u -t page_fault -o f.data --");
    assert_eq!(sampled, bare, "the command's stdout, and its number of open files");
    assert!(err.starts_with("to-stderr\n") || err.contains("\nto-stderr\n"), "{err}");
}

#[test]
fn signals_reach_the_command_as_they_would_without_us() {
    if !rights::sampling("signals_reach_the_command_as_they_would_without_us") {
        return;
    }
    let scene = Scene::new();
    // Dispositions and the blocked set are inherited over exec: they must be
    // those of a command that nobody samples.
    let script = "grep -E '^(SigBlk|SigIgn|SigCgt):' /proc/self/status > signals";
    let run = |prefix: &str| {
        scene.shell(&format!("{prefix} sh -c \"{script}\"")).success();
        scene.read("signals")
    };
    let bare = run("");
    assert_eq!(run("ebs -u -t page_fault -o f.data --"), bare);
}

#[test]
fn a_signal_ends_the_sampling_and_prints_the_result() {
    if !rights::sampling("a_signal_ends_the_sampling_and_prints_the_result") {
        return;
    }
    let scene = Scene::new();
    Workload::Storm.build(&scene);
    for signal in [Signal::INT, Signal::TERM] {
        // Its shell outlives the storm: only the signal can end the sampling.
        let script = "echo ready; read go; ./storm 5000; cat";
        let mut shell = Running::start(scene.command("bash").args(["-c", script]));
        assert_eq!(shell.hear(), "ready");
        let target = shell.pid();
        let mut ebs = scene.start(&format!("ebs -u -t page_fault -c all {target}"));
        ebs.wait_until("it attached", |pid| tests::running::has_attached(pid, target));
        std::thread::sleep(Duration::from_millis(200));
        shell.tell("go");
        while !shell.hear().starts_with("kernel") {}
        assert!(!ebs.ended(), "the sampling ended before {signal:?}");
        ebs.signal(signal);
        let sampled = ebs.finish().success();
        let row = sampled.out.lines().find(|line| line.contains("storm_touch"));
        let row = row.unwrap_or_else(|| panic!("no storm_touch: {sampled}"));
        let count: u64 = row.split_whitespace().next().unwrap().replace(',', "").parse().unwrap();
        let lost = sampled.told().lost;
        assert!(count > 0 && (5000..=5000 + lost).contains(&(count + lost)), "{sampled}");
        assert!(!shell.ended(), "{signal:?} must not reach an attached process");
        shell.finish().success();
    }
}

#[test]
fn a_signal_ends_a_system_wide_recording_that_stays_readable() {
    let test = "a_signal_ends_a_system_wide_recording_that_stays_readable";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let mut ebs = scene.start("ebs -k -u -t page_fault -c all -o s.data");
    let written = || std::fs::metadata(scene.path("s.data")).map_or(0, |file| file.len());
    ebs.wait_until("it wrote the preamble", |_| written() > 0);
    // Its share of a busy machine decides when the events are on.
    let before = written();
    ebs.wait_until("records came", |_| {
        scene.shell("ls -lR /usr/include | tail -1").success();
        written() > before + (256 << 10)
    });
    scene.shell("ls -lR /usr/include | tail -1").success();
    ebs.signal(Signal::INT);
    let sampled = ebs.finish().sane();
    let account = Account::of_stream(&scene.path("s.data"));
    let delivered = account.count("delivered");
    assert!(delivered > 100, "{sampled}");
    let script = scene.run("ebs script -F comm,ip s.data").success().out;
    assert_eq!(u64::try_from(script.lines().count()).unwrap(), delivered);
    assert!(script.lines().any(|line| line.trim_start().starts_with("ls ")), "no ls in {script}");
}

#[test]
fn a_count_ends_a_system_wide_recording() {
    let test = "a_count_ends_a_system_wide_recording";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let mut ebs = scene.start("ebs -k -u -t page_fault -c 50 -o s.1");
    while !ebs.ended() {
        scene.shell("ls -lR /usr/include | tail -1").success();
    }
    ebs.finish().success();
    let records = scene.read("s.1").lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(records, 50);
}

#[test]
fn a_closed_stdout_is_no_panic() {
    if !rights::sampling("a_closed_stdout_is_no_panic") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    scene.run("ebs -u -t page_fault -c all -o f.data ./touch 3000").success();
    // Nobody reads on behind the first line.
    let piped = scene.shell(
        "(ebs script f.data; echo $? > status) 2> err | head -1 > line
         (ebs report --top 5000 f.data; echo $? > status2) 2>> err | true
         (ebs -u -t page_fault -c all --format text -o - ./touch 3000; true) 2>> err | head -1",
    );
    piped.sane();
    assert!(!scene.read("err").contains("panicked"), "{}", scene.read("err"));
    assert!(!scene.read("line").trim().is_empty());
    // No stdout at all, and one that takes nothing.
    let none = scene.shell("ebs report f.data >&-").sane();
    assert!(none.code() != 101, "{none}");
    let full = scene.shell("ebs report f.data > /dev/full").sane();
    assert_eq!(full.code(), 1, "{full}");
    assert!(full.err.contains("No space left"), "{full}");
}

/// What a command and `ebs` leave when a signal comes to `ebs` alone.
fn signalled(scene: &Scene, signal: Signal, script: &str) -> (tests::Outcome, String) {
    let out = File::create(scene.path("out")).unwrap();
    let mut command = scene.command("ebs");
    command
        .args(["-u", "-t", "page_fault", "-o", "f.data", "--"])
        .args(["sh", "-c", script])
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(Stdio::piped());
    let mut ebs = Running::start_as_is(&mut command);
    ebs.wait_until("the command ran", |_| scene.read("out") == "begun\n");
    ebs.signal(signal);
    let outcome = ebs.finish().sane();
    (outcome, scene.read("out"))
}

#[test]
fn an_interrupt_ends_the_sampling_and_not_the_command() {
    if !rights::sampling("an_interrupt_ends_the_sampling_and_not_the_command") {
        return;
    }
    let scene = Scene::new();
    let (outcome, out) =
        signalled(&scene, Signal::INT, "echo begun; sleep 1; echo still here; exit 5");
    assert_eq!(out, "begun\nstill here\n", "{outcome}");
    assert_eq!(outcome.code(), 5, "{outcome}");
    assert!(outcome.told().delivered > 0, "{outcome}");
}

#[test]
fn a_termination_is_passed_on() {
    if !rights::sampling("a_termination_is_passed_on") {
        return;
    }
    let scene = Scene::new();
    let (outcome, out) = signalled(&scene, Signal::TERM, "echo begun; exec sleep 100");
    assert_eq!(out, "begun\n", "{outcome}");
    assert_eq!(outcome.code(), 143, "{outcome}");
    let script = scene.run("ebs script -F ip f.data").success().out;
    assert_eq!(u64::try_from(script.lines().count()).unwrap(), outcome.told().delivered);
}
