//! Names that outlive the files and processes that they come from: what a
//! recording carries.

use std::{fs, path::Path, process::Command};

use tests::{Ebsd, Outcome, Running, Scene, Workload, rights, workload};

use crate::containers::{PAGES, assert_named, contained, may_contain};

/// `tests/programs/callers.c`, built in the scene.
fn build(scene: &Scene, options: &[&str]) {
    let compiled = Command::new("gcc")
        .args(["-O2", "-g", "-w", "-o"])
        .arg(scene.path("callers"))
        .arg(workload::sources().join("callers.c"))
        .args(options)
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// Names of all kinds: of routines, lines, callers, objects.
const REPORT: &str = "ebs report --top 1000 --by routine,srcline,caller,object";

fn report(scene: &Scene, file: &str) -> String {
    scene.run(&format!("{REPORT} {file}")).success().out
}

/// The members of the archive at a recording's end, as another program reads
/// them.
fn members(scene: &Scene, file: &str) -> Vec<String> {
    let script = format!(
        "import sys, zipfile\nfor name in zipfile.ZipFile({:?}).namelist(): print(name)",
        scene.path(file)
    );
    scene.write("members.py", script);
    let listed = scene.run("python3 members.py").success();
    listed.out.lines().map(str::to_owned).collect()
}

#[test]
fn a_program_that_was_deleted_or_built_anew_keeps_its_names() {
    let test = "a_program_that_was_deleted_or_built_anew_keeps_its_names";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    scene.run("ebs -u -g -t page_fault -o r.data ./callers").success();
    let there = report(&scene, "r.data");
    for name in ["touch", "callers.c:", "after_jump"] {
        assert!(there.contains(name), "{name}: {there}");
    }
    fs::remove_file(scene.path("callers")).unwrap();
    assert_eq!(report(&scene, "r.data"), there, "deleted");
    build(&scene, &["-O0", "-static"]);
    assert_eq!(report(&scene, "r.data"), there, "another in its place");

    build(&scene, &[]);
    scene.run("ebs -u -g -t page_fault --no-files -o bare.data ./callers").success();
    fs::remove_file(scene.path("callers")).unwrap();
    let bare = report(&scene, "bare.data");
    assert!(bare.contains("[file-gone]") && !bare.contains("after_jump"), "{bare}");
}

/// It has no build id, so only its number tells it from others.
#[test]
fn a_program_without_a_build_id_keeps_its_names() {
    let test = "a_program_without_a_build_id_keeps_its_names";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &["-Wl,--build-id=none"]);
    scene.run("ebs -u -g -t page_fault -o r.data ./callers").success();
    let there = report(&scene, "r.data");
    assert!(there.contains("after_jump"), "{there}");
    build(&scene, &["-Wl,--build-id=none", "-O0"]);
    assert_eq!(report(&scene, "r.data"), there);
}

#[test]
fn an_emulated_program_that_was_deleted_keeps_its_names() {
    let scene = Scene::new();
    build(&scene, &[]);
    scene.run("ebs --source emulated -u -g -t l1_cache_miss -i =1 -o r.data ./callers").success();
    let there = report(&scene, "r.data");
    assert!(there.contains("after_jump"), "{there}");
    fs::remove_file(scene.path("callers")).unwrap();
    assert_eq!(report(&scene, "r.data"), there);
}

fn of_a_container(scene: &Scene, served: &[&str]) -> Outcome {
    let program = Workload::Maker.build(scene);
    let mut command = scene.command("ebs");
    command.args(["-u", "-t", "page_fault", "-i", "1", "-o", "c.data"]).args(served).arg("--");
    command.args(contained(&program, &PAGES.to_string()));
    let outcome = Running::start(&mut command).finish().success();
    let members = members(scene, "c.data");
    for member in ["mnt/only-inside", "tmp/perf-1.map"] {
        assert!(members.iter().any(|one| one == member), "{member}: {members:?}");
    }
    outcome
}

#[test]
fn a_recorded_container_that_is_gone_keeps_its_names() {
    let test = "a_recorded_container_that_is_gone_keeps_its_names";
    if !may_contain(test) {
        return;
    }
    let scene = Scene::new();
    of_a_container(&scene, &[]);
    let report = scene.run("ebs report --by routine,object c.data").success();
    assert_named(&report);
    let copied = scene.path("nowhere");
    fs::create_dir(&copied).unwrap();
    let elsewhere = scene.run("ebs report --by routine,object --root nowhere c.data").success();
    assert_named(&elsewhere);
}

#[test]
fn a_container_that_the_daemon_recorded_keeps_its_names() {
    let test = "a_container_that_the_daemon_recorded_keeps_its_names";
    if !may_contain(test) {
        return;
    }
    let scene = Scene::new();
    let ebsd = Ebsd::start(&scene, "");
    let socket = ebsd.socket.to_str().unwrap().to_owned();
    let outcome = of_a_container(&scene, &["--socket", &socket]);
    assert!(outcome.last_line().contains("by the daemon"), "{outcome}");
    ebsd.end();
    assert_named(&scene.run("ebs report --by routine,object c.data").success());
}

/// On a machine without any of the files: nothing is read but the recording.
#[test]
fn an_archive_has_all_names_on_a_machine_without_the_files() {
    let test = "an_archive_has_all_names_on_a_machine_without_the_files";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    fs::create_dir(scene.path("nowhere")).unwrap();
    let recorders = [
        ("ours.data", "ebs -u -g -t page_fault -o ours.data ./callers"),
        (
            "perf.data",
            "perf record -q -e page-faults:u -c 1 --call-graph dwarf -o perf.data ./callers",
        ),
    ];
    for (file, recorder) in recorders {
        if file == "perf.data" && !rights::perf(test) {
            continue;
        }
        scene.run(recorder).success();
        let there = report(&scene, file);
        let kept = scene.path(file);
        let before = fs::read(&kept).unwrap();
        scene.run(&format!("ebs archive {file} -o all-{file}")).success();
        assert_eq!(fs::read(&kept).unwrap(), before, "another file was named");
        let told = scene.run(&format!("ebs archive {file}")).success();
        assert!(told.err.contains("reports on it need no others"), "{told}");
        assert_eq!(members(&scene, file), members(&scene, &format!("all-{file}")));
        // Once more: it carries what it carried.
        scene.run(&format!("ebs archive {file} -o again.data --root nowhere")).success();
        fs::rename(scene.path("callers"), scene.path("aside")).unwrap();
        for archive in [file, &format!("all-{file}"), "again.data"] {
            let elsewhere = report(&scene, &format!("--root nowhere {archive}"));
            assert_eq!(elsewhere, there, "{archive}");
        }
        let lines = "ebs script -F ip,sym,dso,srcline --root nowhere";
        let lines = scene.run(&format!("{lines} {file}")).success();
        assert!(lines.out.contains("callers.c:"), "{lines}");
        fs::rename(scene.path("aside"), scene.path("callers")).unwrap();
        let same = scene.run(&format!("perf report --stdio -i {file}"));
        assert_eq!(same.code(), 0, "perf passes over what is carried: {same}");
    }
}

#[test]
fn what_cannot_be_archived_is_left_as_it_was() {
    let test = "what_cannot_be_archived_is_left_as_it_was";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene, &[]);
    scene.run("ebs -u -t page_fault -o r.data ./callers").success();
    scene.write("text", "no recording\n");
    for (file, said) in [("text", "text"), ("absent", "absent"), (".", "directory")] {
        scene.run(&format!("ebs archive {file}")).refused(1, &[said]);
    }
    assert_eq!(scene.read("text"), "no recording\n");
    let into_pipe = scene.shell("ebs archive r.data -o /dev/full");
    into_pipe.refused(1, &["/dev/full"]);
    let piped = scene.shell("cat r.data | ebs archive -");
    piped.refused(1, &["name a file"]);
    let whole = fs::read(scene.path("r.data")).unwrap();
    scene.write("cut.data", &whole[..whole.len() - 10]);
    scene.run("ebs archive cut.data").refused(1, &["left as it is", "-o OUT"]);
    assert_eq!(fs::read(scene.path("cut.data")).unwrap(), whole[..whole.len() - 10]);
    scene.run("ebs archive cut.data -o mended.data").refused(1, &["could not be read"]);
    scene.run("ebs report mended.data").success();
    let small = scene.run("ebs archive r.data -o small.data --max-size 0").success();
    assert!(!small.err.contains("need no others"), "{small}");
    assert!(small.err.contains("--max-size"), "{small}");
    let anonymous = scene.run("ebs convert --anonymise r.data anonymous.data").success();
    assert!(anonymous.err.contains("the files that it carries"), "{anonymous}");
    assert!(!contains(&scene.path("anonymous.data"), b"callers"));
    let piped = scene.run("ebs convert --pipe r.data pipe.data").success();
    assert!(piped.err.contains("left out: the files that it carries"), "{piped}");
}

fn contains(file: &Path, text: &[u8]) -> bool {
    fs::read(file).unwrap().windows(text.len()).any(|some| some == text)
}
