//! Blocks of the heap natively: page faults of programs that know who asked for what they touch.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use tests::{Account, Outcome, Running, Scene, built, rights, workload};

/// Faults by the line that asked for the block, as the program tells them.
fn told(outcome: &Outcome) -> BTreeMap<String, u64> {
    let line = |line: &str| {
        let (at, count) = line.rsplit_once(' ').unwrap();
        (at.to_owned(), count.parse().unwrap())
    };
    outcome.out.lines().filter(|line| line.starts_with("heap_pages.")).map(line).collect()
}

/// The same as the report has them, of the routine that touches.
fn found(scene: &Scene) -> BTreeMap<String, u64> {
    let options = "-e page_fault --by alloc-line --csv --filter routine=*touch";
    let report = scene.run(&format!("ebs report {options} h.data")).success();
    // Files without the folders they are in.
    let name = |place: String| place.rsplit('/').next().unwrap_or_default().to_owned();
    report.counts_by("alloc-line").into_iter().map(|(place, count)| (name(place), count)).collect()
}

/// A scene with `heap_pages` in it, as COMPILER makes it of a source; None: not here.
fn scene(test: &str, compiler: &str, source: &str) -> Option<Scene> {
    let scene = bare_scene(test, compiler)?;
    let source = workload::sources().join(source).display().to_string();
    scene.shell(&format!("{compiler} -g -o heap_pages {source}")).success();
    Some(scene)
}

fn bare_scene(test: &str, compiler: &str) -> Option<Scene> {
    let (program, _) = compiler.split_once(' ').unwrap_or((compiler, ""));
    let runs = rights::sampling(test) && rights::program(test, program);
    (cfg!(target_arch = "x86_64") && runs).then(Scene::new)
}

/// Who is told of, and where. The page faults, the blocks, and their ends.
fn record(scene: &Scene, heap: &str, command: &str) -> Outcome {
    scene.run(&format!("ebs -u -t page_fault -i 1 {heap} -o h.data -- {command}"))
}

/// What was made was delivered or lost; how much was lost.
fn lost(scene: &Scene) -> u64 {
    let accounts = Account::each_of_stream(&scene.path("h.data"));
    assert_eq!(accounts.len(), 4, "the kernel's event, and three of memory");
    for account in &accounts {
        assert_eq!(account.count("kernel"), account.count("delivered") + account.lost());
    }
    accounts.iter().map(Account::lost).sum()
}

/// Every fault is of its line: all of the touched blocks are told.
fn compare(scene: &Scene, heap: &str, command: &str) {
    let run = record(scene, heap, command).success();
    let truth = told(&run);
    assert!(truth.len() > 3, "{run}");
    match lost(scene) {
        0 => assert_eq!(found(scene), truth, "{run}"),
        lost => eprintln!("nothing to compare: {lost} records were lost: {run}"),
    }
}

#[test]
fn each_fault_is_of_the_line_that_asked_for_the_block() {
    let test = "each_fault_is_of_the_line_that_asked_for_the_block";
    let Some(scene) = scene(test, "gcc -O1 -pthread", "heap_pages.c") else { return };
    compare(&scene, "--heap=1", "./heap_pages");
    // Blocks of as many bytes, and more, are all told.
    compare(&scene, "--heap=64k", "./heap_pages");
    // A child that runs another program tells of its own.
    scene.write("both", "#!/bin/sh\n./heap_pages\ntrue\n");
    compare(&scene, "--heap=64k", "sh both");
}

#[test]
fn what_is_in_no_sampled_block_is_given_to_no_other() {
    let test = "what_is_in_no_sampled_block_is_given_to_no_other";
    let Some(scene) = scene(test, "gcc -O1 -pthread", "heap_pages.c") else { return };
    let run = record(&scene, "--heap=1m", "./heap_pages").success();
    assert!(run.err.contains("sampled by bytes, one each 1048576"), "{run}");
    let truth = told(&run);
    if lost(&scene) > 0 {
        eprintln!("skipped {test}: records were lost: {run}");
        return;
    }
    let rows = found(&scene);
    for (line, count) in rows.iter().filter(|(line, _)| !line.starts_with('[')) {
        assert!(truth.get(line).is_some_and(|all| count <= all), "{rows:?}, {truth:?}");
    }
    assert_eq!(rows.values().sum::<u64>(), truth.values().sum::<u64>(), "{rows:?}");
    let lacks: Vec<_> = rows.keys().filter(|line| line.starts_with('[')).collect();
    assert!(lacks.iter().all(|lack| *lack == "[in no sampled block]"), "{rows:?}");
}

#[test]
fn blocks_of_cpp_are_of_the_line_that_asked() {
    let test = "blocks_of_cpp_are_of_the_line_that_asked";
    let Some(scene) = scene(test, "g++ -O1 -std=c++17", "heap_pages.cc") else { return };
    compare(&scene, "--heap=1", "./heap_pages");
}

#[test]
fn blocks_of_rust_are_of_the_line_that_asked() {
    let test = "blocks_of_rust_are_of_the_line_that_asked";
    if !rights::program(test, "rustc") {
        return;
    }
    // The scene's home has no toolchain.
    let sysroot = Command::new("rustc").arg("--print=sysroot").output().unwrap().stdout;
    let rustc = format!("{}/bin/rustc", String::from_utf8(sysroot).unwrap().trim());
    let compiler = format!("{rustc} --edition 2024 -C opt-level=1");
    let Some(scene) = scene(test, &compiler, "heap_pages.rs") else { return };
    compare(&scene, "--heap=1", "./heap_pages");
}

/// It runs as without, and every record is accounted for.
#[test]
fn a_storm_of_threads_children_and_signals_is_not_disturbed() {
    let test = "a_storm_of_threads_children_and_signals_is_not_disturbed";
    let Some(scene) = bare_scene(test, "gcc") else { return };
    let source = workload::sources().join("heap_storm.c").display().to_string();
    scene.shell(&format!("gcc -O1 -g -pthread -o storm {source}")).success();
    for heap in ["--heap=1", "--heap=4k", "--heap"] {
        let run = record(&scene, heap, "./storm").success();
        assert_eq!(run.out, "ok\n", "{run}");
        lost(&scene);
        let run = record(&scene, heap, "./storm kill");
        assert_eq!(run.code(), 128 + 9, "{run}");
        lost(&scene);
    }
    // Without anybody who listens, and with what is no log of ours.
    let library = built::directory().join("libhardmeter_heap.so");
    scene.write("other", vec![7; 100_000]);
    for log in ["", "/dev/null", "/nowhere", "./other", "/proc/self/exe"] {
        let mut command = scene.command(scene.path("storm"));
        command.env("LD_PRELOAD", &library).env("HARDMETER_HEAP", log);
        let run = Running::start(&mut command).finish().success();
        assert_eq!(run.out, "ok\n", "{run}");
    }
}

/// Whoever reads may be killed, or stopped: the program waits once, and not in each of its
/// processes and threads anew.
#[test]
fn a_reader_that_does_not_come_is_waited_for_once() {
    let test = "a_reader_that_does_not_come_is_waited_for_once";
    let Some(scene) = bare_scene(test, "gcc") else { return };
    let source = workload::sources().join("heap_rounds.c").display().to_string();
    scene.shell(&format!("gcc -O1 -g -pthread -o rounds {source}")).success();
    for signal in [Signal::KILL, Signal::STOP] {
        let mut command = scene.command(built::directory().join("ebs"));
        command.args("-u -t page_fault --heap=1 -o h.data -- ./rounds".split(' '));
        let mut run = Running::start(&mut command);
        assert_eq!(run.hear(), "ready");
        run.signal(signal);
        run.tell("go");
        assert_eq!(run.hear(), "done", "{signal:?}: it stood still");
        if signal == Signal::STOP {
            run.signal(Signal::CONT);
            run.finish().success();
            assert!(lost(&scene) > 0, "there is no room for all of them");
        }
    }
}

/// Programs of another C library, and of a sanitizer that wants to be the first library.
#[test]
fn any_program_starts_below_the_library() {
    let test = "any_program_starts_below_the_library";
    let Some(scene) = bare_scene(test, "gcc") else { return };
    let library = built::directory().join("libhardmeter_heap.so");
    if rights::program(test, "readelf") {
        let needs = scene.shell(&format!("readelf -d {}", library.display())).success();
        let needed: Vec<_> = needs.out.lines().filter(|line| line.contains("(NEEDED)")).collect();
        // Which every C library takes for itself.
        assert!(matches!(needed[..], [only] if only.contains("[libc.so.6]")), "{needs}");
    }
    let source = workload::sources().join("heap_rounds.c").display().to_string();
    let mut script = String::from("#!/bin/sh\n");
    for (compiler, options) in [("gcc", "-fsanitize=address"), ("musl-gcc", ""), ("gcc", "")] {
        let name = format!("{compiler}{options}");
        if rights::program(test, compiler) {
            let build = format!("{compiler} {options} -O1 -g -pthread -o {name} {source}");
            let built = scene.shell(&build);
            if built.code() == 0 {
                script.push_str(&format!("echo go | ./{name} || echo {name} failed\n"));
            } else {
                eprintln!("skipped a part of {test}: {built}");
            }
        }
    }
    scene.write("all", script.clone());
    let run = record(&scene, "--heap", "sh all").success();
    let all = script.matches("echo go").count();
    assert_eq!(run.out, "ready\ndone\n".repeat(all), "{run}");
    lost(&scene);
    // What the user asks of the sanitizer stays.
    if script.contains("sanitize") {
        let mut command = scene.command(built::directory().join("ebs"));
        let words = "-u -t page_fault --heap -o h.data -- ./gcc-fsanitize=address";
        command.args(words.split(' ')).env("ASAN_OPTIONS", "help=1");
        let mut run = Running::start(&mut command);
        run.tell("go");
        let run = run.finish().success();
        assert!(run.err.contains("Available flags for AddressSanitizer"), "{run}");
    }
}

#[test]
fn what_the_user_preloads_stays() {
    let test = "what_the_user_preloads_stays";
    let Some(scene) = scene(test, "gcc -O1 -pthread", "heap_pages.c") else { return };
    let own = "#include <stdlib.h>\n#include <stdio.h>\n\
               __attribute__((destructor)) static void end(void) { puts(getenv(\"LD_PRELOAD\")); }\n";
    scene.write("own.c", own);
    scene.shell("gcc -shared -fPIC -o own.so own.c").success();
    let words = "-u -t page_fault -i 1 --heap=64k -o h.data -- ./heap_pages";
    let mut command = scene.command(built::directory().join("ebs"));
    command.args(words.split(' ')).env("LD_PRELOAD", scene.path("own.so"));
    let run = Running::start(&mut command).finish().success();
    assert!(run.out.contains(&format!(".so:{}\n", scene.path("own.so").display())), "{run}");
    if lost(&scene) == 0 {
        assert_eq!(found(&scene), told(&run));
    }
}

#[test]
fn who_tells_nothing_is_told_of() {
    let test = "who_tells_nothing_is_told_of";
    let Some(scene) = scene(test, "gcc -O1 -pthread -static", "heap_pages.c") else { return };
    let run = record(&scene, "--heap", "./heap_pages").success();
    lost(&scene);
    assert!(run.err.contains("no program loaded libhardmeter_heap.so"), "{run}");
    let rows = found(&scene);
    assert_eq!(rows.keys().collect::<Vec<_>>(), ["[in no sampled block]"]);
    // One that runs with another user's rights.
    let Some(scene) = self::scene(test, "gcc -O1 -pthread", "heap_pages.c") else { return };
    if rights::root(test) {
        let program = scene.path("heap_pages");
        std::os::unix::fs::chown(&program, Some(1), Some(1)).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o6755)).unwrap();
        let run = record(&scene, "--heap", "./heap_pages").success();
        assert!(run.err.contains("no program loaded libhardmeter_heap.so"), "{run}");
    }
}

#[test]
fn what_cannot_be_told_is_refused() {
    let test = "what_cannot_be_told_is_refused";
    let Some(scene) = bare_scene(test, "true") else { return };
    let refused = |line: &str, words: &[&str]| {
        scene.run(line).refused(2, words);
    };
    refused("ebs -u -t page_fault --heap -p 1", &["--heap", "start the program with ebs"]);
    refused("ebs -u -t page_fault --heap=many true", &["--heap=many", "--heap=512k"]);
    refused("ebs -u -t page_fault --heap=0 true", &["--heap=0", "--heap=512k"]);
    refused("ebs stat --heap -- true", &["--heap", "ebs report --by alloc-line"]);
}

/// `ebs` without the library beside it, as `cargo install` leaves it.
fn alone(scene: &Scene, heap: &str, command: &str) -> Command {
    fs::create_dir_all(scene.path("bin")).unwrap();
    let (from, to) = (built::directory().join("ebs"), scene.path("bin/ebs"));
    if !to.exists() && fs::hard_link(&from, &to).is_err() {
        fs::copy(&from, &to).unwrap();
    }
    let mut ebs = scene.command(to);
    ebs.args(["-u", "-t", "page_fault", "-i", "1", heap, "-o", "h.data", "--"]);
    ebs.args(command.split(' '));
    ebs
}

/// What `ebs` left in a folder: one file at most.
fn unpacked(folder: &Path) -> Option<PathBuf> {
    let mut all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let first = all.next();
    assert_eq!(all.next(), None, "{first:?}");
    first
}

#[test]
fn an_ebs_alone_has_the_library_with_it() {
    let test = "an_ebs_alone_has_the_library_with_it";
    let Some(scene) = scene(test, "gcc -O1 -pthread", "heap_pages.c") else { return };
    // Root's has to be where others may go.
    fs::set_permissions(scene.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let record = |variables: &[(&str, &Path)]| {
        let mut ebs = alone(&scene, "--heap=64k", "./heap_pages");
        let run = Running::start(ebs.envs(variables.iter().copied())).finish().success();
        assert!(!run.err.contains("ld.so"), "{run}");
        match lost(&scene) {
            0 => assert_eq!(found(&scene), told(&run), "{run}"),
            lost => eprintln!("nothing to compare: {lost} records were lost: {run}"),
        }
    };
    record(&[]);
    let library = unpacked(&scene.path(".cache/hardmeter")).unwrap();
    let (file, bytes) = (fs::metadata(&library).unwrap().ino(), fs::read(&library).unwrap());
    record(&[]);
    assert_eq!(fs::metadata(&library).unwrap().ino(), file, "it was there");
    fs::set_permissions(&library, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&library, &bytes[..5000]).unwrap();
    record(&[]);
    assert_eq!(unpacked(library.parent().unwrap()), Some(library.clone()));
    assert_eq!(fs::read(&library).unwrap(), bytes);
    // A folder that others may write to, and a link of theirs.
    let folder = fs::Permissions::from_mode(0o777);
    fs::set_permissions(scene.path(".cache/hardmeter"), folder).unwrap();
    fs::write(scene.path("evil.so"), "").unwrap();
    fs::remove_file(&library).unwrap();
    symlink(scene.path("evil.so"), &library).unwrap();
    let temporary = scene.path("temporary");
    fs::create_dir(&temporary).unwrap();
    record(&[("TMPDIR", &temporary)]);
    assert_eq!(unpacked(&temporary), None, "it is gone at the end");
    assert!(library.is_symlink());
    // No HOME to write to.
    for home in ["", "/proc", "/nowhere"] {
        record(&[("HOME", Path::new(home)), ("TMPDIR", &temporary)]);
        assert_eq!(unpacked(&temporary), None, "it is gone at the end");
    }
}

#[test]
fn an_ebs_alone_unpacks_the_library_when_it_is_needed() {
    let test = "an_ebs_alone_unpacks_the_library_when_it_is_needed";
    let Some(scene) = bare_scene(test, "true") else { return };
    Running::start(&mut alone(&scene, "-q", "true")).finish().success();
    let mut refused = scene.command(scene.path("bin/ebs"));
    refused.args("-u -t page_fault --heap -p 1".split(' '));
    Running::start(&mut refused).finish().refused(2, &["start the program with ebs"]);
    assert!(!scene.path(".cache").exists());
}

#[test]
fn root_unpacks_the_library_for_other_users_too() {
    let test = "root_unpacks_the_library_for_other_users_too";
    let Some(scene) = bare_scene(test, "setpriv") else { return };
    if !rights::root(test) {
        return;
    }
    let cache = scene.path("cache");
    fs::create_dir(&cache).unwrap();
    let other = "setpriv --reuid=65534 --regid=65534 --clear-groups \
                 grep -m1 libhardmeter_heap /proc/self/maps";
    // A folder that is root's alone, and one where others may go.
    for (mode, way) in [(0o700, "/hardmeter-heap-"), (0o755, "/cache/hardmeter/")] {
        fs::set_permissions(scene.path("."), fs::Permissions::from_mode(mode)).unwrap();
        let ebs = alone(&scene, "--heap", other);
        // With umask(2) as careful roots have it.
        let mut script = scene.command("sh");
        script.args(["-c", "umask 077; exec \"$@\"", "sh"]).arg(ebs.get_program());
        script.args(ebs.get_args()).env("XDG_CACHE_HOME", &cache);
        let run = Running::start(&mut script).finish().success();
        assert!(run.out.contains(way) && !run.err.contains("ld.so"), "{run}");
    }
}
