//! Our recordings, as `ebs` writes them and converted, in every view of perf.

use rustix::process::Signal;
use std::fs;
use tests::{Outcome, Scene, Workload, rights};

/// Faults, clocks, and something to switch to.
const BUSY: &str = "bash -c 'for i in 1 2 3 4 5 6 7 8; do ./touch 300 >told; sleep 0.01; done'";

/// Each view of perf, and whether it wants samples.
const VIEWS: [(&str, bool); 5] = [
    ("perf script", false),
    ("perf evlist -v", false),
    ("perf buildid-list", false),
    ("perf report --stdio", true),
    ("perf script --header-only", false),
];

fn recording(test: &str) -> Option<Scene> {
    (rights::sampling(test) && rights::perf(test)).then(|| {
        let scene = Scene::new();
        Workload::Touch.build(&scene);
        scene
    })
}

/// Samples that `ebs` says it recorded.
fn recorded(outcome: &Outcome) -> usize {
    let words = outcome.last_line().trim_start_matches("ebs: ");
    words.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_else(|| {
        panic!("the last line does not start with a number: {outcome}");
    })
}

/// perf reads a file without complaint and finds all samples.
fn perf_agrees(scene: &Scene, file: &str, samples: usize) {
    for (view, wants_samples) in VIEWS {
        if samples > 0 || !wants_samples {
            let seen = scene.run(&format!("{view} -i {file}")).success();
            assert_eq!(seen.err, "", "{seen}");
        }
    }
    let lines = scene.run(&format!("perf script -F ip,time -i {file}")).success();
    assert_eq!(lines.out.lines().count(), samples, "{file}");
    let ours = scene.run(&format!("ebs script --all-samples -F ip,time {file}")).success();
    let words = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(words(&ours.out), words(&lines.out), "{file}");
}

#[test]
fn recordings_of_every_software_type_open_in_perf() {
    let Some(scene) = recording("recordings_of_every_software_type_open_in_perf") else { return };
    let types = [
        ("page_fault", 2400),
        ("minor_fault", 2400),
        ("major_fault", 0),
        ("cpu_clock", 1),
        ("task_clock", 1),
        ("context_switch", 16),
        ("cpu_migration", 0),
        ("alignment_fault", 0),
        ("emulation_fault", 0),
    ];
    for (kind, least) in types {
        let first = format!("{kind}.data");
        let outcome = scene.shell(&format!("ebs -uk -t {kind} -c all -o {first} {BUSY}")).success();
        let samples = recorded(&outcome);
        assert!(samples >= least, "{samples} of {kind}");
        perf_agrees(&scene, &first, samples);
        let pipe = format!("{kind}.pipe.data");
        scene.run(&format!("ebs convert --pipe {first} {pipe}")).success();
        perf_agrees(&scene, &pipe, samples);
        let file = format!("{kind}.file.data");
        let said = scene.run(&format!("ebs convert {pipe} {file}")).success().err;
        assert!(said.contains("file form, "), "{said}");
        assert!(
            said.trim_end().ends_with(&format!(" records, {samples} of them samples")),
            "{said}"
        );
        perf_agrees(&scene, &file, samples);
        let reports = [first, pipe, file]
            .map(|name| scene.run(&format!("ebs report --json {name}")).success().out);
        assert_eq!(reports[0], reports[1], "the ledger and the promises are kept");
        assert_eq!(reports[0], reports[2], "the ledger and the promises are kept");
    }
}

#[test]
fn a_recording_of_the_whole_system_opens_in_perf() {
    let test = "a_recording_of_the_whole_system_opens_in_perf";
    if !rights::root(test) {
        return;
    }
    let Some(scene) = recording(test) else { return };
    let mut ebs = scene.start("ebs -uk -t page_fault -c all -o system.data");
    let written = || fs::metadata(scene.path("system.data")).map_or(0, |file| file.len());
    ebs.wait_until("it wrote the preamble", |_| written() > 0);
    scene.shell("for i in 1 2 3; do ./touch 300 >told; done").success();
    ebs.signal(Signal::INT);
    let outcome = ebs.finish().success();
    perf_agrees(&scene, "system.data", recorded(&outcome));
    scene.run("ebs convert system.data system.file.data").success();
    perf_agrees(&scene, "system.file.data", recorded(&outcome));
    // It has neither weights nor levels; in a pipe perf shows what there is.
    scene.run("ebs convert --pipe system.data system.pipe.data").success();
    let seen = scene.run("perf mem report --stdio -i system.pipe.data").success();
    assert_eq!(seen.err, "", "{seen}");
}

#[test]
fn a_pipe_of_commands_converts() {
    let Some(scene) = recording("a_pipe_of_commands_converts") else { return };
    scene
        .shell(
            "ebs -u -t page_fault -c all --format perf -o - bash -c './touch 300 >told' \
             | tee kept.data | ebs convert - out.data && ebs convert out.data - > back.data",
        )
        .success();
    let reports = ["kept.data", "out.data", "back.data"]
        .map(|name| scene.run(&format!("ebs report --json {name}")).success().out);
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    let left: Vec<_> = fs::read_dir(scene.path(".")).unwrap().flatten().collect();
    assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with('.')));
}

#[test]
fn what_perf_recorded_converts() {
    let Some(scene) = recording("what_perf_recorded_converts") else { return };
    scene
        .shell(
            "perf record -q -e page-faults,context-switches -c 1 -d -z -g -o in.data \
             bash -c './touch 300 >told'",
        )
        .success();
    scene.run("ebs convert in.data out.data").success();
    scene.run("ebs convert --pipe in.data pipe.data").success();
    let report = "--stdio -q --no-children -g none";
    let views = ["script".to_owned(), format!("report {report}"), format!("mem report {report}")];
    for view in views {
        let [theirs, file, pipe] = ["in.data", "out.data", "pipe.data"].map(|name| {
            let seen = scene.run(&format!("perf {view} -i {name}")).success();
            assert_eq!(seen.err, "", "{seen}");
            seen.out
        });
        assert!(theirs.lines().count() > 3, "{view}: {theirs}");
        assert!(theirs == file, "{view} of a file");
        // perf's reports of a pipe have other columns.
        assert!(view != "script" || theirs == pipe, "{view} of a pipe");
    }
}
