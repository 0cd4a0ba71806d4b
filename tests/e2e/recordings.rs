use std::{fs, os::unix::process::ExitStatusExt};

use rustix::process::Signal;
use tests::{Scene, Workload, rights};

/// Each way of reading a recording.
const READERS: [&str; 3] =
    ["ebs report f.data", "ebs script f.data", "ebs report --site main --regs f.data"];

#[test]
fn files_that_are_no_recordings_are_refused() {
    let scene = Scene::new();
    let foreign: [(&str, &[u8]); 6] = [
        ("empty", b""),
        ("text", b"# a text\n0 1\n"),
        ("zeros", &[0; 4096]),
        ("elf", b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
        ("magic only", b"PERFILE2"),
        ("header only", b"PERFILE2\x10\0\0\0\0\0\0\0"),
    ];
    for (what, bytes) in foreign {
        scene.write("f.data", bytes);
        for reader in READERS {
            let outcome = scene.run(reader).refused(1, &["f.data"]);
            assert!(outcome.out.is_empty(), "{what}: a table of nothing: {outcome}");
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let scene = Scene::new();
    scene.run("ebs report nowhere.data").refused(1, &["nowhere.data", "No such file"]);
    scene.run("ebs script .").refused(1, &["directory"]);
}

/// Where a record of a file begins, about the middle of it.
fn between_records(file: &[u8]) -> usize {
    // Behind magic, size, size of an attr and the place of attrs.
    let mut offset = usize::try_from(u64::from_le_bytes(file[40..48].try_into().unwrap())).unwrap();
    while offset < file.len() / 2 {
        offset += usize::from(u16::from_le_bytes([file[offset + 6], file[offset + 7]]));
    }
    offset
}

#[test]
fn a_truncated_recording_gives_what_it_holds_and_says_so() {
    if !rights::sampling("a_truncated_recording_gives_what_it_holds_and_says_so") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    scene.run("ebs -u -t page_fault -c all --no-files -o whole.data ./touch 400").success();
    let whole = fs::read(scene.path("whole.data")).unwrap();
    let complete = scene.run("ebs script -F ip whole.data").success().out.lines().count();
    for cut in [1, 7, 100, 1000, whole.len() / 3, whole.len() - between_records(&whole)] {
        scene.write("f.data", &whole[..whole.len() - cut]);
        for reader in ["ebs script -F ip f.data", "ebs report f.data"] {
            let outcome = scene.run(reader).sane();
            assert_eq!(outcome.code(), 1, "{cut} bytes are missing: {outcome}");
            let said = ["truncated", "cut", "ends", "incomplete"];
            assert!(
                said.iter().any(|word| outcome.err.contains(word)),
                "{cut} bytes are missing and nobody says so: {outcome}"
            );
            assert!(outcome.out.lines().count() <= complete, "{outcome}");
        }
    }
    // The samples lie before the last third.
    scene.write("f.data", &whole[..whole.len() - whole.len() / 3]);
    let held = scene.run("ebs script -F ip f.data").out.lines().count();
    assert!(held > 0 && held < complete, "{held} of {complete} records");
}

#[test]
fn a_recording_whose_recorder_was_killed_says_so() {
    if !rights::sampling("a_recording_whose_recorder_was_killed_says_so") {
        return;
    }
    let scene = Scene::new();
    let target = scene.start("sleep 60");
    let mut ebs = scene.start(&format!("ebs -u -t page_fault -c all -o f.data {}", target.pid()));
    let written = || fs::metadata(scene.path("f.data")).map_or(0, |file| file.len());
    ebs.wait_until("it wrote the preamble", |_| written() > 0);
    ebs.signal(Signal::KILL);
    assert_eq!(ebs.finish().status.signal(), Some(Signal::KILL.as_raw()));
    target.signal(Signal::KILL);
    target.finish();
    scene.run("ebs script f.data").refused(1, &["ends without its recorder's ledger"]);
    for reader in ["ebs report f.data", "ebs report --json f.data"] {
        let report = scene.run(reader).refused(1, &["ends without its recorder's ledger"]);
        assert!(report.out.contains("the recording has no end"), "{report}");
    }
}

#[test]
fn a_damaged_recording_never_panics() {
    if !rights::sampling("a_damaged_recording_never_panics") {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    scene.run("ebs -u -t page_fault -c all -o whole.data ./list 50").success();
    let whole = fs::read(scene.path("whole.data")).unwrap();
    // Every place of the front, where the sizes and the attr are, then some.
    let places = (0..256).step_by(4).chain((256..whole.len()).step_by(whole.len() / 60));
    for place in places {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        scene.write("f.data", &damaged);
        let outcome = scene.run("ebs report f.data").sane();
        assert!([0, 1].contains(&outcome.code()), "byte {place}: {outcome}");
        let silent = outcome.code() == 1 && outcome.err.trim().is_empty();
        assert!(!silent, "byte {place}: refused without a word");
    }
}

#[test]
fn perf_recordings_are_read_too() {
    let test = "perf_recordings_are_read_too";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    scene
        .shell("perf record -q -e page-faults -c 1 -d -o - bash -c './touch 300 >told' > f.data")
        .success();
    let ours = scene.run("ebs script -F ip,addr f.data").success().out;
    let theirs = scene.run("perf script -F ip,addr -i f.data").success().out;
    let sorted = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let mut lines: Vec<String> =
            lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        lines.sort();
        lines
    };
    let (ours, theirs) = (sorted(&ours), sorted(&theirs));
    assert!(theirs.len() > 300);
    let missing = |from: &[String], in_other: &[String]| -> Vec<String> {
        from.iter().filter(|line| !in_other.contains(line)).cloned().collect()
    };
    let (only_theirs, only_ours) = (missing(&theirs, &ours), missing(&ours, &theirs));
    assert!(only_theirs.is_empty() && only_ours.is_empty(), "{only_theirs:?} {only_ours:?}");
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn fields_that_were_not_recorded_are_said_once() {
    if !rights::sampling("fields_that_were_not_recorded_are_said_once") {
        return;
    }
    let scene = Scene::new();
    Workload::Touch.build(&scene);
    scene.run("ebs -u -t page_fault -c all -o f.data ./touch 300").success();
    let asked = scene.run("ebs script -F ip,weight,addr,data_src f.data").success();
    assert_eq!(asked.err, "ebs: page_fault was recorded without data_src, weight\n", "{asked}");
    for line in ["ebs script -F ip,addr,iregs f.data", "ebs script f.data"] {
        let silent = scene.run(line).success();
        assert_eq!(silent.err, "", "{silent}");
    }
}

#[test]
fn a_named_list_of_symbols_must_be_one() {
    let scene = Scene::new();
    scene.write("f.data", "");
    scene.write("garbage", [0xff_u8; 300]);
    scene.write("nothing", "");
    scene.write("data-only", "ffffffff81000000 D data\n");
    for list in ["garbage", "nothing", "data-only", "missing"] {
        for reader in ["report", "script"] {
            let outcome = scene.run(&format!("ebs {reader} -s {list} f.data"));
            let outcome = outcome.refused(1, &[list]);
            assert!(outcome.out.is_empty(), "{outcome}");
        }
    }
}

/// The head of a list of another kernel, 2 MiB from where ours can lie.
const FOREIGN: &str = "ffffffff71200000 T _text\nffffffff71200000 T startup_64\n\
                       ffffffff71200100 T other_start\nffffffff71fffff0 T _etext\n\
                       ffffffff72000000 B _end\n";

#[test]
fn a_system_map_that_is_a_stub_is_recognised() {
    let scene = Scene::new();
    scene.write("eips", "ffffffff81000010\n");
    scene.write(
        "System.map-stub",
        "ffffffffffffffff B The real System.map is in the linux-image-<version>-dbg package\n",
    );
    let stub = scene.run("eip2r -s System.map-stub eips");
    stub.refused(1, &["System.map-stub", "The real System.map"]);
}

#[test]
fn a_system_map_of_another_kernel_is_found_out() {
    let scene = Scene::new();
    scene.write("eips", "ffffffff71200110\n");
    scene.write("System.map-other", FOREIGN);
    let outcome = scene.run("eip2r -s System.map-other eips");
    let outcome = outcome.refused(1, &["System.map-other", "kernel"]);
    assert!(!outcome.out.contains("other_start"), "{outcome}");

    if !rights::sampling("a_system_map_of_another_kernel_is_found_out") {
        return;
    }
    scene
        .shell("ebs -k -t page_fault -c all -o f.data bash -c 'ls -lR /usr/include | tail -1'")
        .success();
    for reader in ["report", "script"] {
        let outcome = scene.run(&format!("ebs {reader} -s System.map-other f.data")).sane();
        let names = ["other_start", "startup_64", "_text"];
        let wrong = names.iter().find(|&&name| outcome.out.contains(name));
        assert!(wrong.is_none(), "a name of another kernel: {outcome}");
        if reader == "report" {
            assert!(outcome.code() == 1 || outcome.out.contains("[other-kernel]"), "{outcome}");
            let text = format!("{}{}", outcome.out, outcome.err);
            assert!(text.contains("System.map-other"), "nobody says so: {outcome}");
        }
    }
}

#[test]
fn lines_that_are_no_addresses_are_told_by_number() {
    let scene = Scene::new();
    scene.write("System.map", FOREIGN);
    scene.write("eips", "ffffffff71200110\nnot-a-number\n\n123456789012345678901234567890\n");
    let outcome = scene.run("eip2r --kaslr-offset 0 -s System.map eips").sane();
    let lines: Vec<_> = outcome.out.lines().collect();
    assert_eq!(lines.len(), 4, "a line out for each line in: {outcome}");
    assert!(lines[0].contains("other_start"), "the good lines are answered: {outcome}");
    assert!(outcome.code() != 0, "{outcome}");
    for said in ["2 lines", "line 2", "not-a-number"] {
        assert!(outcome.err.contains(said), "{said} is not said: {outcome}");
    }
}

#[test]
fn system_map_files_that_are_none_are_refused() {
    let scene = Scene::new();
    scene.write("eips", "ffffffff81000110\n");
    scene.write("garbage", [0xff_u8; 300]);
    scene.write("nothing", "");
    for file in ["garbage", "nothing", "missing"] {
        scene.run(&format!("eip2r -s {file} eips")).refused(1, &[file]);
    }
}
