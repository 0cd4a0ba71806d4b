//! What holds the bytes of an access: each access of a routine to objects of all kinds, by
//! where the program says that they lie.

use serde_json::Value;
use tests::{Scene, rights, workload};

/// An object as the program tells of it.
struct Told {
    start: u64,
    end: u64,
    name: String,
}

impl Told {
    fn of(line: &str) -> Option<Told> {
        let mut words = line.strip_prefix("holder ")?.splitn(3, ' ');
        let mut address = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
        let (start, end) = (address()?, address()?);
        Some(Told { start, end, name: words.next()?.to_owned() })
    }

    /// Whether a report names it rightly.
    fn is(&self, holder: &str) -> bool {
        match self.name.as_str() {
            "block from main" => holder.starts_with("block from main+0x"),
            "stack of thread" => holder.starts_with("stack of thread "),
            "own of thread" => holder == "own, thread-local",
            name => holder == name,
        }
    }
}

/// Address, holder and samples of each row.
fn rows(scene: &Scene, filter: &str) -> Vec<(u64, String, u64)> {
    let by = format!("-e *memory_moves* -f {filter} --by addr,holder --json h.data");
    let out = scene.run(&format!("ebs report {by}")).success().out;
    let report: Value = serde_json::from_str(&out).unwrap();
    let rows = report["events"][0]["rows"].as_array().unwrap().iter().map(|row| {
        let address = row["addr"].as_str().unwrap().trim_start_matches("0x");
        let holder = row["holder"].as_str().unwrap_or_default().to_owned();
        (u64::from_str_radix(address, 16).unwrap(), holder, row["count"].as_u64().unwrap())
    });
    rows.collect()
}

fn compare(build: &str) {
    let scene = Scene::new();
    let source = workload::sources().join("holders.c");
    scene.shell(&format!("{build} -g -pthread -o holders {}", source.display())).success();
    let run = "ebs -u -g --source emulated --heap -t memory_moves -i =1 -o h.data ./holders";
    let run = scene.run(run).success();
    let told: Vec<Told> = run.out.lines().filter_map(Told::of).collect();
    assert_eq!(told.len(), 9, "{run}");
    let at = |address: u64| told.iter().find(|it| (it.start..it.end).contains(&address));
    let mut seen = vec![0; told.len()];
    for (address, holder, count) in rows(&scene, "routine=touch") {
        // Its own variables lie where frames of others are at other times.
        if holder.ends_with(" of touch") {
            continue;
        }
        let of = at(address).unwrap_or_else(|| panic!("{build}: {address:#x}: {holder}"));
        assert!(of.is(&holder), "{build}: {address:#x} is {}: {holder}", of.name);
        seen[told.iter().position(|it| std::ptr::eq(it, of)).unwrap()] += count;
    }
    // One record, or a read's and a write's, of each of 24 numbers.
    let of_counted = told.iter().position(|it| it.name == "counted").unwrap();
    let each = seen[of_counted] / (20 * 24);
    assert!(each == 1 || each == 2, "{build}: {seen:?}");
    for (of, count) in told.iter().zip(&seen) {
        let calls = if of.name == "here in the frame of outer" { 21 } else { 20 };
        assert_eq!(*count, each * calls * 24, "{build}: {}", of.name);
    }
    // In code without debug info, whose callers hold what it writes.
    let mut set = 0;
    for (address, holder, count) in rows(&scene, "object=*libc*") {
        if holder == "here in the frame of outer" {
            assert!(at(address).is_some_and(|of| of.is(&holder)), "{build}: {address:#x}");
            set += count;
        }
    }
    assert!(set >= 21, "{build}: {set} stores of memset(3)");
}

#[test]
fn each_access_is_on_what_the_program_says() {
    let test = "each_access_is_on_what_the_program_says";
    if !rights::emulated_pmu(test) || !rights::program(test, "gcc") {
        return;
    }
    for build in ["gcc -O0", "gcc -O2", "gcc -O2 -fno-pie -no-pie -fno-omit-frame-pointer"] {
        compare(build);
    }
}

#[test]
fn each_access_is_on_what_clang_says() {
    let test = "each_access_is_on_what_clang_says";
    if !rights::emulated_pmu(test) || !rights::program(test, "clang-14") {
        return;
    }
    for build in ["clang-14 -O0", "clang-14 -O2"] {
        compare(build);
    }
}
