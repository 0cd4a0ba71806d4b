//! What `-o FILE.data` writes: read by us, by perf and by samply's reader,
//! whole, unfinished or cut short.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::Path;

use linux_perf_data::{PerfFileReader, PerfFileRecord};
use linux_perf_event_reader::{EventRecord, PerfEventType};
use rustix::process::Signal;
use tests::{Account, Ebsd, Outcome, Running, Scene, Truth, Workload, rights};

/// Types of PMUs that no kernel gives a number to.
const BEYOND_THE_KERNEL: u32 = 1 << 31;

/// Samples of a file in file form, as samply takes them, and the events.
fn as_samply_reads(path: &Path) -> Result<(usize, Vec<PerfEventType>), linux_perf_data::Error> {
    let file = BufReader::new(File::open(path)?);
    let PerfFileReader { mut perf_file, mut record_iter } = PerfFileReader::parse_file(file)?;
    let mut samples = 0;
    while let Some(record) = record_iter.next_record(&mut perf_file)? {
        if let PerfFileRecord::EventRecord { record, .. } = record
            && let EventRecord::Sample(_) = record.parse()?
        {
            samples += 1;
        }
    }
    Ok((samples, perf_file.event_attributes().iter().map(|event| event.attr.type_).collect()))
}

/// Samples that each reader finds: perf, samply's, and ours.
#[track_caller]
fn counts(scene: &Scene, name: &str) -> [usize; 3] {
    let perf = scene.run(&format!("perf script -F comm -i {name}")).success();
    let ours = scene.run(&format!("ebs script --all-samples -F comm {name}")).sane();
    let lines = |seen: &Outcome| {
        seen.out.lines().filter(|line| !line.trim_start().starts_with('#')).count()
    };
    [lines(&perf), as_samply_reads(&scene.path(name)).unwrap().0, lines(&ours)]
}

fn is_file_form(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    assert!(bytes.starts_with(b"PERFILE2"), "{}", path.display());
    bytes[8] == 104
}

fn scene(test: &str) -> Option<Scene> {
    (rights::sampling(test) && rights::perf(test)).then(|| {
        let scene = Scene::new();
        Workload::Touch.build(&scene);
        Workload::Watch.build(&scene);
        Workload::Storm.build(&scene);
        scene
    })
}

#[test]
fn every_kind_of_event_is_read_by_all() {
    let Some(scene) = scene("every_kind_of_event_is_read_by_all") else { return };
    let watched = Truth::new(&scene.run("./watch 0").success().out).number("watched");
    let mut lines = vec![
        "-uk -t page_fault ./touch 300".to_owned(),
        "-uk -d -t cpu_clock -i 100000 ./storm 5000".to_owned(),
        format!("-u -t mem:{watched:#x}/8:w ./watch 100"),
    ];
    if cfg!(target_arch = "x86_64") {
        lines.push("-u --source emulated -t memory_stores -i 100 ./touch 300".to_owned());
        lines.push("-u --source emulated -t instr_retired -i 10000 ./touch 300".to_owned());
    }
    for line in lines {
        scene.shell(&format!("ebs -c all -o f.data {line} >told")).success();
        let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
        let delivered = usize::try_from(delivered).unwrap();
        assert!(delivered > 0, "{line}");
        assert_eq!(counts(&scene, "f.data"), [delivered; 3], "{line}");
        assert!(is_file_form(&scene.path("f.data")), "{line}");
    }
}

#[test]
fn emulated_events_are_of_a_pmu_that_no_machine_has() {
    let test = "emulated_events_are_of_a_pmu_that_no_machine_has";
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped {test}: only x86-64 is emulated");
        return;
    }
    let Some(scene) = scene(test) else { return };
    scene.shell("ebs -u --source emulated -t memory_stores -o f.data ./touch 9 >told").success();
    let (_, events) = as_samply_reads(&scene.path("f.data")).unwrap();
    let PerfEventType::DynamicPmu(number, ..) = events[0] else { panic!("{events:?}") };
    assert!(number > BEYOND_THE_KERNEL, "{number}");
    let header = scene.run("perf report --header-only -i f.data").success().out;
    assert!(header.contains(&format!("emulated = {number}")), "{header}");
    // perf prints all that it prints of events of the kernel.
    let lines = scene.run("perf script -i f.data").success().out;
    assert!(lines.lines().all(|line| line.contains(" emulated/memory_stores/: ")), "{lines}");
    assert!(lines.contains("/touch)"), "with addresses and objects: {lines}");
}

#[test]
fn tracepoints_come_with_their_formats() {
    let test = "tracepoints_come_with_their_formats";
    if !rights::root(test) {
        return;
    }
    let Some(scene) = scene(test) else { return };
    let script = "mount -t tracefs nodev /sys/kernel/tracing || exit 99
        ebs -uk -t sched:sched_switch -c all -o f.data sh -c 'sleep 0.01; sleep 0.01'
        echo recorded $?";
    let args = ["--mount", "--propagation", "private", "sh", "-c", script];
    let outcome = Running::start(scene.command("unshare").args(args)).finish();
    if outcome.status.code() == Some(99) {
        eprintln!("skipped {test}: tracefs cannot be mounted: {}", outcome.err);
        return;
    }
    assert!(outcome.out.contains("recorded 0"), "{outcome}");
    let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
    assert!(delivered > 0, "{outcome}");
    assert_eq!(counts(&scene, "f.data"), [usize::try_from(delivered).unwrap(); 3]);
    assert!(is_file_form(&scene.path("f.data")));
}

#[test]
fn what_the_kernel_counted_is_in_the_file() {
    let test = "what_the_kernel_counted_is_in_the_file";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let Some(scene) = scene(test) else { return };
    scene.shell("ebs -u -t page_fault --in-kernel -c all -o f.data ./touch 300 >told").success();
    assert!(is_file_form(&scene.path("f.data")));
    assert_eq!(counts(&scene, "f.data"), [0; 3], "aggregates are no samples");
    let report = scene.run("ebs report f.data").success().out;
    let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
    assert!(report.contains(&format!(": {delivered} hits counted in the kernel")), "{report}");
}

#[test]
fn a_recording_is_read_while_it_is_made_and_after_its_recorder_was_killed() {
    let test = "a_recording_is_read_while_it_is_made_and_after_its_recorder_was_killed";
    let Some(scene) = scene(test) else { return };
    let script = "while read line; do ./touch 300 >told; echo done; done";
    let mut target = Running::start(scene.command("bash").args(["-c", script]));
    let pid = target.pid();
    let mut ebs = scene.start(&format!("ebs -u -t page_fault -c all -o f.data {pid}"));
    let path = scene.path("f.data");
    let found = || as_samply_reads(&path).map_or(0, |(samples, _)| samples);
    // Until it is attached, what it does is not seen.
    let again = |_| {
        target.tell("go");
        target.hear() == "done" && found() >= 300
    };
    ebs.wait_until("it wrote what came", again);
    // More may come between the three.
    let live = counts(&scene, "f.data");
    assert!(live.iter().all(|count| *count >= 300), "{live:?}");
    ebs.signal(Signal::KILL);
    ebs.finish();
    let killed = counts(&scene, "f.data");
    assert!(live.iter().all(|count| *count <= killed[0]), "{live:?} {killed:?}");
    assert_eq!(killed, [killed[0]; 3], "{live:?}");
    assert!(is_file_form(&path));
    let report = scene.run("ebs report f.data").refused(1, &["without its recorder's ledger"]);
    assert!(report.out.contains("the recording has no end"), "{report}");
    let names = scene.run("perf report --stdio -i f.data").success().out;
    assert!(names.contains("of event 'page_fault'"), "{names}");
    target.finish();
}

#[test]
fn a_recording_that_is_interrupted_is_whole() {
    let test = "a_recording_that_is_interrupted_is_whole";
    let Some(scene) = scene(test) else { return };
    for signal in [Signal::INT, Signal::TERM] {
        let mut target = Running::start(scene.command("bash").args(["-c", "read line"]));
        scene.shell("rm -f f.data").success();
        let line = format!("ebs -u -t page_fault -c all -o f.data {}", target.pid());
        let mut ebs = scene.start(&line);
        let written = || fs::metadata(scene.path("f.data")).map_or(0, |file| file.len());
        ebs.wait_until("it wrote what comes first", |_| written() > 0);
        ebs.signal(signal);
        let outcome = ebs.finish();
        target.tell("go");
        target.finish();
        let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
        let delivered = usize::try_from(delivered).unwrap();
        assert_eq!(counts(&scene, "f.data"), [delivered; 3], "{outcome}");
        let header = scene.run("perf report --header-only -i f.data").success().out;
        assert!(header.contains("cmdline : ") && header.contains("page_fault"), "{header}");
    }
}

/// A limit on the size of files is a disk that is full.
#[test]
fn a_file_that_may_grow_no_more_holds_what_fitted() {
    let test = "a_file_that_may_grow_no_more_holds_what_fitted";
    let Some(scene) = scene(test) else { return };
    // Stacks wait a round before they are written, and are booked all the same.
    for callers in ["", "-g --call-graph dwarf", "-g --call-graph dwarf --keep-stacks"] {
        let ebs = format!("ebs -u {callers} -t page_fault -c all -o f.data ./storm 60000");
        let outcome = scene.shell(&format!("ulimit -f 1024; {ebs} || echo $?")).sane();
        assert!(outcome.out.contains("faults 60000"), "the command runs on: {outcome}");
        assert!(outcome.out.ends_with("1\n"), "the loss is a failure: {outcome}");
        assert!(outcome.last_line().contains("sink "), "the loss is counted: {outcome}");
        assert!(outcome.last_line().contains("File too large"), "{outcome}");
        let said = outcome.last_line().trim_start_matches("ebs: ").split(' ').next().unwrap();
        let written: usize = said.parse().unwrap();
        assert!(written > 0, "{outcome}");
        assert_eq!(counts(&scene, "f.data"), [written; 3], "{callers}: {outcome}");
    }
}

#[test]
fn what_is_no_file_gets_the_pipe_form() {
    let test = "what_is_no_file_gets_the_pipe_form";
    let Some(scene) = scene(test) else { return };
    let record = "ebs -u -t page_fault -c all";
    for line in [
        format!(
            "mkfifo fifo; cat fifo >f.data & {record} --format perf -o fifo ./touch 30 >told; wait"
        ),
        format!("{record} --format perf -o - true >f.data"),
        format!("{record} --format perf -o - true | cat >f.data"),
        format!("{record} --format perf -o /dev/stdout true | cat >f.data"),
    ] {
        scene.shell(&line).success();
        assert!(!is_file_form(&scene.path("f.data")), "{line}");
        let report = scene.run("ebs report f.data").success();
        let told = report.out.lines().find(|line| line.starts_with("# recorder: "));
        let told = told.unwrap_or_else(|| panic!("the end is not there: {report}"));
        assert!(told.contains(" lost") && !told.contains("unaccounted"), "{report}");
    }
    scene.shell(&format!("{record} --format perf -o /dev/null true")).success();
    // A file by another name is a file, and made anew.
    scene.write("f.data", vec![1_u8; 1 << 20]);
    scene.shell(&format!("{record} --format perf -o /dev/stdout true >>f.data")).success();
    assert!(is_file_form(&scene.path("f.data")));
    let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
    assert_eq!(counts(&scene, "f.data"), [usize::try_from(delivered).unwrap(); 3]);
}

#[test]
fn the_daemon_s_stream_becomes_a_file_too() {
    let test = "the_daemon_s_stream_becomes_a_file_too";
    if !rights::root(test) {
        return;
    }
    let Some(scene) = scene(test) else { return };
    let ebsd = Ebsd::start(&scene, "");
    let mut command = scene.command("ebs");
    command.args(["-u", "-t", "page_fault", "-c", "all", "-o", "f.data", "--daemon", "--socket"]);
    let outcome =
        Running::start(command.arg(&ebsd.socket).arg(scene.path("storm")).arg("5000")).finish();
    let outcome = outcome.success();
    let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
    assert!(delivered > 0, "{outcome}");
    assert_eq!(counts(&scene, "f.data"), [usize::try_from(delivered).unwrap(); 3], "{outcome}");
    assert!(is_file_form(&scene.path("f.data")));
    ebsd.end();
}

#[test]
fn both_forms_convert_into_each_other() {
    let test = "both_forms_convert_into_each_other";
    let Some(scene) = scene(test) else { return };
    scene.shell("ebs -u -t page_fault -c all -o f.data ./touch 300 >told").success();
    scene.run("ebs convert --pipe f.data pipe.data").success();
    scene.run("ebs convert pipe.data back.data").success();
    scene.run("ebs convert --pipe back.data pipe2.data").success();
    for name in ["pipe.data", "pipe2.data"] {
        assert!(!is_file_form(&scene.path(name)));
        let features = features_in_pipe(&fs::read(scene.path(name)).unwrap());
        let each_once: BTreeSet<_> = features.iter().collect();
        assert!(features.len() > 5 && each_once.len() == features.len(), "{name}: {features:?}");
    }
    let report = |name| scene.run(&format!("ebs report --json {name}")).success().out;
    for name in ["pipe.data", "back.data", "pipe2.data"] {
        assert_eq!(report("f.data"), report(name), "{name}");
    }
}

/// Numbers of features that a stream in pipe form tells.
fn features_in_pipe(stream: &[u8]) -> Vec<u64> {
    let mut found = Vec::new();
    let mut rest = &stream[16..];
    while let Some(header) = rest.get(..8) {
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        // HEADER_FEATURE
        if header[..4] == 80_u32.to_le_bytes() {
            found.push(u64::from_le_bytes(rest[8..16].try_into().unwrap()));
        }
        rest = &rest[size..];
    }
    found
}

/// Loads and the lines that threads take from each other, as the readers of
/// memory events that perf has show them: they open no recording that does
/// not say which nodes of memory there are.
#[test]
fn perfs_readers_of_memory_events_take_it() {
    let test = "perfs_readers_of_memory_events_take_it";
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped {test}: only x86-64 is emulated");
        return;
    }
    if !Path::new("/sys/devices/system/node/node0").exists() {
        eprintln!("skipped {test}: this kernel knows of no nodes of memory");
        return;
    }
    let Some(scene) = scene(test) else { return };
    Workload::Sharing.build(&scene);
    scene
        .shell("ebs -u --source emulated -t memory_loads -i 10 -c all -o f.data ./sharing >told")
        .success();
    let delivered = Account::of_stream(&scene.path("f.data")).count("delivered");
    let mem = scene.run("perf mem -i f.data report --stdio").success();
    assert!(mem.out.contains("# Total Lost Samples: 0"), "{mem}");
    assert!(mem.out.contains("L1 hit"), "{mem}");
    let c2c = scene.run("perf c2c report -i f.data --stdio").success();
    let row = |name: &str| -> u64 {
        let line = c2c.out.lines().find(|line| line.trim_start().starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or_else(|| panic!("{name}: {c2c}"))
    };
    assert_eq!(row("Load Operations"), delivered, "{c2c}");
    assert!(row("Load Local HITM") > 0, "{c2c}");
    assert!(c2c.out.contains("Shared Data Cache Line Table"), "{c2c}");
}
