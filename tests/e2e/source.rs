//! Who counts: `--source`, and what is said of the emulated PMU.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tests::{Running, Scene, Workload, rights};

/// Misses of `ebs-walk` by its own account, in records of 100, on a
/// first-level cache of 64 sets.
const BY_ROWS: u64 = 82;
const BY_COLUMNS: u64 = 655;

/// The README's main command, with the emulated PMU on any machine.
const WALK: &str = "ebs -u --source emulated --cache l1d=32k,8 -t l1_cache_miss -i =100";

/// Samples of each routine.
fn by_routine(scene: &Scene, file: &str) -> Vec<(String, u64)> {
    let report = scene.run(&format!("ebs report --json --by routine {file}")).success().out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let rows = report["events"][0]["rows"].as_array().unwrap();
    rows.iter().map(|row| (row["routine"].to_string(), row["count"].as_u64().unwrap())).collect()
}

#[test]
fn the_example_misses_where_it_says() {
    if !rights::emulated_pmu("the_example_misses_where_it_says") {
        return;
    }
    let scene = Scene::new();
    let done = scene.run(&format!("{WALK} -o walk.data -- ebs-walk")).success();
    assert!(done.out.starts_with("by rows 2147450880, by columns 2147450880"), "{done}");
    let rows = by_routine(&scene, "walk.data");
    let of = |name: &str| -> u64 {
        rows.iter().filter(|(routine, _)| routine.contains(name)).map(|(_, count)| count).sum()
    };
    assert!(of("by_columns").abs_diff(BY_COLUMNS) <= 1, "{rows:?}");
    assert!(of("by_rows").abs_diff(BY_ROWS) <= 1, "{rows:?}");
    assert!(of("fill").abs_diff(BY_ROWS) <= 1, "{rows:?}");
}

#[test]
fn whatever_shows_emulated_samples_says_so() {
    if !rights::emulated_pmu("whatever_shows_emulated_samples_says_so") {
        return;
    }
    let scene = Scene::new();
    let table = scene.run(&format!("{WALK} -- ebs-walk")).success();
    for (text, part) in [
        (&table.out, "# emulated/l1_cache_miss/, every 100 events: "),
        (&table.out, "# emulated: 32K/8 L1D, "),
        (&table.out, "; no hardware was sampled"),
        (&table.out, " made by the emulation, "),
        (&table.err, "l1_cache_miss:u by the emulated PMU (emulated: 32K/8 L1D, "),
    ] {
        assert!(text.contains(part), "{part}: {table}");
    }
    scene.run(&format!("{WALK} -o walk.data -- ebs-walk")).success();
    let script = scene.run("ebs script walk.data").success();
    assert!(script.out.starts_with("# emulated: 32K/8 L1D, "), "{script}");
    assert!(script.out.contains(" emulated/l1_cache_miss/: "), "{script}");
    scene.run(&format!("{WALK} -o walk.txt -- ebs-walk")).success();
    let text = scene.read("walk.txt");
    assert!(text.starts_with("# emulated: 32K/8 L1D, "), "{text}");
    let json = scene.run("ebs report --json walk.data").success().out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let event = &json["events"][0];
    assert_eq!(event["promises"]["source"], "emulated");
    let model = event["promises"]["model"].as_str().unwrap();
    assert!(model.starts_with("32K/8 L1D, "), "{model}");
    let (samples, exact) = (&event["totals"]["counted"], &event["totals"]["exact_ip"]);
    assert!(samples.as_u64() > Some(500) && samples == exact, "{event}");
    if rights::program("whatever_shows_emulated_samples_says_so", "perf") {
        let perf = scene.run("perf script -i walk.data").success();
        assert!(perf.out.contains("emulated/l1_cache_miss/"), "{perf}");
        assert!(perf.out.contains("ebs_walk::by_columns"), "{perf}");
    }
}

/// The misses of the example's routines, within five standard errors of
/// their shares.
#[test]
fn intervals_are_drawn_and_told_with_their_seed() {
    if !rights::emulated_pmu("intervals_are_drawn_and_told_with_their_seed") {
        return;
    }
    let scene = Scene::new();
    let line = WALK.replace("-i =100", "-i 100 --seed 9");
    let table = scene.run(&format!("{line} -- ebs-walk")).success();
    let heading = "# emulated/l1_cache_miss/, every 100 events on average, at random: ";
    assert!(table.out.contains(heading), "{table}");
    assert!(table.err.contains(", intervals drawn by --seed 9, "), "{table}");
    scene.run(&format!("{line} -o walk.data -- ebs-walk")).success();
    let report = scene.run("ebs report --json --by routine walk.data").success().out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let event = &report["events"][0];
    assert_eq!(
        (&event["promises"]["periods"], &event["promises"]["seed"]),
        (&"drawn".into(), &"9".into())
    );
    let (told, made) = (&event["totals"]["period"], &event["ledger"]["events"]);
    let rest = made.as_u64().unwrap() - told.as_u64().unwrap();
    assert!(rest < 200, "{made} events, {told} told");
    let all = made.as_f64().unwrap();
    for (name, records) in [("by_columns", BY_COLUMNS), ("by_rows", BY_ROWS)] {
        let rows = event["rows"].as_array().unwrap().iter();
        let row = rows.clone().find(|row| row["routine"].as_str().unwrap().contains(name)).unwrap();
        let (share, error) = (row["share"].as_f64().unwrap(), row["share_error"].as_f64().unwrap());
        let truth = f64::from(u32::try_from(records * 100).unwrap()) / all;
        assert!(error > 0.0 && error < 0.02, "{row}");
        assert!((share - truth).abs() < 5.0 * error + 0.005, "{row}, not {truth}");
    }
}

#[test]
fn without_a_pmu_the_emulated_one_is_taken_and_told() {
    let test = "without_a_pmu_the_emulated_one_is_taken_and_told";
    if !rights::emulated_pmu(test) || rights::core_pmu() {
        eprintln!("skipped {test}: this machine has a PMU");
        return;
    }
    let scene = Scene::new();
    let done = scene.run("ebs -u -t l1_cache_miss -i 100 -o x.data -- true").success();
    let first = done.err.lines().next().unwrap();
    for part in ["no hardware PMU", "l1_cache_miss is emulated (", "as long"] {
        assert!(first.contains(part), "{done}");
    }
    for (line, part) in [
        ("ebs -k -t l1_cache_miss true", "-u with a command"),
        ("ebs -uk -t l1_cache_miss true", "-u with a command"),
        ("ebs -u -t l1_cache_miss", "a command or a PID"),
    ] {
        scene.run(line).refused(1, &[part, "page_fault"]);
    }
    let lacking = scene.run("ebs -u -t load_latency true");
    lacking.refused(1, &["no hardware PMU", "memory_loads", "can be emulated"]);
    let list = scene.run("ebs -h").success();
    let emulated = list.out.split_once("Emulated here").expect("has a part of its own").1;
    assert!(emulated.contains("\n  l1_cache_miss "), "{list}");
    let help = scene.run("ebs -h l1_cache_miss").success();
    assert!(help.out.contains("emulated, with -u"), "{help}");
}

#[test]
fn options_of_the_model_are_checked_before_anything_runs() {
    let scene = Scene::new();
    for (options, part) in [
        ("--source hardware", "\"hardware\""),
        ("--source pmu --prefetch", "--prefetch"),
        ("--burst 5", "\"5\""),
        ("--burst 6/5", "\"6/5\""),
        ("--cache l1d=3k,7", "l1d=3k,7"),
        ("--cache l9=32k,8", "l9=32k,8"),
        ("--source emulated -m miss", "-m miss"),
        ("--source emulated -k", "user code only"),
    ] {
        let line = format!("ebs -u -t l1_cache_miss {options} -- touch ran");
        scene.run(&line).refused(2, &[part]);
    }
    let burst = "ebs -u -t hitm --burst 1k/2k -- touch ran";
    scene.run(burst).refused(1, &["leave the bursts out"]);
    scene.run("ebs -u --source emulated -t page_fault true").refused(1, &["the kernel itself"]);
    scene.run("ls").success();
    assert!(!scene.run("ls").out.contains("ran"));
}

/// Of the example's misses a part is counted, and what is said of the whole
/// is true.
#[test]
fn bursts_are_told_with_what_they_say_of_the_whole() {
    if !rights::emulated_pmu("bursts_are_told_with_what_they_say_of_the_whole") {
        return;
    }
    let scene = Scene::new();
    let walk = format!("{WALK} --burst 1k/10k+1k");
    let table = scene.run(&format!("{walk} -- ebs-walk")).success();
    for part in [
        "; 1000 of every 10000 instructions were counted, after 1000 that warmed the caches up; ",
        "\n# bursts: rows are of ",
    ] {
        assert!(table.out.contains(part), "{part}: {table}");
    }
    assert!(table.err.contains(" two standard errors)"), "{table}");
    scene.run(&format!("{walk} -o walk.data -- ebs-walk")).success();
    let json = scene.run("ebs report --json walk.data").success().out;
    let json: Value = serde_json::from_str(&json).unwrap();
    let ledger = &json["events"][0]["ledger"];
    let number = |of: &Value| of.as_f64().unwrap();
    let bursts = &ledger["bursts"];
    let counted = number(&bursts["counted"]);
    let all = counted + number(&bursts["warmed"]) + number(&bursts["bare"]);
    assert!((counted / all - 0.1).abs() < 0.02, "{bursts}");
    // In records of 100; the program's start has some more.
    let estimate = number(&ledger["events"]) / 100.0 * all / counted;
    let least = f64::from(u32::try_from(2 * BY_ROWS + BY_COLUMNS).unwrap());
    let error = number(&bursts["error"]);
    assert!(error < 0.1, "{bursts}");
    let range = least * (1.0 - 4.0 * error)..least * 1.05 * (1.0 + 4.0 * error);
    assert!(range.contains(&estimate), "{estimate}, {range:?}, {ledger}");
}

#[test]
fn an_emulated_commands_status_is_its_own() {
    if !rights::emulated_pmu("an_emulated_commands_status_is_its_own") {
        return;
    }
    let scene = Scene::new();
    for (script, code) in
        [("exit 0", 0), ("exit 42", 42), ("kill -TERM $$", 143), ("kill -SEGV $$", 139)]
    {
        let line = format!("{WALK} -o x.data -- sh -c '{script}'");
        assert_eq!(scene.shell(&line).sane().code(), code, "{script}");
    }
    scene.run(&format!("{WALK} -- no-such-program")).refused(1, &["command not found"]);
}

#[test]
fn after_the_count_the_command_runs_on() {
    if !rights::emulated_pmu("after_the_count_the_command_runs_on") {
        return;
    }
    let scene = Scene::new();
    let done = scene.run(&format!("{WALK} -c 50 -o x.txt -- ebs-walk")).success();
    assert!(done.out.starts_with("by rows 2147450880, by columns"), "{done}");
    assert!(done.err.contains("ebs: 50 records, 0 lost"), "{done}");
    let records = scene.read("x.txt").lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(records, 50);
}

#[test]
fn sigint_prints_what_there_is_and_sigterm_ends_the_command() {
    if !rights::emulated_pmu("sigint_prints_what_there_is_and_sigterm_ends_the_command") {
        return;
    }
    let scene = Scene::new();
    let spin = "i=0; echo on; while [ ! -e stop ]; do i=$((i+1)); done";
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut words: Vec<&str> = WALK.split(' ').skip(1).collect();
        words.extend(["--", "sh", "-c", spin]);
        let mut running = Running::start(scene.command("ebs").args(words));
        assert_eq!(running.hear().trim_end(), "on");
        std::thread::sleep(Duration::from_millis(300));
        running.signal(signal);
        if signal == Signal::INT {
            // The command has no SIGINT of its own here: a second one ends the wait.
            std::thread::sleep(Duration::from_millis(1500));
            running.signal(signal);
            // The command runs on natively, and has our pipes.
            std::thread::sleep(Duration::from_millis(500));
            scene.write("stop", "");
        }
        // At SIGTERM nobody but ebs ends the command.
        let outcome = running.finish();
        assert_eq!(outcome.code(), code, "{outcome}");
        assert!(outcome.err.contains("by the emulated PMU"), "{outcome}");
    }
}

#[test]
fn a_running_process_is_sampled_and_let_go() {
    if !rights::emulated_pmu("a_running_process_is_sampled_and_let_go") {
        return;
    }
    let scene = Scene::new();
    let spin = "i=0; echo on; while [ $i -lt 2000000000 ]; do i=$((i+1)); done";
    let mut target = Running::start(scene.command("sh").args(["-c", spin]));
    assert_eq!(target.hear().trim_end(), "on");
    let attach = "ebs -u --source emulated -t memory_loads -i 1000 -c 500 -o x.data";
    let done = scene.run(&format!("{attach} {}", target.pid())).success();
    assert!(done.err.contains("ebs: 500 records, 0 lost, 500 with exact IP"), "{done}");
    // What it is emulated with is none of its files.
    assert!(!done.err.contains("memfd"), "{done}");
    let recording = std::fs::read(scene.path("x.data")).unwrap();
    let has = |path: &[u8]| recording.windows(path.len()).any(|part| part == path);
    assert!(has(b"/libc.so.6\0") && !has(b"/memfd:hardmeter"), "{done}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", target.pid())).unwrap();
    assert!(status.contains("TracerPid:\t0"), "{status}");
    assert!(status.contains("State:\tR"), "it runs on: {status}");
    target.signal(Signal::KILL);
    target.finish();
}

/// The same program with the same input, at the same addresses, is the same
/// records: but for the numbers of processes.
#[test]
fn records_are_the_same_again() {
    let test = "records_are_the_same_again";
    if !rights::emulated_pmu(test) || !rights::program(test, "setarch") {
        return;
    }
    let scene = Scene::new();
    let records = |name: &str| {
        scene.run(&format!("setarch -R {WALK} -o {name} -- ebs-walk")).success();
        let text = scene.read(name);
        let mut lines = text.lines().skip_while(|line| line.starts_with("# "));
        let names: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let own = |column: &str| names.iter().position(|name| *name == column).unwrap();
        let (pid, tid) = (own("pid"), own("tid"));
        // Its number also stands in registers, where the program asked for it.
        let without = |line: &str| -> Vec<String> {
            let words: Vec<&str> = line.split(' ').collect();
            let number = format!("{:016x}", words[pid].parse::<u64>().unwrap());
            let words = words.iter().enumerate();
            let words = words.filter(|(place, _)| *place != pid && *place != tid);
            words.map(|(_, word)| if *word == number { "PID" } else { word }.to_owned()).collect()
        };
        lines.map(without).collect::<Vec<_>>()
    };
    let (first, again) = (records("first.txt"), records("again.txt"));
    assert!(first.len() > 800, "{} records", first.len());
    assert_eq!(first.len(), again.len());
    for (place, (one, other)) in first.iter().zip(&again).enumerate() {
        assert_eq!(one, other, "record {place}");
    }
}

/// A file of a program under test, gone with this.
struct LeftBehind(String);

impl Drop for LeftBehind {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

/// The model's clock is not that of files: names of generated code come all
/// the same, and not from a map of another time.
#[test]
fn code_that_a_program_made_is_named() {
    if !rights::emulated_pmu("code_that_a_program_made_is_named") {
        return;
    }
    let scene = Scene::new();
    Workload::Maker.build(&scene);
    let sample = "ebs -u --source emulated -t memory_stores -i 10";
    let live = scene.run(&format!("{sample} -- ./maker 4000")).success();
    assert!(live.out.contains("made_here"), "{live}");
    scene.run(&format!("{sample} --no-files -o r.data -- ./maker 4000")).success();
    let pid = scene.run("ebs script -F pid r.data").success().out;
    let pid = pid.lines().find(|line| !line.starts_with('#')).unwrap().trim();
    let map = LeftBehind(format!("/tmp/perf-{pid}.map"));
    let report = || scene.run("ebs report r.data").success().out;
    let script = || scene.run("ebs script -F ip,sym r.data").success().out;
    for text in [report(), script()] {
        assert!(text.contains("made_here"), "{text}");
    }
    for (when, why) in [("-1 hour", "before its process began"), ("1 hour", "had ended")] {
        let mut touch = scene.command("touch");
        Running::start(touch.args(["-d", when, &map.0])).finish().success();
        let text = report();
        assert!(!text.contains("made_here"), "{text}");
        assert!(text.contains(why), "{why}: {text}");
    }
}
