//! Callers that the kernel counts with their sites, beside a ring that samples
//! the same hits, and beside what the program says.

use std::{collections::BTreeMap, process::Command};

use serde_json::Value;
use tests::{Ebsd, Running, Scene, User, rights, workload};

use super::whole;

/// `tests/programs/two_callers.c`, with frame pointers.
fn build(scene: &Scene) {
    let source = workload::sources().join("two_callers.c");
    let options = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o"];
    let compiled = Command::new("gcc")
        .args(options)
        .arg(scene.path("two_callers"))
        .arg(source)
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// A session on a process, once it writes.
fn attached(scene: &Scene, recording: &str, options: &str) -> Running {
    let mut ebs =
        scene.start(&format!("ebs --call-graph fp -t page_fault -i 1 -o {recording} {options}"));
    let path = scene.path(recording);
    ebs.wait_until("it attached", |_| std::fs::metadata(&path).is_ok_and(|file| file.len() > 0));
    ebs
}

/// `ring.data` and `counted.data` of the same hits.
fn both(scene: &Scene, modes: &str) {
    let mut target = scene.start("./two_callers");
    assert_eq!(target.hear(), "ready");
    let pid = target.pid();
    let ring = attached(scene, "ring.data", &format!("{modes} --ring 16384 {pid}"));
    let counted = attached(scene, "counted.data", &format!("{modes} --in-kernel {pid}"));
    target.tell("go");
    target.finish().success();
    ring.finish().success();
    let counted = counted.finish().success();
    let said = "counted in the kernel, callers by frame pointers";
    assert!(counted.last_line().contains(said), "{counted}");
    let (ring, counted) = (whole(scene, "ring.data"), whole(scene, "counted.data"));
    assert_eq!(ring.count("kernel"), counted.count("kernel"));
}

fn report(scene: &Scene, view: &str, recording: &str) -> Value {
    let told = scene.run(&format!("ebs report --json {view} {recording}")).success();
    serde_json::from_str(&told.out).expect("JSON")
}

/// Counts of a table's rows, without what only one kind of recording tells.
fn rows(scene: &Scene, view: &str, recording: &str) -> BTreeMap<String, u64> {
    let report = report(scene, view, recording);
    let keys = report["query"]["by"].as_array().unwrap();
    let row = |row: &Value| {
        let own = ["period", "self"].into_iter().map(|key| &row[key]);
        let cells = keys.iter().map(|key| &row[key.as_str().unwrap()]).chain(own);
        (format!("{:?}", cells.collect::<Vec<_>>()), row["count"].as_u64().unwrap())
    };
    report["events"][0]["rows"].as_array().expect("rows").iter().map(row).collect()
}

/// Lines of a view that are no headings, in any order.
fn lines(scene: &Scene, view: &str, recording: &str) -> Vec<String> {
    let told = scene.run(&format!("ebs report {view} {recording}")).success();
    let lines = told.out.lines().filter(|line| !line.starts_with('#'));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// The samples of chains that end so.
fn ends(scene: &Scene, options: &str, recording: &str, end: &str) -> u64 {
    let told = scene.run(&format!("ebs report --folded {options} {recording}")).success();
    let lines = told.out.lines().filter_map(|line| line.rsplit_once(' '));
    let lines = lines.filter(|(chain, _)| chain.ends_with(end));
    lines.map(|(_, count)| count.parse::<u64>().unwrap()).sum()
}

/// Whatever a report may be asked about callers gives the same of both.
#[track_caller]
fn assert_alike(scene: &Scene) {
    for view in [
        "--by caller",
        "--by routine,caller",
        "--by comm,pid,site",
        "--callers touch",
        "--callees main",
        "--outside touch,libc* --by routine",
        "--children",
        "--filter frame=second --by routine",
        "--filter frame!=second --by site",
    ] {
        let (ring, counted) = (rows(scene, view, "ring.data"), rows(scene, view, "counted.data"));
        assert_eq!(counted, ring, "{view}");
        assert!(!ring.is_empty(), "{view}");
    }
    for view in [
        "--folded",
        "--folded --callers touch",
        "--folded --outside touch,libc*",
        "--folded --filter frame=second",
        "--tree",
        "--tree=callers",
    ] {
        let (ring, counted) = (lines(scene, view, "ring.data"), lines(scene, view, "counted.data"));
        assert_eq!(counted, ring, "{view}");
        assert!(!ring.is_empty(), "{view}");
    }
}

#[test]
fn counts_by_callers_are_those_of_samples_and_of_the_program() {
    let test = "counts_by_callers_are_those_of_samples_and_of_the_program";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    both(&scene, "-u");
    for recording in ["ring.data", "counted.data"] {
        assert_eq!(ends(&scene, "", recording, "main;first;touch"), 300, "{recording}");
        assert_eq!(ends(&scene, "", recording, "main;second;touch"), 700, "{recording}");
        assert_eq!(ends(&scene, "--outside touch", recording, "main;second"), 700, "{recording}");
    }
    assert_alike(&scene);
    let table = scene.run("ebs report --by routine,caller counted.data").success();
    assert!(table.out.contains(", by process, by callers (frame pointers): "), "{table}");
    let annotated = scene.run("ebs annotate --filter frame=first touch counted.data").success();
    assert!(annotated.out.contains(": 300 of 300 hits (100.00%)\n"), "{annotated}");
    // Who is given it has the callers without their names.
    scene.run("ebs convert --anonymise counted.data given.data").success();
    let given = lines(&scene, "--folded", "given.data");
    let deep = given.iter().filter(|line| line.matches(';').count() > 3);
    let counts = deep.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
    assert!(counts.sum::<u64>() >= 1000, "{given:?}");
}

#[test]
fn frames_of_the_kernel_are_counted_before_those_of_the_program() {
    let test = "frames_of_the_kernel_are_counted_before_those_of_the_program";
    if !(rights::root(test) && rights::programs_in_kernel(test)) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    both(&scene, "-uk");
    assert_alike(&scene);
    let of_kernel = "--filter frame=by_kernel --filter mode=kernel --by routine";
    let by_kernel = rows(&scene, of_kernel, "counted.data");
    assert!(by_kernel.values().sum::<u64>() >= 64, "{by_kernel:?}");
}

#[test]
fn without_frame_pointers_it_is_said_what_may_be_missing() {
    let test = "without_frame_pointers_it_is_said_what_may_be_missing";
    if !rights::programs_in_kernel(test) {
        return;
    }
    let scene = Scene::new();
    let said = scene.run("ebs -u -g -t page_fault --in-kernel /bin/true").success();
    assert!(said.err.contains("--call-graph fp: in the kernel they are found by"), "{said}");
    let refused = scene.run("ebs -u --call-graph dwarf -t page_fault --in-kernel /bin/true");
    refused.refused(2, &["by frame pointers alone, not by dwarf,8192", "say --call-graph fp"]);
    scene.run("ebs -u -t page_fault --in-kernel -o bare.data /bin/true").success();
    let refused = scene.run("ebs report --by caller bare.data");
    refused.refused(1, &["record with -g"]);
}

#[test]
fn a_user_without_the_kernel_has_no_frame_of_it_from_the_daemon() {
    let test = "a_user_without_the_kernel_has_no_frame_of_it_from_the_daemon";
    if !(rights::root(test) && rights::programs_in_kernel(test)) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    scene.open_commands();
    let ebsd = Ebsd::start(&scene, "");
    std::fs::create_dir(scene.path("out")).unwrap();
    std::os::unix::fs::chown(scene.path("out"), Some(4002), None).unwrap();
    let mut target =
        Running::start(&mut User::new(4002).command(&scene, scene.path("two_callers")));
    assert_eq!(target.hear(), "ready");
    let mut command = User::new(4002).command(&scene, scene.path("bin/ebs"));
    command.args(["-u", "--call-graph", "fp", "-t", "page_fault", "-i", "1", "--in-kernel"]);
    command.args(["--no-rings", "--daemon", "-o", "out/c.data", "--socket"]).arg(&ebsd.socket);
    let mut ebs = Running::start(command.arg(target.pid().to_string()));
    let path = scene.path("out/c.data");
    ebs.wait_until("it attached", |_| std::fs::metadata(&path).is_ok_and(|file| file.len() > 0));
    target.tell("go");
    target.finish().success();
    let told = ebs.finish().success();
    assert!(told.last_line().contains("counted in the kernel, callers by frame"), "{told}");
    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    assert_eq!(ends(&scene, "", "out/c.data", "main;first;touch"), 300);
    assert_eq!(ends(&scene, "", "out/c.data", "main;second;touch"), 700);
    let stacks = report(&scene, "--by stack", "out/c.data");
    let frames = stacks["frames"].as_array().expect("frames").iter();
    let of_kernel = |frame: &&Value| frame["object"].as_str().is_some_and(|it| it == "[kernel]");
    assert_eq!(frames.filter(of_kernel).count(), 0, "{stacks}");
    ebsd.end();
}
