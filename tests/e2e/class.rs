use std::collections::BTreeMap;
use std::time::Duration;

use tests::running::has_attached;
use tests::{Outcome, Running, Scene, Workload, rights};

/// Which sites of the workload are of which class.
const CLASSES: [(&str, &[&str]); 11] = [
    ("packed_sp", &["addps"]),
    ("packed_dp", &["mulpd"]),
    ("scalar_sp", &["addss"]),
    ("scalar_dp", &["cvttsd2si"]),
    ("mmx64", &["paddd_mm"]),
    ("mmx128", &["paddq_xmm"]),
    ("x87", &["fadds"]),
    ("x87_simd_moves", &["fldl", "movaps_load", "movups_store", "movq_mm_store"]),
    (
        "reads_memory",
        &[
            "addps",
            "mulpd",
            "addss",
            "cvttsd2si",
            "paddd_mm",
            "paddq_xmm",
            "fadds",
            "fldl",
            "movaps_load",
            "mov_load",
            "add_both",
        ],
    ),
    ("writes_memory", &["movups_store", "movq_mm_store", "mov_store", "add_both"]),
    (
        "accesses_memory",
        &[
            "addps",
            "mulpd",
            "addss",
            "cvttsd2si",
            "paddd_mm",
            "paddq_xmm",
            "fadds",
            "fldl",
            "movaps_load",
            "movups_store",
            "movq_mm_store",
            "mov_load",
            "mov_store",
            "add_both",
        ],
    ),
];

/// Counts by site, as the workload told them.
fn truth(told: &str) -> BTreeMap<String, u64> {
    let sites = told.lines().filter_map(|line| line.strip_prefix("site class_"));
    let site = |line: &str| {
        let (name, count) = line.split_once(' ').unwrap();
        (name.to_owned(), count.parse().unwrap())
    };
    sites.map(site).collect()
}

/// Counts by routine of the workload, from a table by routine as CSV.
fn counted(report: &Outcome) -> BTreeMap<String, u64> {
    let rows = report.out.lines().skip(1);
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        Some((cells[5].strip_prefix("class_")?.to_owned(), cells[1].parse().unwrap()))
    };
    rows.filter_map(row).collect()
}

#[test]
fn each_class_counts_exactly_its_instructions() {
    if !rights::sampling("each_class_counts_exactly_its_instructions") {
        return;
    }
    let scene = Scene::new();
    Workload::Classes.build(&scene);
    let told = scene.run("ebs -u -t page_fault -i 1 -c all -o x.data ./classes 40").success();
    let truth = truth(&told.out);
    assert_eq!(truth.len(), 14, "{told}");
    for (class, sites) in CLASSES {
        let line = format!("ebs report --class {class} --by routine --csv x.data");
        let report = scene.run(&line).success();
        let expected: BTreeMap<_, _> =
            sites.iter().map(|site| ((*site).to_owned(), truth[*site])).collect();
        assert_eq!(counted(&report), expected, "{class}: {report}");
    }
    // Nothing else in the program computes on fresh pages with these.
    for class in ["packed_sp", "packed_dp", "mmx64", "x87"] {
        let head = scene.run(&format!("ebs report --class {class} x.data")).success().out;
        let site = CLASSES.iter().find(|(known, _)| *known == class).unwrap().1[0];
        let said = format!("# only class:{class}: {} of ", truth[site]);
        let line = head.lines().find(|line| line.starts_with(&said));
        let line = line.unwrap_or_else(|| panic!("no {said:?}: {head}"));
        assert!(line.contains(", 0 undecided; about "), "{line}");
        let lines = scene.run(&format!("ebs script --class {class} -F ip,sym x.data")).success();
        assert_eq!(lines.out.lines().count() as u64, truth[site], "{lines}");
        assert!(lines.out.lines().all(|line| line.contains(&format!("class_{site}"))), "{lines}");
        assert!(lines.err.contains(&format!("records are of class:{class}")), "{lines}");
    }
    scene.run("ebs report --class packed x.data").refused(2, &["packed", "packed_sp"]);
}

/// The estimate scales what the kernel counted, not what was sampled.
#[test]
fn the_share_of_a_class_scales_the_kernels_count() {
    if !rights::sampling("the_share_of_a_class_scales_the_kernels_count") {
        return;
    }
    let scene = Scene::new();
    Workload::Classes.build(&scene);
    // The sites take turns: an interval that divides 14 would see but some.
    let told = scene.run("ebs -u -t page_fault -i 5 -c all -o x.data ./classes 400").success();
    let truth = truth(&told.out);
    let report = scene.run("ebs report --class packed_sp --json x.data").success().out;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let filter = &report["events"][0]["filter"];
    let number = |key: &str| filter[key].as_u64().unwrap_or_else(|| panic!("no {key}: {filter}"));
    assert!(number("sampled") * 5 <= number("events"), "{filter}");
    let (estimate, sites) = (number("estimate"), truth["addps"]);
    assert!(estimate.abs_diff(sites) < sites / 2, "about {estimate} of {sites}: {filter}");
}

/// Code without a file is read from the process while it lives, and nothing
/// is made up when it has ended.
#[test]
fn code_in_memory_is_read_while_the_process_lives() {
    if !rights::sampling("code_in_memory_is_read_while_the_process_lives") {
        return;
    }
    let scene = Scene::new();
    let program = Workload::Classes.build(&scene);
    let mut jit = Running::start(scene.command(&program).args(["400", "jit"]));
    assert_eq!(jit.hear(), "ready");
    let target = jit.pid();
    let mut ebs = scene.start(&format!("ebs -u -t page_fault -c 60 -o j.data {target}"));
    ebs.wait_until("it attached", |pid| has_attached(pid, target));
    std::thread::sleep(Duration::from_millis(200));
    jit.tell("go");
    assert_eq!(jit.hear(), "done");
    ebs.finish().success();
    let report = || {
        let text = scene.run("ebs report --class packed_sp --json j.data").success().out;
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let filter = report["events"][0]["filter"].clone();
        let open: u64 =
            filter["undecided"].as_object().unwrap().values().filter_map(|it| it.as_u64()).sum();
        (filter["kept"].as_u64().unwrap(), open, filter)
    };
    let (alive, open, filter) = report();
    // A few faults are those of reading the line.
    assert!(alive >= 50 && open == 0, "{filter}");
    jit.finish().success();
    let (dead, open, filter) = report();
    assert_eq!((dead, open), (0, alive), "{filter}");
    assert!(filter["undecided"].to_string().contains("have ended"), "{filter}");
}
