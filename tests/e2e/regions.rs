//! Regions that a program marks: what is in them is what the program says.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use tests::{Account, Outcome, Scene, rights, workload};

fn build(scene: &Scene) {
    let compiled = Command::new("gcc")
        .args(["-O2", "-Wall", "-pthread", "-static", "-no-pie", "-fno-pie", "-o"])
        .arg(scene.path("regions"))
        .arg(workload::sources().join("emulated/regions.c"))
        .output()
        .expect("these tests need gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// The stores in each region, outermost first, as the program tells them.
#[track_caller]
fn truth(told: &Outcome) -> BTreeMap<String, u64> {
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["stores", path, number] => Some((path.to_owned(), number.parse().unwrap())),
        _ => None,
    };
    told.out.lines().filter_map(line).collect()
}

#[track_caller]
fn report(scene: &Scene, arguments: &str) -> serde_json::Value {
    let told = scene.run(&format!("ebs report --json --top 100000 {arguments}")).success();
    serde_json::from_str(&told.out).unwrap()
}

/// The samples of a recording in each region.
#[track_caller]
fn by_region(scene: &Scene, file: &str) -> BTreeMap<String, u64> {
    let report = report(scene, &format!("--by region {file}"));
    let rows = report["events"][0]["rows"].as_array().unwrap().iter();
    let path = |row: &serde_json::Value| row["region"].as_str().unwrap_or_default().to_owned();
    rows.map(|row| (path(row), row["count"].as_u64().unwrap())).collect()
}

#[track_caller]
fn assert_account(scene: &Scene, file: &str) -> Account {
    let account = Account::of_stream(&scene.path(file));
    assert_eq!(account.count("kernel"), account.count("delivered") + account.lost(), "{account:?}");
    account
}

#[test]
fn regions_under_the_emulated_pmu() {
    let test = "regions_under_the_emulated_pmu";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    let ebs = "ebs -u --source emulated -t memory_stores -i =1 -o s.data";
    let told = scene.run(&format!("{ebs} ./regions")).success();
    let truth = truth(&told);
    assert_eq!(truth.len(), 14, "{told}");
    scene.run("ebs convert --pipe s.data p.data").success();
    for file in ["s.data", "p.data"] {
        let account = assert_account(&scene, file);
        let found = by_region(&scene, file);
        for (path, stores) in &truth {
            assert_eq!(found.get(path), Some(stores), "{path}: {found:?}");
        }
        assert_eq!(found.values().sum::<u64>(), account.count("delivered"), "{found:?}");
        // The library stores in the region where a signal is raised, too.
        let names = truth.keys().flat_map(|path| path.split('/')).collect::<BTreeSet<_>>();
        for name in names.into_iter().filter(|name| *name != "handled") {
            let within = truth.iter().filter(|(path, _)| path.split('/').any(|part| part == name));
            let kept = report(&scene, &format!("--filter region={name} {file}"));
            let expected: u64 = within.map(|(_, stores)| stores).sum();
            assert_eq!(kept["events"][0]["totals"]["counted"], expected, "{name}");
        }
    }
    if rights::perf(test) {
        let perf = scene.run("perf script -F event -i s.data").success();
        let account = Account::of_stream(&scene.path("s.data"));
        assert_eq!(perf.out.lines().count() as u64, account.count("delivered"));
    }
}

/// Between bursts marks are told as in them: no sample is in a region that the
/// program is not in.
#[test]
fn regions_of_bursts() {
    let test = "regions_of_bursts";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    let ebs = "ebs -u --source emulated -t memory_stores -i =1";
    for burst in ["10/100+0", "1k/20k+1k"] {
        let told = scene.run(&format!("{ebs} --burst {burst} -o b.data ./regions")).success();
        let truth = truth(&told);
        let account = assert_account(&scene, "b.data");
        let found = by_region(&scene, "b.data");
        for (path, stores) in &found {
            let most = truth.get(path).copied();
            let other = ["", "handled", "before"].contains(&path.as_str());
            assert!(other || most.is_some_and(|most| *stores <= most), "{path}: {stores}");
        }
        assert_eq!(found.values().sum::<u64>(), account.count("delivered"), "{found:?}");
    }
}

#[test]
fn a_hundred_thousand_marks() {
    let test = "a_hundred_thousand_marks";
    if !rights::emulated_pmu(test) {
        return;
    }
    let scene = Scene::new();
    build(&scene);
    let ebs = "ebs -u --source emulated -t memory_stores -i =1 -o m.data";
    scene.run(&format!("{ebs} ./regions marks 100000")).success();
    let account = assert_account(&scene, "m.data");
    let found = by_region(&scene, "m.data");
    assert_eq!(found.get("loop"), Some(&100_000), "{found:?}");
    assert_eq!(found.values().sum::<u64>(), account.count("delivered"));
}
