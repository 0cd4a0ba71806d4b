//! The questions of docs/parquet.md, word by word, to a fleet's folder.

use std::{collections::BTreeMap, fs};

use serde_json::Value;
use tests::{Scene, rights, workload};

use super::{json, number};

/// The questions as the page has them.
fn questions() -> Vec<String> {
    let page = workload::sources().join("../../docs/parquet.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = page.split("```sql\n").skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}

/// Asks DuckDB; a list of rows.
fn ask(scene: &Scene, python: &str, question: &str) -> Vec<Value> {
    scene.write("ask.py", ASK);
    scene.write("question.sql", question);
    let answer = json(&scene.run(&format!("{python} ask.py")).success().out);
    answer.as_array().unwrap().clone()
}

const ASK: &str = r#"
import json, duckdb
fleet = "read_parquet('fleet/**/*.parquet', hive_partitioning = true)"
duckdb.sql("create view samples as select * from " + fleet)
answer = duckdb.sql(open("question.sql").read())
print(json.dumps([dict(zip(answer.columns, row)) for row in answer.fetchall()], default=float))
"#;

/// Another host, of whose accesses every third is remote.
const FAR: &str = r#"
import glob, os, duckdb
of = "select * replace (addr %% 3 = 0 as remote) from '%s'" % glob.glob("fleet/*/*/part-0.parquet")[0]
os.makedirs("fleet/host=far/day=2026-11-28")
duckdb.sql(of).write_parquet("fleet/host=far/day=2026-11-28/part-0.parquet")
"#;

/// Records and exports a build of a program; its build id.
fn build(scene: &Scene, optimized: &str) -> String {
    let source = workload::sources().join("typed.c");
    let id = "-Wl,--build-id=sha1";
    scene
        .shell(&format!("gcc -g {optimized} {id} -pthread -o typed {}", source.display()))
        .success();
    let cache = "--source emulated --cache l1d=32k,8 -t l1_cache_miss -i =97";
    scene.run(&format!("ebs -u -d {cache} -o f.data ./typed")).success();
    scene.run("ebs export --to parquet -o fleet f.data").success();
    let told = scene.shell("readelf -n typed").success().out;
    told.split("Build ID: ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

/// Rows of a report, by routine.
fn routines(scene: &Scene, options: &str) -> BTreeMap<String, u64> {
    let line = format!("ebs report --json --by routine {options} f.data");
    let report = json(&scene.run(&line).success().out);
    let rows = report["events"][0]["rows"].as_array().unwrap().clone();
    let name = |row: &Value| row["routine"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(|row| (name(row), number(&row["period"]))).collect()
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap_or_else(|| panic!("no number: {value}"));
    assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value}, not {expected}");
}

#[test]
fn the_questions_of_the_page_have_right_answers() {
    let test = "the_questions_of_the_page_have_right_answers";
    let needs = ["gcc", "readelf"];
    if !rights::emulated_pmu(test) || !needs.iter().all(|it| rights::program(test, it)) {
        return;
    }
    let Some(python) = rights::python(test, &["duckdb"]) else { return };
    let [sites, builds, hosts] = questions().try_into().unwrap();
    let scene = Scene::new();
    fs::create_dir(scene.path("fleet")).unwrap();
    let new = build(&scene, "-O2");
    let after = routines(&scene, "-f object=*/typed");
    // One recording: the report is the oracle, and its errors too.
    let report = json(&scene.run("ebs report --json --by object,routine f.data").success().out);
    let rows = report["events"][0]["rows"].as_array().unwrap();
    let answer = ask(&scene, &python, &sites);
    assert_eq!(answer.len(), rows.len().min(10));
    let (first, row) = (&answer[0], &rows[0]);
    assert_eq!([&first["object"], &first["routine"]], [&row["object"], &row["routine"]]);
    close(&first["events"], row["period"].as_f64().unwrap());
    close(&first["samples"], row["count"].as_f64().unwrap());
    close(&first["percent"], 100.0 * row["share"].as_f64().unwrap());
    close(&first["plus_minus"], 196.0 * row["share_error"].as_f64().unwrap());
    // Two builds.
    let old = build(&scene, "-O1");
    assert_ne!(old, new);
    let before = routines(&scene, "-f object=*/typed");
    let answer = ask(&scene, &python, &builds.replace("OLD", &old).replace("NEW", &new));
    for row in &answer {
        let routine = row["routine"].as_str().unwrap();
        for (events, of) in [("old_events", &before), ("new_events", &after)] {
            close(&row[events], of.get(routine).copied().unwrap_or(0) as f64);
        }
    }
    assert!(!answer.is_empty());
    // Parts lie beside each other, and nothing else does.
    let parts = scene.shell("cd fleet && find . -type f | sort").success().out;
    assert!(parts.lines().all(|part| part.contains("/day=")), "{parts}");
    assert_eq!(parts.lines().count(), 2, "{parts}");
    // Hosts.
    scene.write("far.py", FAR);
    scene.run(&format!("{python} far.py")).success();
    let answer = ask(&scene, &python, &hosts);
    assert_eq!((answer.len(), &answer[0]["host"]), (2, &Value::from("far")), "{answer:?}");
    let [far, own] = [&answer[0], &answer[1]];
    close(
        &far["percent"],
        100.0 * far["remote_events"].as_f64().unwrap() / far["events"].as_f64().unwrap(),
    );
    assert!(far["remote_events"].as_f64().unwrap() > 0.0, "{far}");
    assert_eq!(own["remote_events"].as_f64(), Some(0.0), "{own}");
}
