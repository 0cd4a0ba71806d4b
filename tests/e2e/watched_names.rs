use std::fs;

use rustix::process::Signal;
use tests::{Account, Outcome, Scene, rights};

const CFLAGS: &str = "-O1 -Wall -Werror";

/// `./movable` and `./fixed`, of one source, with libnames.so beside them.
/// None: they cannot be watched here, which is said.
fn programs(test: &str) -> Option<Scene> {
    if !rights::sampling(test) {
        return None;
    }
    let scene = Scene::new();
    scene.write("names.c", include_str!("../programs/names.c"));
    scene.write("names_twin.c", include_str!("../programs/names_twin.c"));
    scene.write("names_lib.c", include_str!("../programs/names_lib.c"));
    scene.shell(&format!("gcc {CFLAGS} -fPIC -shared -o libnames.so names_lib.c")).success();
    let linked = "names.c names_twin.c -L. -lnames -Wl,-rpath,'$ORIGIN'";
    scene.shell(&format!("gcc {CFLAGS} -fPIE -pie -o movable {linked}")).success();
    scene.shell(&format!("gcc {CFLAGS} -fno-pie -no-pie -o fixed {linked}")).success();
    let tried = scene.run("ebs -u --no-daemon -t mem:0x1000/8:w -c all -o tried.data true");
    if tried.code() != 0 {
        eprintln!("skipped {test}: no debug register is to be had here: {}", tried.err.trim());
        return None;
    }
    Some(scene)
}

fn watch(scene: &Scene, event: &str, command: &str) -> Outcome {
    scene.run(&format!("ebs -u --no-daemon -t {event} -c all -o w.data {command}"))
}

/// What the kernel counted, none of which is unaccounted for.
fn counted(scene: &Scene) -> u64 {
    let account = Account::of_stream(&scene.path("w.data"));
    assert_eq!(account.count("kernel"), account.count("delivered") + account.lost());
    account.count("kernel")
}

#[test]
fn names_of_programs_and_libraries_are_watched_wherever_they_are_loaded() {
    let test = "names_of_programs_and_libraries_are_watched_wherever_they_are_loaded";
    let Some(scene) = programs(test) else { return };
    for program in ["movable", "fixed"] {
        for (event, said, count) in [
            ("mem:counter:w", "mem:counter/8:w is at 0x", 100),
            ("mem:counter/4:w", "4 of the 8 bytes of variable counter of ", 100),
            ("mem:small@NAME:w", "/4:w is at 0x", 100),
            ("mem:bytes+3:w", "mem:bytes+0x3/1:w is at 0x", 100),
            ("mem:step:x", "routine step of ", 100),
        ] {
            let outcome =
                watch(&scene, &event.replace("NAME", program), &format!("./{program} 100"))
                    .success();
            assert!(outcome.err.contains(said), "{said} is not in {outcome}");
            assert_eq!(counted(&scene), count, "{event} of {program}: {outcome}");
        }
    }
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped half of {test}: libraries are waited for on x86-64 only");
        return;
    }
    for program in ["movable", "fixed"] {
        for (event, count) in [
            // The constructor's write with them.
            ("mem:lib_total:w", 101),
            ("mem:lib_hidden:w", 100),
            ("mem:lib_hidden@libnames.so:w", 100),
            ("mem:lib_hidden@*/libnames*/8:w", 100),
            ("mem:lib_add:x", 100),
        ] {
            let outcome = watch(&scene, event, &format!("./{program} 100")).success();
            assert_eq!(counted(&scene), count, "{event} of {program}: {outcome}");
            let names = scene.run("ebs script -F ip,sym w.data").success().out;
            let all =
                names.lines().all(|line| line.ends_with(" lib_add") || line.ends_with(" begin"));
            assert!(all, "what was mapped before is told: {names}");
        }
    }
}

#[test]
fn perf_counts_the_same_at_the_address() {
    let test = "perf_counts_the_same_at_the_address";
    let Some(scene) = programs(test) else { return };
    if !rights::perf(test) {
        return;
    }
    let line = "setarch -R ebs -u --no-daemon -t mem:counter:w -c all -o w.data ./movable 1000";
    let outcome = scene.run(line).success();
    let address = outcome.err.split_once(" is at ").unwrap().1.to_owned();
    let address = address.split(':').next().unwrap();
    let line = format!("setarch -R perf record -q -e mem:{address}/8:w:u -o p.data ./movable 1000");
    scene.run(&line).success();
    let records = scene.run("perf script -F ip -i p.data").success().out.lines().count();
    assert_eq!((counted(&scene), records), (1000, 1000), "{outcome}");
}

#[test]
fn names_of_a_running_process_are_watched() {
    let test = "names_of_a_running_process_are_watched";
    let Some(scene) = programs(test) else { return };
    let mut target = scene.start("./movable 50 wait");
    let line = "ebs -u --no-daemon -t mem:counter:w,mem:lib_hidden:w,mem:step:x -c all -o w.data";
    let mut ebs = scene.start(&format!("{line} {}", target.pid()));
    ebs.wait_until("it wrote", |_| fs::metadata(scene.path("w.data")).is_ok_and(|it| it.len() > 0));
    target.tell("go");
    target.finish();
    let outcome = ebs.finish().success();
    let accounts = Account::each_of_stream(&scene.path("w.data"));
    let counts: Vec<u64> = accounts.iter().map(|account| account.count("kernel")).collect();
    assert!(counts.ends_with(&[50, 50, 50]), "{counts:?}: {outcome}");
}

#[test]
fn names_that_are_none_or_several_are_refused() {
    let test = "names_that_are_none_or_several_are_refused";
    let Some(scene) = programs(test) else { return };
    for (event, words) in [
        ("mem:countr:w", &["no variable countr", "movable", "did you mean counter"][..]),
        ("mem:stepp:x", &["no routine stepp", "did you mean step"]),
        ("mem:counter:x", &["counter is a variable", "mem:counter:w"]),
        ("mem:step:w", &["step is a routine", "mem:step:x"]),
        ("mem:of_thread:w", &["of_thread is thread-local"]),
        ("mem:counter+8:w", &["counter has 8 bytes", "0x8"]),
        ("mem:counter@libabsent.so:w", &["no file libabsent.so", "libnames.so"]),
        ("mem:0x99999990@movable:w", &["/movable has nothing at 0x99999990"]),
    ] {
        let outcome = watch(&scene, event, "./movable 3").sane();
        assert_eq!(outcome.code(), 1, "{outcome}");
        for word in words {
            assert!(outcome.err.contains(word), "{event}: {word} is not in {outcome}");
        }
    }
    // What is typed for each is told, and is right.
    let outcome = watch(&scene, "mem:twice:w", "./movable 3");
    assert_eq!(outcome.code(), 1, "{outcome}");
    let choices = outcome.err.split_once("say which: ").unwrap().1;
    let choices: Vec<&str> = choices.split("; ").map(|it| it.split(' ').next().unwrap()).collect();
    assert_eq!(choices.len(), 2, "{outcome}");
    for choice in choices {
        let outcome = watch(&scene, choice, "./movable 30").success();
        assert_eq!(counted(&scene), 30, "{choice}: {outcome}");
    }
    let whole = scene.run("ebs -u --no-daemon -t mem:counter@./movable:w").sane();
    assert!(whole.err.contains("position-independent"), "{whole}");
    let whole = scene.run("ebs -u --no-daemon -t mem:counter:w").sane();
    assert!(whole.err.contains("no file is named"), "{whole}");
}

#[test]
fn a_command_that_is_not_sampled_does_not_run() {
    let test = "a_command_that_is_not_sampled_does_not_run";
    let Some(scene) = programs(test) else { return };
    scene.write(
        "touches.c",
        "#include <stdio.h>\nlong x = 1;\nint main(void) { fopen(\"ran\", \"w\"); }\n",
    );
    scene.shell("gcc -fPIE -pie -o touches touches.c").success();
    for event in ["mem:absent:w", "mem:x+1/8:w"] {
        let outcome = watch(&scene, event, "./touches").sane();
        assert_eq!(outcome.code(), 1, "{outcome}");
        assert!(!scene.path("ran").exists(), "{event}: {outcome}");
    }
    let outcome = watch(&scene, "mem:x:w", "./touches").success();
    assert!(scene.path("ran").exists(), "{outcome}");
    assert!(outcome.err.contains("mem:x/8:w: not accessed at 0x"), "{outcome}");
    for (command, why) in [("./absent", "command not found"), ("./touches.c", "not executable")] {
        let outcome = watch(&scene, "mem:x:w", command).sane();
        assert_eq!(outcome.code(), 1, "{outcome}");
        assert!(outcome.err.contains(why), "{outcome}");
    }
}

/// A process that stands still for `ebs` ends with it.
#[test]
fn signals_reach_a_command_that_was_stopped() {
    let test = "signals_reach_a_command_that_was_stopped";
    let Some(scene) = programs(test) else { return };
    scene.write("waits.c", "#include <unistd.h>\nlong x = 1;\nint main(void) { pause(); }\n");
    scene.shell("gcc -fPIE -pie -o waits waits.c").success();
    let mut ebs = scene.start("ebs -u --no-daemon -t mem:x:w -c all -o w.data ./waits");
    ebs.wait_until("it wrote", |_| fs::metadata(scene.path("w.data")).is_ok_and(|it| it.len() > 0));
    ebs.signal(Signal::TERM);
    let outcome = ebs.finish();
    assert_eq!(outcome.code(), 143, "{outcome}");
}
