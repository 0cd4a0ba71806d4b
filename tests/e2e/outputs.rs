//! Files that a user names to be written: no command follows another user's link to one of root's,
//! and none waits for ever for a reader.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tests::{Outcome, Scene, rights, workload};

/// A user who is not root.
const OTHER: u32 = 4242;
/// What each command with an output is called with; OUT is that.
const COMMANDS: [&str; 12] = [
    "ebs html -o OUT in.data",
    "ebs export --to csv -o OUT in.data",
    "ebs export --to pprof -o OUT in.data",
    "ebs convert in.data OUT",
    "ebs archive -o OUT in.data",
    "ebs -u -t page_fault --no-daemon -o r.data --html OUT true",
    "ebs -u -t page_fault --no-daemon -o OUT true",
    "ebs -u -t page_fault --no-daemon --format perf -o OUT true",
    "ebs stat -t page_fault -o OUT true",
    "ebs memlat --quick --only chains --html OUT",
    "ebs export --segments web --to parquet --account OUT -o fleet",
    "eip2r -p 1 -o OUT in.txt",
];

/// A recording, and a directory as /tmp is one.
fn scene() -> Scene {
    let scene = Scene::new();
    let fixtures = workload::sources().join("../../crates/perfdata/tests/fixtures");
    fs::copy(fixtures.join("weight_struct-5.17.file.data"), scene.path("in.data")).unwrap();
    fs::set_permissions(scene.path("in.data"), Permissions::from_mode(0o644)).unwrap();
    scene.write("in.txt", "");
    for folder in ["sticky", "web", "fleet"] {
        fs::create_dir(scene.path(folder)).unwrap();
    }
    fs::set_permissions(scene.path("sticky"), Permissions::from_mode(0o1777)).unwrap();
    scene
}

fn run(scene: &Scene, command: &str, output: &str) -> Outcome {
    scene.run(&command.replace("OUT", output))
}

#[test]
fn no_command_follows_another_users_link_in_a_sticky_directory() {
    if !rights::root("no_command_follows_another_users_link_in_a_sticky_directory") {
        return;
    }
    let scene = scene();
    scene.write("precious", "precious");
    fs::set_permissions(scene.path("precious"), Permissions::from_mode(0o600)).unwrap();
    for (name, target) in [("link", "precious"), ("dangling", "made")] {
        symlink(scene.path(target), scene.path("sticky").join(name)).unwrap();
        lchown(scene.path("sticky").join(name), Some(OTHER), None).unwrap();
    }
    for command in COMMANDS {
        for name in ["sticky/link", "sticky/dangling"] {
            let refused = run(&scene, command, name).sane();
            assert_eq!(refused.code(), 1, "{command}: {refused}");
            assert!(refused.err.contains("user 4242 owns this link"), "{command}: {refused}");
        }
        let precious = fs::metadata(scene.path("precious")).unwrap();
        let mode = precious.mode() & 0o777;
        assert_eq!((scene.read("precious").as_str(), mode), ("precious", 0o600), "{command}");
        assert!(!scene.path("made").exists(), "{command}");
    }
    assert_eq!(fs::read_dir(scene.path("sticky")).unwrap().count(), 2);
}

/// One's own links lead on, and the file keeps its permissions.
#[test]
fn own_links_lead_to_what_is_written() {
    let scene = scene();
    // One that replaces, a recording of each kind, and a table.
    for command in [1, 3, 6, 8].map(|at| COMMANDS[at]) {
        fs::write(scene.path("target"), "old").unwrap();
        fs::set_permissions(scene.path("target"), Permissions::from_mode(0o600)).unwrap();
        symlink("../target", scene.path("sticky/link")).unwrap();
        run(&scene, command, "sticky/link").success();
        let target = fs::metadata(scene.path("target")).unwrap();
        assert_eq!(target.mode() & 0o777, 0o600, "{command}");
        assert_ne!(fs::read(scene.path("target")).unwrap(), b"old", "{command}");
        assert!(scene.path("sticky/link").is_symlink(), "{command}");
        fs::remove_file(scene.path("sticky/link")).unwrap();
    }
}

/// What waits for a reader of its FIFO hears signals.
#[test]
fn a_signal_ends_the_wait_for_a_reader() {
    let scene = scene();
    scene.shell("mkfifo fifo");
    let commands = ["ebs -u -t page_fault --no-daemon -o OUT true", "ebs html -o OUT in.data"];
    let signals = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    for (command, (signal, status)) in
        commands.into_iter().flat_map(|command| signals.map(|signal| (command, signal)))
    {
        let mut running = scene.start(&command.replace("OUT", "fifo"));
        // Until it waits: by then it has caught what it catches.
        sleep(Duration::from_millis(700));
        assert!(!running.ended(), "{command}: nobody reads");
        running.signal(signal);
        let outcome = running.finish();
        let ended = outcome.status.code().or(ended_by(&outcome));
        assert_eq!(ended, Some(status), "{command}: {outcome}");
    }
    // A reader that comes gets all of it.
    let line =
        "cat fifo > read & ebs -u -t page_fault --no-daemon -o fifo true; wait; test -s read";
    scene.shell(line).success();
}

/// An account names files that are removed: none outside of the folder.
#[test]
fn an_account_that_leads_elsewhere_is_refused() {
    let scene = scene();
    let line = "ebs export --segments web --to parquet --account books -o fleet";
    scene.run(line).success();
    scene.write("victim", "precious");
    let mut books: serde_json::Value = serde_json::from_str(&scene.read("books")).unwrap();
    let victim = scene.path("victim");
    for file in [victim.to_str().unwrap(), "../victim"] {
        books["pending"] = serde_json::json!({
            "key": { "number": 1, "stream": 5 }, "file": file, "part": null, "samples": 0
        });
        scene.write("books", books.to_string());
        scene.run(line).refused(1, &["names a file outside of the output's folder"]);
        assert_eq!(scene.read("victim"), "precious");
    }
}

/// As on a full disk, and no half of a file stays.
#[test]
fn a_limit_of_file_sizes_is_told() {
    let scene = scene();
    fs::create_dir(scene.path("out")).unwrap();
    for command in COMMANDS.into_iter().take(5) {
        let line = format!("ulimit -f 1; {}", command.replace("OUT", "out/it"));
        let refused = scene.shell(&line).sane();
        assert_eq!(refused.code(), 1, "{line}: {refused}");
        assert!(refused.err.contains("File too large"), "{line}: {refused}");
        assert_eq!(fs::read_dir(scene.path("out")).unwrap().count(), 0, "{line}");
    }
}

/// Nothing of the crates below is printed, and the recording stays as it is.
#[test]
fn a_full_tmpdir_is_told_once() {
    let scene = Scene::new();
    scene.run("ebs -u -t page_fault --no-daemon -o in.data true").success();
    let before = fs::read(scene.path("in.data")).unwrap();
    let line = "trap '' XFSZ; ulimit -f 16; ebs archive in.data";
    let refused = scene.shell(line).sane();
    assert_eq!(refused.code(), 1, "{refused}");
    assert!(refused.err.starts_with("ebs: the files cannot be packed in TMPDIR: "), "{refused}");
    assert_eq!(refused.err.lines().count(), 1, "{refused}");
    assert_eq!(fs::read(scene.path("in.data")).unwrap(), before);
}

/// The small program finds room, its debug file does not.
#[test]
fn a_full_tmpdir_is_the_reason_that_carried_names_are_missing() {
    let test = "a_full_tmpdir_is_the_reason_that_carried_names_are_missing";
    if !rights::sampling(test) || !rights::program(test, "objcopy") {
        return;
    }
    let scene = Scene::new();
    scene.write(
        "touch.c",
        "static char m[400 << 12];\n\
        static void __attribute__((noinline)) each(char *at) { *at = 1; }\n\
        int main(void) { for (int n = 0; n < 400; n++) each(m + (n << 12)); }\n",
    );
    let split = "gcc -O1 -g -o touch touch.c && objcopy --only-keep-debug touch touch.debug && strip touch && head -c 90000 \
                 /dev/urandom > filler && objcopy --add-section filler=filler touch.debug \
                 && objcopy --add-gnu-debuglink=touch.debug touch";
    scene.shell(split).success();
    scene.run("ebs -u -t page_fault --no-daemon -o in.data ./touch").success();
    scene.run("ebs archive in.data").success();
    fs::remove_file(scene.path("touch.debug")).unwrap();
    let report = "ebs report --by routine --reasons in.data";
    let whole = scene.run(report).success();
    assert!(whole.out.contains(" each\n"), "{whole}");
    let full = scene.shell(&format!("trap '' XFSZ; ulimit -f 64; {report}")).success();
    assert!(!full.out.contains(" each\n"), "{full}");
    let stripped = full.out.lines().find(|line| line.contains("stripped")).expect(&full.out);
    assert!(stripped.contains("TMPDIR has no room for it"), "{full}");
}

fn ended_by(outcome: &Outcome) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    outcome.status.signal().map(|signal| 128 + signal)
}
