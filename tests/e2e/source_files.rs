//! Whole source files with counts by line.

use std::{collections::BTreeMap, fs, process::Command};

use serde_json::Value;
use tests::{Scene, rights, workload};

fn build(scene: &Scene) {
    fs::copy(workload::sources().join("callers.c"), scene.path("callers.c")).unwrap();
    let compiled = Command::new("gcc")
        .current_dir(scene.path("."))
        .args(["-O1", "-g", "-w", "-o", "callers", "callers.c"])
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// Events by line of callers.c, and of all lines, as the report by lines has
/// them.
fn reported(scene: &Scene, event: usize) -> (BTreeMap<u64, u64>, u64) {
    let report = scene.run("ebs report --by srcline --json r.data").success();
    let report: Value = serde_json::from_str(&report.out).unwrap();
    let event = &report["events"][event];
    let mut lines = BTreeMap::new();
    for row in event["rows"].as_array().unwrap() {
        let line = row["srcline"].as_str().and_then(|text| text.split_once("callers.c:"));
        if let Some((_, line)) = line {
            lines.insert(line.parse().unwrap(), row["period"].as_u64().unwrap());
        }
    }
    (lines, event["totals"]["period"].as_u64().unwrap())
}

#[test]
fn each_line_has_what_the_report_counts_there() {
    let test = "each_line_has_what_the_report_counts_there";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    scene.run("ebs -u -t page_fault,minor_fault -i =1,=3 -o r.data ./callers").success();
    let (faults, all) = reported(&scene, 0);
    let (minor, _) = reported(&scene, 1);
    assert!(!faults.is_empty() && !minor.is_empty());
    let source = fs::read_to_string(scene.path("callers.c")).unwrap();

    let shown = scene.run("ebs annotate --source callers.c --context all r.data").success();
    let (heading, listed) = shown.out.rsplit_once("/callers.c\n").unwrap();
    assert!(heading.lines().any(|line| line.trim_start().starts_with(&all.to_string())), "{shown}");
    let mut lines = listed.lines();
    for (number, text) in (1..).zip(source.lines()) {
        let line = lines.next().unwrap_or_else(|| panic!("line {number} is missing: {shown}"));
        assert!(line.ends_with(text.replace('\t', "    ").trim_end()), "{number}: {line:?}");
        let counts = line[..line.len() - text.trim_end().len()].replace("(", " ");
        let words: Vec<&str> = counts.split_whitespace().filter(|it| !it.ends_with("%)")).collect();
        let expected = [faults.get(&number), minor.get(&number)];
        let expected = expected.map(|count| match (count, expected == [None, None]) {
            (Some(count), _) => count.to_string(),
            (None, true) => ".".to_owned(),
            (None, false) => "-".to_owned(),
        });
        assert_eq!(words, expected, "{number}: {line:?}");
    }
    assert_eq!(lines.next(), None, "{shown}");

    let json = scene.run("ebs annotate --all --format json r.data").success();
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let files = json["files"].as_array().unwrap();
    let of = |file: &Value| file["file"].as_str().unwrap().ends_with("/callers.c");
    let own = files.iter().find(|file| of(file)).unwrap();
    for (event, expected) in [&faults, &minor].into_iter().enumerate() {
        let listed: BTreeMap<u64, u64> = own["lines"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(line, counts)| {
                (line.parse().unwrap(), counts[event]["period"].as_u64().unwrap())
            })
            .filter(|(_, period)| *period > 0)
            .collect();
        assert_eq!(&listed, expected, "event {event}");
    }
    // Files and what has no line are all that was counted.
    let sum = |part: &Value| part[0]["period"].as_u64().unwrap();
    let total: u64 = files.iter().map(|file| sum(&file["sums"])).sum();
    assert_eq!(total + sum(&json["without_line"]), all);
    let some = scene.run("ebs annotate --all --min-percent 100 r.data").success();
    assert!(!some.out.contains("callers.c\n"), "{some}");
}

/// Of drawn intervals a part of the samples is not the same part of the events.
#[test]
fn a_share_is_of_the_numbers_beside_it() {
    let scene = Scene::new();
    build(&scene);
    scene.run("ebs -u -t l1_cache_miss --source emulated -i 20 -o r.data ./callers").success();
    let json = scene.run("ebs annotate --all --format json r.data").success();
    let json: Value = serde_json::from_str(&json.out).unwrap();
    let all = json["events"][0]["period"].as_f64().unwrap();
    let mut drawn = false;
    for file in json["files"].as_array().unwrap() {
        let lines = file["lines"].as_object().unwrap().values();
        for counts in lines.chain([&file["sums"]]) {
            let (period, share) = (&counts[0]["period"], counts[0]["share"].as_f64().unwrap());
            assert!((share - period.as_f64().unwrap() / all).abs() < 1e-9, "{counts}");
            drawn |= period.as_u64() != counts[0]["count"].as_u64().map(|count| 20 * count);
        }
    }
    assert!(drawn, "no interval was drawn: {json}");
}

#[test]
fn a_file_without_samples_is_said() {
    let test = "a_file_without_samples_is_said";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    scene.run("ebs -u -t page_fault -i =1 -o r.data ./callers").success();
    let none = scene.run("ebs annotate --source other.c r.data");
    none.refused(1, &["no sample lies in a line of other.c", "callers.c"]);
    scene.run("ebs annotate main --all r.data").refused(1, &["not a routine"]);
    let hottest = scene.run("ebs annotate").success();
    let is_heading = |line: &str| line.starts_with("# ") && line.contains(" bytes: ");
    assert!(hottest.out.lines().any(is_heading), "the routine with most samples: {hottest}");
    fs::rename(scene.path("callers.c"), scene.path("moved.c")).unwrap();
    let gone = scene.run("ebs annotate --source callers.c r.data").success();
    assert!(gone.out.contains("(line ") && gone.err.contains("no source text of"), "{gone}");
}

/// `ebs report` and `ebs annotate` count at the same lines when both look at callers.
#[test]
fn lines_that_had_it_called_are_those_of_the_report() {
    let test = "lines_that_had_it_called_are_those_of_the_report";
    if !rights::sampling(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    scene.run("ebs -u -g -t page_fault -i =1 -o r.data ./callers").success();
    for cut in ["--outside touch,inner,libc*,ld-linux*", "--callers main"] {
        let report = scene.run(&format!("ebs report {cut} --by srcline --json r.data")).success();
        let report: Value = serde_json::from_str(&report.out).unwrap();
        let rows = report["events"][0]["rows"].as_array().unwrap();
        let lines: BTreeMap<u64, u64> = rows
            .iter()
            .filter_map(|row| {
                let (_, line) = row["srcline"].as_str()?.split_once("callers.c:")?;
                Some((line.parse().unwrap(), row["period"].as_u64().unwrap()))
            })
            .collect();
        assert!(lines.len() > 2, "{cut}: {lines:?}");
        let listed = scene.run(&format!("ebs annotate --all --format json {cut} r.data")).success();
        let listed: Value = serde_json::from_str(&listed.out).unwrap();
        let files = listed["files"].as_array().unwrap();
        let own = files.iter().find(|file| file["file"].as_str().unwrap().ends_with("/callers.c"));
        let own: BTreeMap<u64, u64> = own.unwrap()["lines"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(line, counts)| (line.parse().unwrap(), counts[0]["period"].as_u64().unwrap()))
            .collect();
        assert_eq!(own, lines, "{cut}");
    }
    scene.run("ebs annotate --outside touch main r.data").refused(1, &["--all", "frame=GLOB"]);
}
