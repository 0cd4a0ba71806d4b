//! `ebs compare`: two commands recorded in turn.

use rustix::process::Signal;
use serde_json::Value;
use tests::{Outcome, Scene, rights, workload};

const MISSES: &str = "ebs compare -u --source emulated --cache l1d=32k,8 -t l1_cache_miss -i 50";

fn builds(scene: &Scene) {
    let source = workload::sources().join("matrix.c");
    let source = source.display();
    scene.shell(&format!("gcc -O1 -g -DCOLUMNS -DPADDED -o old {source}")).success();
    scene.shell(&format!("gcc -O1 -g -o new {source}")).success();
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

#[test]
fn commands_are_recorded_in_turn_and_compared() {
    let scene = Scene::new();
    builds(&scene);
    let line = format!("{MISSES} -n 3 --json -o kept -- ./old 2 --- ./new 2");
    let told = scene.run(&line).success();
    let diff = json(&told);
    assert_eq!((&diff["repeated"], &diff["per"]), (&true.into(), &"run".into()));
    assert_eq!(diff["a"].as_array().unwrap().len(), 3);
    let misses = &diff["events"][0];
    assert_eq!(misses["name"], "l1_cache_miss");
    let rows = misses["rows"].as_array().unwrap();
    let add_up = rows.iter().find(|row| row["keys"][1] == "add_up").unwrap();
    assert_eq!(add_up["verdict"], "down", "{misses:#}");
    // The second pair begins with B.
    let made = |file: &str| scene.path(file).metadata().unwrap().modified().unwrap();
    assert!(made("kept/a/001.data") <= made("kept/b/001.data"));
    assert!(made("kept/b/002.data") <= made("kept/a/002.data"));
    // What was kept compares again, and is not mixed with other runs.
    let again = scene.run("ebs diff --json --per run kept/a kept/b").success();
    assert_eq!(json(&again)["events"], diff["events"]);
    scene.run(&line).refused(1, &["kept/a", "other runs"]);
}

#[test]
fn what_commands_end_with_is_told() {
    if !rights::sampling("what_commands_end_with_is_told") {
        return;
    }
    let scene = Scene::new();
    let of = |words: &str| scene.shell(&format!("ebs compare -u -t page_fault {words}"));
    let failed = of("-n 2 -- true --- false");
    assert_eq!(failed.code(), 1, "{failed}");
    assert!(failed.err.contains("run 1 of B ended with status 1"), "{failed}");
    assert!(failed.out.contains("page_fault"), "{failed}");
    of("-n 1 -- true --- true").success();
    let limit = of("-n 1 --fail-on 'page_fault > -99%' -- true --- true");
    assert_eq!(limit.code(), 3, "{limit}");
    of("-- true").refused(2, &["two commands"]);
    of("-- true ---").refused(2, &["two commands"]);
    of("-n 0 -- true --- true").refused(2, &["-n 0"]);
    of("-- true --- ./no-such-program").refused(1, &["no-such-program", "nothing was recorded"]);
    scene.run("ebs compare -u -- true --- true").refused(2, &["-t TYPE"]);
    scene.run("ebs compare -t page_fault -- true --- true").refused(2, &["-u"]);
}

/// SIGINT in the second pair: the first is shown, and nothing is left running.
#[test]
fn an_interrupt_shows_the_pairs_that_were_whole() {
    if !rights::sampling("an_interrupt_shows_the_pairs_that_were_whole") {
        return;
    }
    let scene = Scene::new();
    scene.write("first", "#!/bin/sh\necho >> runs\n[ -e once ] && exec sleep 1000\nexit 0\n");
    scene.write("last", "#!/bin/sh\necho > once\nexit 0\n");
    scene.shell("chmod +x first last").success();
    let line = "ebs compare -u -t page_fault -n 9 -o kept -- ./first --- ./last";
    let mut compare = scene.start(line);
    // The second pair begins with B and then waits in A.
    let runs = scene.path("runs");
    compare.wait_until("the second run of A began", |_| {
        std::fs::read_to_string(&runs).is_ok_and(|runs| runs.lines().count() >= 2)
    });
    compare.signal(Signal::INT);
    let told = compare.finish();
    assert_eq!(told.code(), 0, "{told}");
    assert!(told.err.contains("stopped in run 2: what is shown is of the 1 before"), "{told}");
    assert!(told.out.contains("page_fault"), "{told}");
}

#[test]
fn classes_of_misses_are_recorded_as_asked() {
    let scene = Scene::new();
    let line =
        "ebs compare -n 1 -u -t l1_cache_miss -i 10 --source emulated --classify exact -o kept";
    scene.run(&format!("{line} -- true --- true")).success();
    let told = scene.run("ebs report --by miss kept/a/001.data").success();
    assert!(told.out.contains("cold"), "{told}");
    scene.run("ebs stat --classify exact -- true").refused(1, &["--classify", "counts"]);
}
