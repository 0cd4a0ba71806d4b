//! What programs map themselves: each write to it, by the routine that mapped it.

use std::collections::BTreeMap;

use tests::{Account, Outcome, Scene, rights, workload};

/// Pages by what a report is to call what they are of, as far as the routine's name.
fn told(outcome: &Outcome) -> BTreeMap<String, u64> {
    let holder = |line: &str| {
        let (pages, holder) = line.split_once(' ')?;
        Some((holder.to_owned(), pages.parse().ok()?))
    };
    outcome.out.lines().filter_map(holder).collect()
}

/// Rows of the routine that writes, by a key.
fn rows(scene: &Scene, event: &str, key: &str) -> BTreeMap<String, u64> {
    let options = format!("-e {event} --by {key} --csv --filter routine=touch");
    // Of what lines hold commas a cell is not whole.
    scene.run(&format!("ebs report {options} m.data")).success().counts_by(key)
}

/// The same by what holds the address, without the place in the routine.
fn found(scene: &Scene, event: &str) -> BTreeMap<String, u64> {
    let options = format!("-e {event} --by holder --json --filter routine=touch");
    let out = scene.run(&format!("ebs report {options} m.data")).success().out;
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let mut found = BTreeMap::new();
    for row in report["events"][0]["rows"].as_array().unwrap() {
        let holder = row["holder"].as_str().unwrap_or("[none]");
        let site = holder.split('+').next().unwrap_or(holder).to_owned();
        *found.entry(site).or_default() += row["count"].as_u64().unwrap();
    }
    found
}

fn build(scene: &Scene, options: &str) {
    let source = workload::sources().join("mappings.c").display().to_string();
    scene.shell(&format!("gcc {options} -g -pthread -o mappings {source}")).success();
}

fn lost(scene: &Scene) -> u64 {
    let accounts = Account::each_of_stream(&scene.path("m.data"));
    for account in &accounts {
        assert_eq!(account.count("kernel"), account.count("delivered") + account.lost());
    }
    accounts.iter().map(Account::lost).sum()
}

#[test]
fn every_write_is_on_the_mapping_of_who_made_it() {
    let test = "every_write_is_on_the_mapping_of_who_made_it";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    for options in ["-O1", "-O2 -fno-pie -no-pie", "-O2 -static -no-pie"] {
        build(&scene, options);
        let run = "ebs -u -g -t memory_stores -i 1 --source emulated --heap -o m.data ./mappings";
        let run = scene.run(run).success();
        assert_eq!(lost(&scene), 0, "the emulation loses nothing: {run}");
        let truth = told(&run);
        assert_eq!(truth.len(), 10, "{run}");
        assert_eq!(found(&scene, "memory_stores"), truth, "{options}");
        // The same by the lives of mappings, each of its own.
        let lives = rows(&scene, "memory_stores", "block");
        let of_mappings = lives.iter().filter(|(life, _)| life.starts_with("\"mapping of "));
        let of_mappings: Vec<u64> = of_mappings.map(|(_, count)| *count).collect();
        let mapped = truth.iter().filter(|(holder, _)| holder.contains("mapping"));
        let sum: u64 = mapped.map(|(_, count)| count).sum();
        assert_eq!(of_mappings.iter().sum::<u64>(), sum, "{options}: {lives:?}");
        assert_eq!(of_mappings.len(), 12, "eight, and four of threads: {lives:?}");
    }
}

#[test]
fn each_fault_is_on_the_mapping_of_who_made_it() {
    let test = "each_fault_is_on_the_mapping_of_who_made_it";
    let runs = rights::sampling(test) && rights::program(test, "gcc");
    if !cfg!(target_arch = "x86_64") || !runs {
        return;
    }
    let scene = Scene::new();
    build(&scene, "-O1");
    for heap in ["--heap=1", "--heap"] {
        let run =
            scene.run(&format!("ebs -u -d -t page_fault -i 1 {heap} -o m.data -- ./mappings"));
        let run = run.success();
        let lost = lost(&scene);
        if lost > 0 {
            eprintln!("nothing to compare: {lost} records were lost: {run}");
            continue;
        }
        let is_told = |holder: &String| heap == "--heap=1" || holder.contains("mapping");
        let of = |mut all: BTreeMap<String, u64>| {
            all.retain(|holder, _| is_told(holder));
            all
        };
        assert_eq!(of(found(&scene, "page_fault")), of(told(&run)), "{heap}: {run}");
    }
}

/// Memory that no mmap(2) made, too: what a program gets by brk(2), by shmat(2), as its stack
/// grows, by mremap(2).
#[test]
fn memory_of_each_kind_has_its_name_with_data_mappings() {
    let test = "memory_of_each_kind_has_its_name_with_data_mappings";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    let scene = Scene::new();
    let source = workload::sources().join("kinds.c").display().to_string();
    scene.shell(&format!("gcc -O1 -g -o kinds {source}")).success();
    let run = "ebs -u -t memory_stores -i 1 --source emulated -d -c all -o m.data ./kinds";
    scene.run(run).success();
    for (kind, name) in [
        ("heap", "[heap]"),
        ("grown", "[stack]"),
        ("segment", "/SYSV00000000 (deleted)"),
        ("memory_file", "/memfd:some"),
        ("anonymous", "//anon"),
        ("moved", "//anon"),
    ] {
        let report = format!("ebs report --by variable --csv --filter routine={kind} m.data");
        let counts = scene.run(&report).success().counts_by("variable");
        let named = counts.get(name).copied().unwrap_or(0);
        // The routine writes to its frame, too.
        let all: u64 = counts.values().sum();
        assert!(named >= 1000 && all < named + 10, "{kind}: {counts:?}");
    }
    let by_all = scene.run("ebs report --by variable --reasons m.data").success();
    assert!(!by_all.out.contains("no recorded mapping holds"), "{by_all}");
    assert!(!by_all.out.contains("perf-PID.map"), "{by_all}");
}
