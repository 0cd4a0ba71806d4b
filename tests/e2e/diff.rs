//! `ebs diff`: two builds of one program, of which one routine changed.

use serde_json::Value;
use tests::{Outcome, Scene, rights, workload};

const MISSES: &str = "ebs -u --source emulated --cache l1d=32k,8 -t l1_cache_miss,instr_retired \
                      -i 50,10k -c all";

/// `old` walks by columns and misses at each access, `new` by rows at each eighth. Every routine
/// of `old` lies elsewhere, as other code is before it.
fn builds(scene: &Scene) {
    let source = workload::sources().join("matrix.c");
    let source = source.display();
    scene.shell(&format!("gcc -O1 -g -DCOLUMNS -DPADDED -o old {source}")).success();
    scene.shell(&format!("gcc -O1 -g -o new {source}")).success();
}

/// A program of such a name, recorded.
fn record(scene: &Scene, program: &str, seed: u32, file: &str) {
    scene.run(&format!("{MISSES} --seed {seed} -o {file} ./{program} 4")).success();
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.out).unwrap_or_else(|error| panic!("{error}: {outcome}"))
}

fn event<'d>(diff: &'d Value, name: &str) -> &'d Value {
    let events = diff["events"].as_array().unwrap();
    events.iter().find(|event| event["name"] == name).unwrap_or_else(|| panic!("{diff:#}"))
}

/// The row with this routine.
fn row<'d>(event: &'d Value, routine: &str) -> &'d Value {
    let rows = event["rows"].as_array().unwrap();
    let is_it = |row: &&Value| row["keys"].as_array().unwrap().contains(&routine.into());
    rows.iter().find(is_it).unwrap_or_else(|| panic!("no {routine}: {event:#}"))
}

#[test]
fn of_one_run_each_differences_are_shown_and_none_is_told_apart() {
    let scene = Scene::new();
    builds(&scene);
    record(&scene, "old", 1, "old.data");
    record(&scene, "new", 2, "new.data");
    let told = scene.run("ebs diff --json old.data new.data").success();
    let diff = json(&told);
    assert_eq!(diff["per"], "1000 instructions");
    assert_eq!(diff["repeated"], false);
    let misses = event(&diff, "l1_cache_miss");
    assert_eq!(misses["counted"], true, "{misses:#}");
    // 4 x 65,536 misses of columns, an eighth of that of rows.
    let add_up = row(misses, "add_up");
    // How far apart two runs of one build are is in neither recording.
    assert_eq!(add_up["verdict"], "unrepeated", "{misses:#}");
    let rows = misses["rows"].as_array().unwrap();
    let is_untold = |row: &Value| {
        let verdict = row["verdict"].as_str().unwrap();
        row["p"].is_null()
            && row["q"].is_null()
            && ["unrepeated", "same", "too-few"].contains(&verdict)
    };
    assert!(rows.iter().all(is_untold) && misses["told_apart"] == 0, "{misses:#}");
    let number = |of: &Value| of.as_f64().unwrap_or_else(|| panic!("{misses:#}"));
    assert!(number(&add_up["low"]) <= 0.16 && number(&add_up["high"]) >= 0.1, "{add_up:#}");
    let share = |row: &Value, side: &str| number(&row[side]["events"]);
    assert!((share(add_up, "a") - 262_144.0).abs() < 15_000.0, "{add_up:#}");
    assert!((share(add_up, "b") - 32_768.0).abs() < 8_000.0, "{add_up:#}");
    // The same code at another address, in a program of another name.
    let fill = row(misses, "fill");
    assert!(number(&fill["a"]["samples"]) > 0.0 && number(&fill["b"]["samples"]) > 0.0);
    assert_eq!(fill["keys"][0], "new");
    let table = scene.run("ebs diff old.data new.data").success();
    assert!(table.out.contains("old of A and new of B are taken for one program"), "{table}");
    assert!(table.out.contains("sampling error only"), "{table}");
    assert!(
        table.out.contains("ebs compare -n 5") && table.out.contains("one run each"),
        "{table}"
    );
    // What is not shown is divided by all the same.
    let one = json(&scene.run("ebs diff --json -e l1_* old.data new.data").success());
    assert_eq!(one["events"].as_array().unwrap().len(), 1, "{one:#}");
    assert_eq!(one["per"], "1000 instructions");
    let csv = scene.run("ebs diff --csv old.data new.data").success();
    let rows: usize = diff["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["rows"].as_array().unwrap().len() + 1)
        .sum();
    assert_eq!(csv.out.lines().count(), rows + 1, "{csv}");
}

/// Half of the sets are full, so that a walk misses each time or never: by where the kernel put
/// the stack of this run.
const BY_THE_STACK: &str = "static char memory[8 * 4096] __attribute__((aligned(4096)));
__attribute__((noinline)) static int walk(volatile char *own)
{
    int sum = *own;
    for (int way = 0; way < 8; way++)
        for (int line = 0; line < 32; line++)
            sum += *(volatile char *)(memory + way * 4096 + line * 64);
    return sum;
}
int main(void)
{
    volatile char own[64] = {0};
    int sum = 0;
    for (int round = 0; round < 2000; round++)
        sum += walk(own);
    return sum & 0;
}
";

#[test]
fn of_two_runs_of_one_binary_nothing_is_told_apart() {
    let scene = Scene::new();
    scene.write("alike.c", BY_THE_STACK);
    scene.shell("gcc -O1 -g -o alike alike.c").success();
    let line = "ebs -u --source emulated --cache l1d=32k,8 -t l1_cache_miss -i 20 -c all";
    for run in 1..=4 {
        scene.run(&format!("{line} -o {run}.data ./alike")).success();
    }
    for pair in ["1.data 2.data", "2.data 3.data", "3.data 4.data"] {
        let diff = json(&scene.run(&format!("ebs diff --json {pair}")).success());
        let misses = event(&diff, "l1_cache_miss");
        assert_eq!(misses["told_apart"], 0, "{pair}: {misses:#}");
        for row in misses["rows"].as_array().unwrap() {
            let verdict = row["verdict"].as_str().unwrap();
            assert!(["unrepeated", "same", "too-few"].contains(&verdict), "{pair}: {row:#}");
            assert!(row["p"].is_null() && row["q"].is_null(), "{pair}: {row:#}");
        }
    }
}

#[test]
fn limits_decide_the_exit_status() {
    let scene = Scene::new();
    builds(&scene);
    record(&scene, "old", 1, "old.data");
    record(&scene, "new", 2, "new.data");
    let status = |arguments: &str| {
        let outcome = scene.shell(&format!("ebs diff {arguments}")).sane();
        (outcome.code(), outcome)
    };
    for (expected, arguments) in [
        (3, "--fail-on 'l1_cache_miss > +5%' new.data old.data"),
        (0, "--fail-on 'l1_cache_miss > +5%' old.data new.data"),
        (3, "--fail-on 'l1_cache_miss < -20%' old.data new.data"),
        // Samples of one run each say nothing of the next runs.
        (0, "--fail-on 'l1_cache_miss@add_* > +100%' new.data old.data"),
        (3, "--strict --fail-on 'l1_cache_miss@add_* > +100%' new.data old.data"),
        (0, "--fail-on 'l1_cache_miss@fill > +5%' old.data old.data"),
        (3, "--strict --fail-on 'l1_cache_miss@fill > +5%' old.data old.data"),
        (1, "--fail-on 'page_fault > +5%' old.data new.data"),
        (1, "--fail-on 'l1_cache_miss@nowhere > +5%' old.data new.data"),
        (2, "--fail-on 'l1_cache_miss' old.data new.data"),
        (2, "--by ip old.data new.data"),
        (2, "old.data"),
        (2, "--per nothing old.data new.data"),
    ] {
        let (code, outcome) = status(arguments);
        assert_eq!(code, expected, "{arguments}: {outcome}");
    }
}

#[test]
fn repeated_runs_tell_what_runs_vary_by() {
    let scene = Scene::new();
    builds(&scene);
    scene.shell("mkdir a b").success();
    for run in 1..=2 {
        record(&scene, "old", run, &format!("a/{run}.data"));
        record(&scene, "new", run + 10, &format!("b/{run}.data"));
    }
    for run in 3..=4 {
        record(&scene, "new", run + 10, &format!("{run}.data"));
    }
    let of_folders = scene.run("ebs diff --json a b").success();
    let diff = json(&of_folders);
    assert_eq!((&diff["repeated"], diff["a"].as_array().unwrap().len()), (&true.into(), 2));
    let misses = event(&diff, "l1_cache_miss");
    assert!(misses["dispersion"].as_f64().is_some_and(|factor| factor >= 0.0), "{misses:#}");
    assert_eq!(row(misses, "add_up")["verdict"], "down", "{misses:#}");
    let limit = "--fail-on 'l1_cache_miss@add_* > +100%'";
    assert_eq!(scene.shell(&format!("ebs diff {limit} b a")).sane().code(), 3);
    // Two runs of one build, and as many as tell what they vary by.
    for alike in ["b/1.data b/2.data", "--runs b/1.data b/2.data -- 3.data 4.data"] {
        let diff = json(&scene.run(&format!("ebs diff --json {alike}")).success());
        let misses = event(&diff, "l1_cache_miss");
        assert_eq!(misses["told_apart"], 0, "{alike}: {misses:#}");
        let is_stated = |row: &&Value| !row["q"].is_null() && diff["repeated"] == false;
        assert_eq!(misses["rows"].as_array().unwrap().iter().find(is_stated), None, "{alike}");
    }
    let of_lists =
        scene.run("ebs diff --runs --json a/1.data a/2.data -- b/1.data b/2.data").success();
    assert_eq!(of_folders.out, of_lists.out);
    scene.run("ebs diff --per walks=4 a/1.data b").success();
}

/// Software events have seconds, not instructions.
#[test]
fn without_instructions_rates_are_by_the_second() {
    if !rights::sampling("without_instructions_rates_are_by_the_second") {
        return;
    }
    let scene = Scene::new();
    builds(&scene);
    for program in ["old", "new"] {
        scene.run(&format!("ebs -u -t page_fault -o {program}.data ./{program} 1")).success();
    }
    let of = |arguments: &str| json(&scene.run(&format!("ebs diff --json {arguments}")).success());
    assert_eq!(of("old.data new.data")["per"], "second");
    let by_run = of("--per run old.data new.data");
    assert_eq!(by_run["per"], "run");
    let faults = event(&by_run, "page_fault");
    // fill() touches each page of the matrix first, in both.
    for side in ["a", "b"] {
        let count = row(faults, "fill")[side]["samples"].as_u64().unwrap();
        assert!((100..=200).contains(&count), "{faults:#}");
    }
    let none = scene.run("ebs diff --per instructions old.data new.data");
    none.refused(1, &["instructions", "instr_retired", "old.data"]);
}
