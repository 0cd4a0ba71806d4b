use tests::{Outcome, Running, Scene, rights};

/// Runs `ebs` with arguments that it must refuse before it samples anything.
fn refused(arguments: &str, code: i32, words: &[&str]) -> Outcome {
    let scene = Scene::new();
    let refused = scene.run(&format!("ebs {arguments}")).refused(code, words);
    assert!(refused.out.is_empty(), "a refusal is no output: {refused}");
    assert!(refused.err.lines().count() <= 13, "a refusal is short: {refused}");
    refused
}

#[test]
fn unknown_types_are_told_the_nearest() {
    refused("-u -t page_falt true", 2, &["page_falt", "page_fault"]);
    refused("-u -t cpu-clok true", 2, &["cpu-clok", "cpu_clock"]);
    refused("-u -t zzzzzzzz true", 2, &["zzzzzzzz", "ebs -h"]);
}

#[test]
fn hardware_types_say_why_they_are_not_to_be_had() {
    if std::path::Path::new("/sys/bus/event_source/devices/cpu").exists() {
        eprintln!("skipped hardware_types_say_why_they_are_not_to_be_had: this CPU has a PMU");
        return;
    }
    refused("-u --source pmu -t l1_cache_miss true", 1, &["l1_cache_miss", "PMU"]);
}

#[test]
fn numbers_that_are_none_are_quoted() {
    refused("-u -t page_fault -i 0 true", 2, &["interval", "\"0\""]);
    refused("-u -t page_fault -i -1 true", 2, &["interval", "\"-1\""]);
    refused("-u -t page_fault -i x true", 2, &["interval", "\"x\""]);
    refused("-u -t page_fault -i 9223372036854775808 true", 2, &["9223372036854775808"]);
    refused("-u -t page_fault -i 99999999999999999999999 true", 2, &["99999999999999999999999"]);
    refused("-u -t page_fault -c 0 true", 2, &["count", "\"0\""]);
    refused("-u -t page_fault -c -5 true", 2, &["count", "\"-5\""]);
    refused("-u -t page_fault --ring 0 true", 2, &["0"]);
    refused("-u -t page_fault --ring 3 true", 2, &["ring of 3", "2 or 4"]);
    for arguments in [
        "-u -t page_fault --top abc true",
        "-u -t page_fault --ring abc true",
        "report --top abc f.data",
        "report --line-size abc f.data",
    ] {
        let outcome = refused(arguments, 2, &["abc", "not a whole number"]);
        assert!(!outcome.err.contains("invalid digit"), "{outcome}");
    }
}

#[test]
fn offsets_that_are_none_are_quoted() {
    refused("report --regs --site main+0xzz f.data", 2, &["main+0xzz", "hex digits"]);
}

#[test]
fn what_is_missing_is_asked_for() {
    refused("-u", 2, &["-t TYPE"]);
    refused("--nonsense", 2, &["--nonsense"]);
}

#[test]
fn breakpoints_that_cannot_be_are_refused() {
    for (event, word) in [
        ("mem:xyz:w", "xyz"),
        ("mem:0x1000/3:w", "3"),
        ("mem:0x1001/8:w", "0x1001"),
        ("mem:0x1000/8:q", "q"),
        ("mem:0x11111111111111111:w", "0x11111111111111111"),
    ] {
        let scene = Scene::new();
        let outcome = scene.run(&format!("ebs -u -t {event} true")).sane();
        assert!([1, 2].contains(&outcome.code()), "{outcome}");
        assert!(outcome.err.contains(word), "{word} is not quoted: {outcome}");
    }
}

#[test]
fn there_is_no_such_process() {
    // A PID above the kernel's limit cannot be taken meanwhile.
    refused("-u -t page_fault 4194305", 1, &["4194305", "no"]);
    refused("-u -t page_fault 2147483648", 2, &["2147483648"]);
    refused("-u -t page_fault 0", 2, &["0"]);
}

#[test]
fn a_process_that_has_ended_is_no_target() {
    let scene = Scene::new();
    let ended = scene.start("true");
    let pid = ended.pid();
    ended.finish().success();
    scene.run(&format!("ebs -u -t page_fault {pid}")).refused(1, &[&pid.to_string()]);
}

#[test]
fn a_process_may_end_while_it_is_attached() {
    let test = "a_process_may_end_while_it_is_attached";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    // Ends at another moment of the attach each time.
    for tenths in 0..20 {
        let target = scene.start(&format!("sleep 0.0{tenths:02}"));
        let outcome = scene.run(&format!("ebs -u -t page_fault {}", target.pid())).sane();
        match outcome.code() {
            // What it did up to its end is accounted for.
            0 => _ = outcome.told(),
            1 => assert!(outcome.err.contains(&target.pid().to_string()), "{outcome}"),
            _ => panic!("neither attached nor refused: {outcome}"),
        }
        target.finish();
    }
}

#[test]
fn commands_that_cannot_start_are_named() {
    let test = "commands_that_cannot_start_are_named";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    scene.run("ebs -u -t page_fault no-such-command-here").refused(1, &["no-such-command-here"]);
    scene.run("ebs -u -t page_fault ./nowhere").refused(1, &["./nowhere"]);
    let file = scene.write("data.txt", "no program");
    scene.run("ebs -u -t page_fault ./data.txt").refused(1, &["data.txt", "not executable"]);
    drop(file);
    scene.write("orphan", "#!/nowhere/interpreter\n");
    scene.shell("chmod +x orphan").success();
    scene.run("ebs -u -t page_fault ./orphan").refused(1, &["orphan"]);
}

#[test]
fn too_few_files_are_said() {
    if !rights::sampling("too_few_files_are_said") {
        return;
    }
    let scene = Scene::new();
    let outcome = scene.run("prlimit --nofile=6:6 ebs -u -t page_fault true").sane();
    assert_eq!(outcome.code(), 1, "{outcome}");
    let said = ["open files", "nofile", "ulimit"].iter().any(|word| outcome.err.contains(word));
    assert!(said, "the limit is not named: {outcome}");
}

/// Whichever file is the one too many: that is the cause, and what helps is said.
#[test]
fn too_few_files_to_attach_are_said() {
    if !rights::emulated_pmu("too_few_files_to_attach_are_said") {
        return;
    }
    let scene = Scene::new();
    let target = scene.start("sleep 1000");
    for most in 5..=12 {
        let limited = format!("timeout -s INT 1 prlimit --nofile={most}:{most} ebs -u");
        for source in ["-t page_fault", "-t l1_cache_miss --source emulated"] {
            let line = format!("{limited} {source} -c 1 -o few.data -p {}", target.pid());
            let outcome = scene.run(&line).sane();
            assert!(outcome.err.contains("ulimit -n"), "{most} files: {outcome}");
            assert!(!outcome.err.contains("there is no process"), "{most} files: {outcome}");
        }
    }
}

#[test]
fn without_tracefs_a_tracepoint_says_what_to_mount() {
    let test = "without_tracefs_a_tracepoint_says_what_to_mount";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    // In a mount namespace of its own, whatever is mounted outside.
    let script = "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null || true
        exec ebs -k -t sched:sched_switch true";
    let outcome = Running::start(scene.command("unshare").args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        script,
    ]))
    .finish();
    outcome.refused(1, &["sched:sched_switch", "tracefs"]);
}

#[test]
fn with_tracefs_an_unknown_tracepoint_is_named() {
    let test = "with_tracefs_an_unknown_tracepoint_is_named";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    let script = "mount -t tracefs nodev /sys/kernel/tracing || exit 99
        exec ebs -k -t sched:sched_swich true";
    let outcome = Running::start(scene.command("unshare").args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        script,
    ]))
    .finish();
    if outcome.code() == 99 {
        eprintln!("skipped {test}: tracefs cannot be mounted: {}", outcome.err);
        return;
    }
    let outcome = outcome.sane();
    assert!([1, 2].contains(&outcome.code()), "{outcome}");
    assert!(outcome.err.contains("sched_swich"), "{outcome}");
}

#[test]
fn a_full_disk_keeps_what_was_written() {
    let test = "a_full_disk_keeps_what_was_written";
    if !rights::root(test) {
        return;
    }
    let scene = Scene::new();
    tests::Workload::Storm.build(&scene);
    let script = "mkdir small && mount -t tmpfs -o size=6m none small || exit 99
        ebs -u -t page_fault -c all --ring 64 -o small/f.data ./storm 60000
        echo \"status $?\"
        cp small/f.data kept.data";
    let outcome = Running::start(scene.command("unshare").args([
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        script,
    ]))
    .finish();
    if outcome.status.code() == Some(99) {
        eprintln!("skipped {test}: tmpfs cannot be mounted: {}", outcome.err);
        return;
    }
    let outcome = outcome.sane();
    assert!(outcome.out.contains("faults 60000"), "the command runs on: {outcome}");
    assert!(outcome.out.contains("status 1"), "the loss is a failure: {outcome}");
    assert!(outcome.err.contains("No space left"), "{outcome}");
    assert!(outcome.last_line().contains("sink "), "the loss is counted: {outcome}");
    let report = scene.run("ebs report --by routine kept.data").sane();
    assert!(report.out.contains("storm_touch"), "what was written stays readable: {report}");
    assert!(report.out.contains("the recording has no end"), "{report}");
}

#[test]
fn an_output_that_cannot_be_made_is_named_before_the_command_runs() {
    let scene = Scene::new();
    let outcome = scene.run("ebs -u -t page_fault -o nowhere/f.data touch ran");
    outcome.refused(1, &["nowhere/f.data"]);
    assert!(!scene.path("ran").exists(), "the command ran");
}
