use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::Value;
use tests::{Ebsd, Outcome, Running, Scene, Workload, rights, running::has_attached};

pub(crate) const PAGES: u64 = 2000;

/// A script that makes namespaces of its own for mounts and processes, with
/// the program in a file system that nobody outside sees and a /tmp of its
/// own, and becomes the program there.
pub(crate) fn contained(program: &std::path::Path, arguments: &str) -> Vec<String> {
    let inside = format!(
        "mount -t tmpfs none /mnt && cp {} /mnt/only-inside && mkdir /mnt/tmp && \
         mount --bind /mnt/tmp /tmp && exec /mnt/only-inside {arguments}",
        program.display()
    );
    let words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &inside];
    words.map(str::to_owned).to_vec()
}

/// Whether containers can be made here; says so when not.
pub(crate) fn may_contain(test: &str) -> bool {
    rights::sampling(test) && rights::root(test) && rights::program(test, "unshare") && {
        let script = "mount -t tmpfs none /mnt";
        let words = ["--mount", "--pid", "--fork", "sh", "-c", script];
        let made = std::process::Command::new("unshare").args(words).status();
        let may = made.is_ok_and(|status| status.success());
        if !may {
            eprintln!("{test}: skipped: no mount and pid namespaces can be made here");
        }
        may
    }
}

/// A contained program that waits, and its number outside.
struct Contained {
    running: Running,
    pid: u32,
}

fn start(scene: &Scene, program: &std::path::Path) -> Contained {
    let words = contained(program, &format!("{PAGES} wait"));
    let mut running = Running::start(scene.command(&words[0]).args(&words[1..]));
    assert_eq!(running.hear(), "ready");
    let outer = running.pid();
    let children = fs::read_to_string(format!("/proc/{outer}/task/{outer}/children")).unwrap();
    let pid = children.trim().parse().unwrap();
    assert!(!PathBuf::from("/mnt/only-inside").exists(), "it exists only inside");
    assert!(PathBuf::from(format!("/proc/{pid}/root/tmp/perf-1.map")).exists());
    Contained { running, pid }
}

/// Both routines, each with most of its faults: the first touch of a page
/// table may come with one of the program's own.
#[track_caller]
pub(crate) fn assert_named(outcome: &Outcome) {
    for (routine, object) in [("built_in", "/mnt/only-inside"), ("made_here", "//anon")] {
        let is_it = |line: &&str| line.contains(routine) && line.contains(object);
        let rows = outcome.out.lines().filter(is_it);
        let count = |row: &str| row.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        let total: u64 = rows.map(count).sum();
        assert!(total >= PAGES * 9 / 10, "{routine}: {total} of {PAGES}: {outcome}");
    }
}

#[test]
fn a_program_that_exists_only_inside_is_named_while_it_lives() {
    let test = "a_program_that_exists_only_inside_is_named_while_it_lives";
    if !may_contain(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Maker.build(&scene);
    let mut inside = start(&scene, &program);
    let mut ebs = scene.start(&format!("ebs -u -t page_fault -i 1 -c all {}", inside.pid));
    ebs.wait_until("it attached", |pid| has_attached(pid, inside.pid));
    thread::sleep(Duration::from_millis(200));
    inside.running.tell("go");
    assert_eq!(inside.running.hear(), "done");
    ebs.signal(Signal::INT);
    assert_named(&ebs.finish().sane());
}

#[test]
fn a_contained_command_is_named_after_it_ended() {
    let test = "a_contained_command_is_named_after_it_ended";
    if !may_contain(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Maker.build(&scene);
    let mut words =
        ["-u", "-t", "page_fault", "-i", "1", "-c", "all", "--"].map(str::to_owned).to_vec();
    words.extend(contained(&program, &PAGES.to_string()));
    assert_named(&Running::start(scene.command("ebs").args(&words)).finish().success());
}

#[test]
fn a_standing_session_of_a_contained_service_is_named() {
    let test = "a_standing_session_of_a_contained_service_is_named";
    if !may_contain(test) {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Maker.build(&scene);
    let mut inside = start(&scene, &program);
    scene.write("web.pid", inside.pid.to_string());
    let config = format!(
        "[store]\ndirectory = {:?}\nkeep_free = \"1 MiB\"\n\
         [[standing]]\nname = \"web\"\ntype = \"page_fault\"\ninterval = 1\n\
         target = {{ pid_file = {:?} }}\n",
        scene.path("store"),
        scene.path("web.pid"),
    );
    let ebsd = Ebsd::start(&scene, &config);
    let ask = |line: &str| {
        let mut command = scene.command("ebs");
        command.args(line.split(' ')).arg("--socket").arg(&ebsd.socket);
        Running::start(&mut command).finish()
    };
    let until = Instant::now() + Duration::from_secs(120);
    while !ask("sessions").out.contains("standing: running") {
        assert!(Instant::now() < until, "never sampled: {}", ask("sessions"));
        thread::sleep(Duration::from_millis(100));
    }
    inside.running.tell("go");
    assert_eq!(inside.running.hear(), "done");
    // What is read while it is sampled holds what the rings have given by
    // then, of one CPU more than of another: wait for the whole account.
    let all_there = || {
        let report = ask("report --daemon web --json").success();
        let report: Value = serde_json::from_str(&report.out).unwrap();
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let losses = &report["losses"];
        number(&report["events"][0]["totals"]["samples"])
            + number(&losses["lost"])
            + number(&losses["lost_samples"])
            >= 2 * PAGES
    };
    while !all_there() {
        let so_far = ask("report --daemon web");
        assert!(Instant::now() < until, "neither recorded nor told as lost: {so_far}");
        thread::sleep(Duration::from_millis(200));
    }
    let report = || ask("report --daemon web --by routine,object");
    assert_named(&report().success());
    ebsd.end();
}

/// Samples the program in our own namespaces, and prepares the map that it
/// wrote before the table is made.
fn with_map(scene: &Scene, prepare: impl FnOnce(&std::path::Path)) -> Outcome {
    let program = Workload::Maker.build(scene);
    let mut command = scene.command(&program);
    let mut running = Running::start(command.args([&PAGES.to_string(), "wait"]));
    assert_eq!(running.hear(), "ready");
    let pid = running.pid();
    let recorded = scene.path("r.data");
    let mut ebs =
        scene.start(&format!("ebs -u -t page_fault -i 1 -c all --no-files -o r.data {pid}"));
    ebs.wait_until("it attached", |ebs| has_attached(ebs, pid));
    thread::sleep(Duration::from_millis(200));
    running.tell("go");
    assert_eq!(running.hear(), "done");
    ebs.signal(Signal::INT);
    ebs.finish().sane();
    assert!(recorded.exists());
    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    prepare(&map);
    let outcome = scene.run("ebs report r.data");
    let _there = fs::remove_file(&map);
    outcome.success()
}

#[test]
fn a_map_of_generated_code_that_another_could_have_written_is_refused_and_said() {
    let test = "a_map_of_generated_code_that_another_could_have_written_is_refused_and_said";
    if !(rights::sampling(test) && rights::root(test)) {
        return;
    }
    let scene = Scene::new();
    let good = with_map(&scene, |_| {});
    assert!(good.out.contains("made_here"), "{good}");
    let refused = |outcome: Outcome, why: &str| {
        assert!(!outcome.out.contains("made_here"), "{outcome}");
        for said in ["[jit-refused]", why] {
            assert!(outcome.out.contains(said), "{said}: {outcome}");
        }
    };
    let linked = with_map(&scene, |map| {
        let aside = scene.path("aside.map");
        fs::copy(map, &aside).unwrap();
        fs::remove_file(map).unwrap();
        symlink(&aside, map).unwrap();
    });
    refused(linked, "is not used for generated code: it is a symbolic link");
    let foreign = with_map(&scene, |map| chown(map, Some(4242), None).unwrap());
    refused(foreign, "it belongs to uid 4242, neither to root nor to the process's uid 0");
    let open = with_map(&scene, |map| {
        fs::set_permissions(map, fs::Permissions::from_mode(0o666)).unwrap();
    });
    refused(open, "anybody may write to it (mode 666)");
}
