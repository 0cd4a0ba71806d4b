//! `ebs stat` beside perf stat, cachegrind, and our own samples.

use serde_json::Value;
use tests::{Account, Outcome, Scene, Workload, rights, running::has_attached, workload};

fn json(outcome: &Outcome) -> Value {
    let line = outcome.out.lines().last().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

/// The value of an event or a metric; None: not counted.
fn value(document: &Value, name: &str) -> Option<f64> {
    let rows = document["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("no {name}: {document}"))["value"].as_f64()
}

/// Whether an `ebs stat` of that number counts a process by now.
fn counts(stat: u32) -> bool {
    let files = std::fs::read_dir(format!("/proc/{stat}/fd"));
    files.is_ok_and(|files| {
        files.flatten().any(|file| {
            std::fs::read_link(file.path())
                .is_ok_and(|link| link.to_string_lossy().contains("perf_event"))
        })
    }) && std::fs::read_to_string(format!("/proc/{stat}/status")).is_ok_and(|status| {
        // It catches SIGINT (bit 1) once it counts.
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask & 2 != 0)
    })
}

/// A program without a C library: each run is like the others.
fn walk(scene: &Scene) {
    let source = workload::sources().join("../pmu-box/programs/walk.S");
    let line = format!("gcc -nostdlib -static -o walk {}", source.display());
    scene.shell(&line).success();
}

#[test]
fn software_events_are_those_of_perf_stat() {
    let test = "software_events_are_those_of_perf_stat";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    let touch = Workload::Touch.build(&scene);
    let counted = json(
        &scene
            .run(&format!("ebs stat -u -t page_fault,minor_fault --json {}", touch.display()))
            .success(),
    );
    let line = format!(
        "perf stat -x, -e page-faults:u,minor-faults:u {} 2>&1 >/dev/null",
        touch.display()
    );
    let theirs = scene.shell(&line).success();
    let of = |name: &str| -> f64 {
        let line = theirs.out.lines().find(|line| line.contains(name));
        line.and_then(|line| line.split(',').next()?.parse().ok())
            .unwrap_or_else(|| panic!("{theirs}"))
    };
    // The loader finds pages in the cache or not, a few more or less.
    for (ours, name) in [("page_fault", "page-faults"), ("minor_fault", "minor-faults")] {
        let (ours, theirs) = (value(&counted, ours).unwrap(), of(name));
        assert!((ours - theirs).abs() <= 8.0 + theirs / 50.0, "{name}: {ours} {theirs}");
    }
}

/// What one run's samples tell, its count does.
#[test]
fn a_count_is_what_samples_say_of_the_same_program() {
    if !rights::sampling("a_count_is_what_samples_say_of_the_same_program") {
        return;
    }
    let scene = Scene::new();
    walk(&scene);
    for source in ["page_fault", "memory_loads --source emulated"] {
        let counted = scene.run(&format!("ebs stat -u --json -t {source} ./walk")).success();
        let event = source.split(' ').next().unwrap();
        let count = value(&json(&counted), event).unwrap();
        scene.run(&format!("ebs -u -t {source} -i =7 -c all -o s.data ./walk")).success();
        let events = Account::of_stream(&scene.path("s.data")).count("events");
        assert_eq!(count, events as f64, "{source}: {counted}");
    }
}

/// One run, counted and sampled: the count is that of the samples' account.
#[test]
fn a_count_and_samples_of_one_run_agree() {
    const INTERVAL: u64 = 7;
    if !rights::sampling("a_count_and_samples_of_one_run_agree") {
        return;
    }
    let scene = Scene::new();
    Workload::Bursts.build(&scene);
    // Attaching wakes the process, which may still be on its way back to its sleep.
    for (event, may_differ) in [("page_fault", 0), ("context_switch", 4)] {
        let mut bursts = scene.start("./bursts 100");
        assert_eq!(bursts.hear(), "ready");
        let target = bursts.pid();
        let stream = scene.path(&format!("{event}.data"));
        let line = format!("ebs -u -k -t {event} -i ={INTERVAL} -c all -o {event}.data {target}");
        let mut samples = scene.start(&line);
        // The stream is begun when all is open.
        samples.wait_until("it attached", |pid| stream.exists() && has_attached(pid, target));
        let line = format!("ebs stat -u -k -t {event} --json -o told -p {target}");
        let mut stat = scene.start(&line);
        stat.wait_until("it counts", counts);
        for _ in 0..50 {
            bursts.tell("go");
            assert!(bursts.hear().starts_with("kernel "));
        }
        bursts.finish().success();
        let (sampled, counted) = (samples.finish().success(), stat.finish().success());
        let document: Value = serde_json::from_str(&scene.read("told")).unwrap();
        let count = value(&document, event).unwrap();
        let account = Account::of_stream(&stream);
        let events = account.count("events");
        let samples = account.count("delivered") + account.lost();
        assert!(events >= 50, "{event}: {sampled}");
        // On each CPU fewer than an interval's events are left over.
        let cpus = std::thread::available_parallelism().unwrap().get() as u64;
        assert!(samples * INTERVAL <= events, "{event}: {sampled}");
        assert!(events < (samples + cpus) * INTERVAL, "{event}: {sampled}");
        let apart = (count - events as f64).abs();
        assert!(apart <= f64::from(may_differ), "{event}: {count}, {events}: {counted}{sampled}");
    }
}

#[test]
fn emulated_counts_are_cachegrinds() {
    let test = "emulated_counts_are_cachegrinds";
    if !rights::program(test, "valgrind") || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    walk(&scene);
    let line = "ebs stat --json -m cache,memory --cache l1d=32k,8,64 --cache l1i=32k,8,64 \
                --cache l2=off --cache l3=512k,8,64 ./walk";
    let counted = scene.run(line).success();
    let ours = json(&counted);
    assert!(ours["emulated"].is_string(), "{counted}");
    let theirs = scene
        .shell(
            "valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 \
             --LL=524288,8,64 --cachegrind-out-file=/dev/null ./walk 2>&1",
        )
        .success();
    // "==1== D   refs:       40,513  (40,000 rd   + 513 wr)"
    let of = |name: &str, field: usize| -> f64 {
        let line = theirs.out.lines().find(|line| line.contains(name));
        let (_, numbers) = line.unwrap_or_else(|| panic!("{theirs}")).split_once(name).unwrap();
        let mut numbers = numbers
            .split(|c: char| !(c.is_ascii_digit() || c == ','))
            .filter(|word| !word.is_empty());
        numbers.nth(field).unwrap().replace(',', "").parse().unwrap()
    };
    for (event, name, field) in [
        ("instr_retired", "I   refs:", 0),
        ("memory_moves", "D   refs:", 0),
        ("memory_loads", "D   refs:", 1),
        ("memory_stores", "D   refs:", 2),
        ("l1_cache_miss", "D1  misses:", 0),
        ("l3_cache_miss", "LLd misses:", 0),
    ] {
        assert_eq!(value(&ours, event), Some(of(name, field)), "{event}: {theirs}{counted}");
    }
    let ratio = 1000.0 * of("D1  misses:", 0) / of("I   refs:", 0);
    let ours = value(&ours, "l1d_miss_pki").unwrap();
    assert!((ours - ratio).abs() < 1e-9 * ratio, "{ours} {ratio}");
}

#[test]
fn runs_are_repeated_and_units_divided_by() {
    if !rights::sampling("runs_are_repeated_and_units_divided_by") {
        return;
    }
    let scene = Scene::new();
    walk(&scene);
    let run = scene
        .run("ebs stat -u -t page_fault,minor_fault -r 3 --passes --per node=256 --json ./walk");
    let outcome = run.success();
    let document = json(&outcome);
    assert_eq!(
        (document["runs"].as_u64(), document["rows"].as_array().unwrap().len()),
        (Some(3), 2)
    );
    let row = &document["rows"][0];
    assert!(row["deviation"].is_number() && row["share"] == 1.0, "{outcome}");
    let per = row["per"]["node"].as_f64().unwrap();
    assert_eq!(per, row["value"].as_f64().unwrap() / 256.0, "{outcome}");
    let csv = scene.run("ebs stat -u -t page_fault --csv -o out.csv ./walk").success();
    assert!(csv.out.is_empty(), "{csv}");
    let csv = scene.read("out.csv");
    assert!(csv.starts_with("at,pmu,group,name,unit,value,") && csv.lines().count() == 2, "{csv}");
}

#[test]
fn spans_add_up_to_the_whole() {
    if !rights::sampling("spans_add_up_to_the_whole") {
        return;
    }
    let scene = Scene::new();
    let script = "for i in 1 2 3 4 5 6 7 8; do /bin/true; sleep 0.03; done";
    let line = format!("ebs stat -u -t page_fault --json -I 20 -- sh -c '{script}'");
    let outcome = scene.shell(&line).success();
    let spans: Vec<Value> =
        outcome.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(spans.len() > 2, "{outcome}");
    let sum: f64 = spans.iter().filter_map(|span| value(span, "page_fault")).sum();
    let whole = scene.shell(&line.replace("-I 20 ", "")).success();
    let whole = value(&json(&whole), "page_fault").unwrap();
    assert!((sum - whole).abs() <= whole / 10.0, "{sum} of {whole}: {outcome}");
    let ends: Vec<f64> = spans.iter().map(|span| span["at"].as_f64().unwrap()).collect();
    assert!(ends.is_sorted(), "{ends:?}");
}

#[test]
fn an_interrupt_shows_what_there_is_and_the_status_is_the_commands() {
    if !rights::sampling("an_interrupt_shows_what_there_is") {
        return;
    }
    let scene = Scene::new();
    let mut target = scene.start("sleep 600");
    let mut stat =
        scene.start(&format!("ebs stat -u -t page_fault --json -o told -p {}", target.pid()));
    stat.wait_until("it counts", counts);
    stat.signal(rustix::process::Signal::INT);
    let outcome = stat.finish().success();
    assert!(scene.read("told").contains("page_fault"), "{outcome}");
    assert!(!target.ended());
    drop(target);
    let status = scene.shell("ebs stat -u -t page_fault sh -c 'exit 7'");
    assert_eq!(status.code(), 7, "{status}");
}

#[test]
fn a_commands_stdout_is_its_own() {
    if !rights::sampling("a_commands_stdout_is_its_own") {
        return;
    }
    let scene = Scene::new();
    let outcome = scene.run("ebs stat -u -t page_fault -o table echo words").success();
    assert_eq!(outcome.out, "words\n", "{outcome}");
    assert!(scene.read("table").contains("page_fault"), "{outcome}");
}

#[test]
fn what_cannot_be_counted_is_told() {
    let scene = Scene::new();
    for (line, code, words) in [
        ("ebs stat -m cahce true", 2, &["\"cahce\"", "cache"][..]),
        ("ebs stat -t no_such_event true", 2, &["no_such_event"]),
        ("ebs stat -t l1_cach_miss true", 2, &["did you mean l1_cache_miss"]),
        ("ebs stat --per x true", 2, &["\"x\"", "NAME=N"]),
        ("ebs stat --source emulated -m l2_rqsts true", 1, &["l2_rqsts", "emulated"]),
        ("ebs stat --source emulated -m cache -p 1", 1, &["emulated", "command"]),
        ("ebs stat -u -t page_fault ./none", 1, &["./none"]),
        ("ebs stat -u -t page_fault -p 4194305", 1, &["4194305"]),
    ] {
        scene.run(line).refused(code, words);
    }
    // Who may not count on CPUs hears of that first.
    if rights::root("what_cannot_be_counted_is_told: CPUs that are not there") {
        let words = ["CPU 65535", "not online", "say one of 0"];
        scene.run("ebs stat -C 0,65535 -t page_fault true").refused(1, &words);
    }
}
