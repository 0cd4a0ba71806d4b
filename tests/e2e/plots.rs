//! Histograms behind a report: they count what the report counts.

use serde_json::Value;
use tests::{Scene, rights};

/// Samples of the rows of a plot, and of the lines that tell of others: from the
/// heading that has `by WHAT` to the next blank line.
fn counted(text: &str, by: &str) -> u64 {
    let begins = |line: &&str| line.starts_with("# ") && line.contains(by);
    let part = text.lines().skip_while(|line| !begins(line)).skip(1);
    let mut sum = 0;
    for line in part.take_while(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap();
        if first == "#" && line.contains("more set") || line.starts_with("# in no bar: ") {
            let before = line.split(" sample").next().unwrap();
            sum += before.split(' ').next_back().unwrap().parse::<u64>().unwrap();
        } else if words.next().is_some_and(|share| share.ends_with('%')) {
            sum += first.parse::<u64>().unwrap();
        }
    }
    sum
}

fn totals(scene: &Scene, question: &str) -> u64 {
    let told = scene.run(&format!("ebs report --json {question} f.data")).success();
    let report: Value = serde_json::from_str(&told.out).unwrap();
    report["events"][0]["totals"]["counted"].as_u64().unwrap()
}

/// Both plots of all samples, and of some.
fn conserve(scene: &Scene, questions: &[&str]) {
    for question in questions {
        let plotted = scene.run(&format!("ebs report --plot {question} f.data")).success().out;
        let counted_in_all = totals(scene, question);
        assert!(counted_in_all > 0, "{question}");
        for by in ["by set of", "by latency"] {
            assert_eq!(counted(&plotted, by), counted_in_all, "{question}, {by}: {plotted}");
        }
    }
}

#[test]
fn plots_count_what_the_report_counts() {
    if !rights::program("plots_count_what_the_report_counts", "gcc") {
        return;
    }
    let scene = Scene::new();
    let source = tests::workload::sources().join("layouts.c");
    scene
        .shell(&format!(
            "gcc -O1 -g -static -no-pie -fno-pie -pthread -o layouts {}",
            source.display()
        ))
        .success();
    let line =
        "ebs -u -t l1_cache_miss -i 7 -c all --cache l1d=32k,8 -o f.data ./layouts rows before";
    scene.run(line).success();
    conserve(&scene, &["", "-f routine=visit", "--by routine --mem", "--line-size 128"]);

    // Rows of 2048 bytes lie in two sets of 64: these are the fullest.
    let text = scene.run("ebs report --plot=ascii -f routine=visit f.data").success().out;
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("64 sets of 64-byte lines, as the recording's model has them"), "{text}");
    assert!(text.contains(" hit "), "levels: {text}");
    assert!(scene.run("ebs report --plot=blocks f.data").success().out.contains('█'));
    for form in ["--json", "--csv", "--folded", "--join", "--regs"] {
        scene.run(&format!("ebs report --plot {form} f.data")).refused(2, &[form, "--plot"]);
    }
}

#[test]
fn what_has_no_address_is_told_apart() {
    if !rights::sampling("what_has_no_address_is_told_apart") {
        return;
    }
    let scene = Scene::new();
    let busy = "i=0; while ((i < 100000)); do ((++i)); done";
    scene.shell(&format!("ebs -u -t cpu_clock -i 100k -o f.data bash -c '{busy}'")).success();
    conserve(&scene, &[""]);
    let text = scene.run("ebs report --plot f.data").success().out;
    assert!(text.contains("without a data address"), "{text}");
    assert!(text.contains("without a latency"), "{text}");
}
