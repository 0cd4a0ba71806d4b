//! `ebs PROGRAM`: the answer on one screen.

use tests::{Scene, rights};

/// By columns: each of 512 x 512 loads misses, as their lines are in one set. The compiler calls the
/// pure function once.
const WALK: &str = "
#include <stdio.h>
long grid[512][512];
__attribute__((noinline)) long by_columns(void) {
    long sum = 0;
    for (int column = 0; column < 512; column++)
        for (int row = 0; row < 512; row++)
            sum += grid[row][column]; // the site
    return sum;
}
int main(void) {
    long sum = 0;
    for (int times = 0; times < 4; times++)
        sum += by_columns();
    printf(\"sum %ld\\n\", sum);
    return 3;
}
";

fn walk(name: &str) -> Option<Scene> {
    if !rights::program(name, "gcc") {
        return None;
    }
    let scene = Scene::new();
    scene.write("walk.c", WALK);
    scene.shell("gcc -O1 -g -o walk walk.c").success();
    Some(scene)
}

#[test]
fn a_program_alone_is_answered() {
    let Some(scene) = walk("a_program_alone_is_answered") else { return };
    let answer = scene.run("ebs --source emulated ./walk");
    assert_eq!(answer.code(), 3, "the program's status: {answer}");
    let summary = answer.out.strip_prefix("sum 0\n").expect("the program's output comes first");
    let lines: Vec<&str> = summary.lines().collect();
    assert!(lines.len() <= 25, "{} lines: {answer}", lines.len());
    for line in &lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(lines[0].starts_with("walk: 26"), "each of 262,144 loads: {answer}");
    // The first site is the loop's load, on the array, with a cause.
    let first = lines.iter().position(|line| line.contains('%')).expect("has sites");
    let share: f64 = lines[first].trim().split(' ').next().unwrap().parse().unwrap();
    assert!(share > 80.0, "{answer}");
    assert!(lines[first].contains("by_columns") && lines[first].contains("walk.c:8"), "{answer}");
    assert!(lines[first + 1].contains("grid"), "{answer}");
    assert!(lines[first + 2].contains(" -> "), "a cause and a remedy: {answer}");
    assert!(scene.path("ebs.data").exists());
    // At most one notice and a last line.
    assert!(answer.err.lines().count() <= 2, "{answer}");
    // What comes next is understood as it stands.
    let next: Vec<&str> =
        lines.iter().skip_while(|line| !line.starts_with("Next:")).copied().collect();
    assert_eq!(next.len(), 3, "{answer}");
    for line in next {
        let command = line.trim_start_matches("Next:").trim().split("  ").next().unwrap();
        scene.run(command).success();
    }
}

#[test]
fn an_earlier_recording_is_kept_and_a_folder_that_takes_none_is_no_failure() {
    let name = "an_earlier_recording_is_kept_and_a_folder_that_takes_none_is_no_failure";
    let Some(scene) = walk(name) else { return };
    scene.run("ebs -q --source emulated ./walk");
    let first = std::fs::read(scene.path("ebs.data")).unwrap();
    let quiet = scene.run("ebs -q --source emulated ./walk");
    assert!(quiet.err.is_empty(), "{quiet}");
    assert_eq!(std::fs::read(scene.path("ebs.data.old")).unwrap(), first);
    // What is there and no file of ours is not touched.
    std::fs::remove_file(scene.path("ebs.data")).unwrap();
    std::fs::create_dir(scene.path("ebs.data")).unwrap();
    let unkept = scene.run("ebs --source emulated ./walk");
    assert_eq!(unkept.code(), 3, "{unkept}");
    assert!(unkept.out.contains("No recording was kept"), "{unkept}");
    assert!(scene.path("ebs.data").is_dir());
}

/// With periods by themselves the estimates of sites are what every miss says.
#[test]
fn adapted_periods_estimate_what_every_miss_says() {
    let Some(scene) = walk("adapted_periods_estimate_what_every_miss_says") else { return };
    let counts = |file: &str| -> (f64, f64, u64) {
        let report = scene.run(&format!("ebs report --json --by routine {file}")).success().out;
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let event = &report["events"][0];
        let rows = event["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| {
            row["keys"]["routine"] == "by_columns" || row.to_string().contains("by_columns")
        });
        let row = row.expect("has samples");
        (
            row["share"].as_f64().unwrap(),
            row["share_error"].as_f64().unwrap(),
            event["totals"]["counted"].as_u64().unwrap(),
        )
    };
    let line = "ebs --source emulated -u -t l1_cache_miss";
    scene.run(&format!("{line} -i 1 -c all -o each.data ./walk"));
    let (truth, no_error, each) = counts("each.data");
    assert!(no_error.abs() < 1e-12 && each > 262_000, "{each}");
    for seed in 1..=5 {
        scene.run(&format!("{line} --seed {seed} -o adapted.data ./walk"));
        let (share, error, samples) = counts("adapted.data");
        assert!((2_048..30_000).contains(&samples), "{samples} samples");
        assert!((share - truth).abs() <= 5.0 * error + 1e-4, "{share} +- {error}, not {truth}");
    }
}

#[test]
fn a_short_run_has_every_event() {
    let scene = Scene::new();
    let line = "ebs --source emulated -u -t l1_cache_miss -o f.data true";
    scene.run(line).success();
    let report = scene.run("ebs report --json f.data").success().out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let totals = &report["events"][0]["totals"];
    let (counted, period) =
        (totals["counted"].as_u64().unwrap(), totals["period"].as_u64().unwrap());
    assert!(counted > 0);
    assert!(counted == period || counted >= 2_048, "{counted} samples for {period} events");
}
