//! Types of a recording with the samples of their members.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::{Scene, rights, workload};

const CACHE: &str = "--source emulated --cache l1d=32k,8";

fn document(scene: &Scene, line: &str) -> Value {
    let out = scene.run(line).success().out;
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line}: {error}: {out}"))
}

fn build(scene: &Scene, name: &str) {
    let source = workload::sources().join(format!("{name}.c"));
    scene.shell(&format!("gcc -g -O2 -pthread -o {name} {}", source.display())).success();
}

fn samples(of: &Value) -> u64 {
    of["counts"].as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap()).sum()
}

/// Samples of what has no members within.
fn in_members(members: &Value) -> u64 {
    let members = members.as_array().map(Vec::as_slice).unwrap_or_default();
    let own = members.iter().map(|member| match member["use"].is_object() {
        true => samples(&member["use"]),
        false => in_members(&member["members"]),
    });
    own.sum()
}

/// Of each row of a report the counts of all events, by one or two keys.
fn reported(report: &Value, keys: [&str; 2]) -> BTreeMap<[String; 2], u64> {
    let mut counts = BTreeMap::new();
    // Layouts have no rows of blocks that were given or given back: these are no accesses.
    let is_access = |event: &&Value| {
        let name = event["name"].as_str().unwrap();
        !["allocation", "release", "mapping"].iter().any(|it| name.contains(it))
    };
    for event in report["events"].as_array().unwrap().iter().filter(is_access) {
        for row in event["rows"].as_array().unwrap() {
            let names = keys.map(|key| row[key].as_str().unwrap_or_default().to_owned());
            *counts.entry(names).or_default() += row["count"].as_u64().unwrap();
        }
    }
    counts
}

#[test]
fn samples_of_members_are_those_of_the_report() {
    let test = "samples_of_members_are_those_of_the_report";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "typed");
    let events = "-t l1_cache_miss -t memory_moves";
    // With the heap blocks tell types, too, when all samples are counted.
    for heap in ["", "--heap"] {
        let line = format!("ebs -u {CACHE} {events} {heap} -i =23 -o t.data ./typed");
        scene.run(&line).success();
        members_are_as_reported(&scene, "t.data");
    }
}

fn members_are_as_reported(scene: &Scene, recording: &str) {
    let layouts = document(scene, &format!("ebs layout -f object=*/typed --json {recording}"));
    let by = "-f object=*/typed --json --by type,member";
    let report = document(scene, &format!("ebs report {by} {recording}"));
    let mut left = BTreeMap::new();
    for ([of, _], count) in reported(&report, ["type", "member"]) {
        *left.entry(of).or_insert(0) += count;
    }
    for of in layouts["types"].as_array().unwrap() {
        let whole = samples(&of["use"]);
        *left.get_mut(of["type"].as_str().unwrap()).unwrap() -= whole;
        if of["sums"].is_object() {
            let holes = of["holes"].as_array().unwrap().iter().filter(|it| it["use"].is_object());
            let beyond = of["beyond"].as_array().unwrap().iter().map(samples).sum::<u64>();
            let holes = holes.map(|it| samples(&it["use"])).sum::<u64>();
            let members = in_members(&of["members"]);
            assert_eq!(members + holes + beyond + samples(&of["unplaced"]), whole, "{of}");
        }
    }
    let named = |event: &Value| event["event"].as_str().unwrap_or_default().to_owned();
    let untyped = layouts["untyped"].as_array().unwrap();
    let of_heap = |name: String| ["allocation", "release"].iter().any(|it| name.contains(it));
    assert!(!untyped.iter().map(named).any(of_heap), "{untyped:?}");
    let untyped: u64 = untyped.iter().map(|it| it["count"].as_u64().unwrap()).sum();
    assert_eq!(left.remove("").unwrap(), untyped, "samples without a type");
    assert!(left.len() > 8 && left.values().all(|rest| *rest == 0), "{left:?}");

    // Member by member.
    let rows = reported(&report, ["type", "member"]);
    let item = format!("ebs layout -f object=*/typed --json item {recording}");
    let item = document(scene, &item);
    let [item] = item["types"].as_array().unwrap().as_slice() else { panic!("one type: {item}") };
    for member in item["members"].as_array().unwrap().iter().filter(|it| it["use"].is_object()) {
        let name = member["name"].as_str().unwrap();
        let own =
            |it: &&[String; 2]| it[0] == "struct item" && it[1].split('.').next() == Some(name);
        let expected: u64 = rows.keys().filter(own).map(|key| rows[key]).sum();
        assert_eq!(samples(&member["use"]), expected, "{member}: {rows:?}");
    }
}

#[test]
fn threads_that_read_and_write_are_told_by_member() {
    let test = "threads_that_read_and_write_are_told_by_member";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "members");
    scene
        .run(&format!("ebs -u {CACHE} -t memory_moves -i =1 -o t.data ./members threads"))
        .success();
    let routines = "-f routine=adds --json entry t.data";
    let uses = |line: &str| -> BTreeMap<String, Value> {
        let of = document(&scene, &format!("ebs layout {line}"))["types"][0].clone();
        let members = of["members"].as_array().unwrap().iter();
        let named = members.map(|it| (it["name"].as_str().unwrap().to_owned(), it["use"].clone()));
        named.collect()
    };
    let all = uses("-f object=*/members --json entry t.data");
    let limit = &all["limit"];
    assert_eq!((&limit["reads"], &limit["writes"]), (&3200.into(), &0.into()), "{limit}");
    assert_eq!((&limit["readers"], &limit["writers"]), (&1.into(), &0.into()), "{limit}");
    let counted = &all["counted"];
    // main reads them all once more.
    assert_eq!((&counted["reads"], &counted["writes"]), (&3264.into(), &3200.into()), "{counted}");
    assert_eq!((&counted["readers"], &counted["writers"]), (&2.into(), &1.into()), "{counted}");
    assert!(counted["latency"].as_f64().unwrap() > 1.0, "{counted}");
    assert!(all["label"].is_null(), "nobody uses it");
    let of_one = uses(routines);
    assert_eq!(of_one["counted"]["readers"], 1, "filters hold");
    assert!(of_one["limit"].is_null(), "filters hold");

    let text = scene.run("ebs layout -f object=*/members entry t.data").success().out;
    assert!(text.contains("struct entry {") && !text.contains('\x1b'), "{text}");
    let table = scene.run("ebs layout -f object=*/members --top 1 t.data").success().out;
    assert!(table.contains("struct entry") && table.contains("more types"), "{table}");
    for (line, code, why) in [
        (
            "ebs layout -f object=*/members nosuch t.data",
            1,
            "no sample is on a type \"nosuch\"; most are on",
        ),
        ("ebs layout --event nosuch t.data", 1, "no event of this stream is called"),
        ("ebs layout -f pid=x t.data", 2, "\"x\" is not a process id"),
        ("ebs layout --top 3 members", 1, "no recording"),
    ] {
        scene.run(line).refused(code, &[why]);
    }
}

/// Members that are missed together are put into one line. What is expected of that is what
/// the program misses that was edited so: within a tenth by visits, as a smaller
/// part of memory also hits more; within a hundredth in the model's caches.
#[test]
fn an_order_spares_what_it_is_expected_to() {
    let test = "an_order_spares_what_it_is_expected_to";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "members");
    let source = workload::sources().join("members.c");
    scene.shell(&format!("gcc -g -O2 -pthread -DNEAR -o near {}", source.display())).success();
    scene
        .run(&format!("ebs -u {CACHE} -t l1_cache_miss -i =1 -o far.data ./members far"))
        .success();
    scene.run(&format!("ebs -u {CACHE} -t l1_cache_miss -i =1 -o near.data ./near far")).success();
    let of = |program: &str, data: &str| {
        let line = format!("ebs layout -f object=*/{program} --json record {data}");
        document(&scene, &line)["types"][0].clone()
    };
    let (far, near) = (of("members", "far.data"), of("near", "near.data"));
    assert!(near["order"].is_null(), "{near}");
    let order = &far["order"];
    let members: Vec<(&str, u64)> = order["members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["name"].as_str().unwrap(), it["offset"].as_u64().unwrap()))
        .collect();
    let expected = [("first", 0), ("second", 8), ("name", 16), ("comment", 136)];
    assert_eq!(members, expected, "{order}");
    assert_eq!(order["size"], serde_json::json!([192, 192]), "{order}");

    let edited = samples(&near["use"]);
    let told = order["misses"][1].as_f64().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "some ten thousand")]
    let misses = edited as f64;
    assert!((told - misses).abs() < misses / 10.0, "{told} expected, {misses} there are");
    let change = order["change"].as_str().unwrap();
    let line = format!("--cache l1d=32k,8 --json --try {change}@records -- ./members far");
    let tried = document(&scene, &format!("ebs causes {line}"));
    let rows = tried["events"][0]["rows"].as_array().unwrap();
    let after = rows.iter().filter(|row| row["data"] == "records").map(|row| {
        let after = row["after"].as_array().unwrap();
        after.iter().filter_map(|it| it["events"].as_u64()).sum::<u64>()
    });
    let after: u64 = after.sum();
    assert!(after.abs_diff(edited) * 100 < edited, "{after} tried, {edited} in the edited program");
    let text = scene.run("ebs layout -f object=*/members record far.data").success().out;
    assert!(text.contains("/*     8     8, was 128 */"), "{text}");
    assert!(text.contains(&format!("--try '{change}@records'")), "{text}");
}

#[test]
fn what_other_threads_write_is_put_apart() {
    let test = "what_other_threads_write_is_put_apart";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    build(&scene, "members");
    scene
        .run(&format!("ebs -u {CACHE} -t memory_moves -i =1 -o t.data ./members threads"))
        .success();
    let entry = document(&scene, "ebs layout -f object=*/members --json entry t.data");
    let order = &entry["types"][0]["order"];
    let counted = order["members"].as_array().unwrap().iter().find(|it| it["name"] == "counted");
    assert_eq!(counted.unwrap()["offset"], 64, "{order}");
    assert_eq!((&order["size"][1], &order["align"]), (&128.into(), &64.into()), "{order}");
    assert_eq!(order["shared"], serde_json::json!([3200.0, 0.0]), "{order}");
    assert!(order["misses"].is_null(), "no event is about misses: {order}");
}
