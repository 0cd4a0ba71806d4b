use serde_json::Value;
use tests::{Scene, Workload, rights};

/// Types that want a PMU, from `ebs list`'s own table.
const TYPES: [&str; 20] = [
    "instr_retired",
    "uop_retired",
    "memory_loads",
    "memory_stores",
    "memory_moves",
    "packed_sp_retired",
    "packed_dp_retired",
    "scaler_sp_retired",
    "scaler_dp_retired",
    "64bit_mmx_retired",
    "128bit_mmx_retired",
    "x87_fp_retired",
    "x87_simd_memory_moves_retired",
    "l1_cache_miss",
    "l2_cache_miss",
    "dtlb_load_miss",
    "dtlb_stor_miss",
    "dtlb_all_miss",
    "mob_load_replay_retired",
    "split_load_retired",
];

#[test]
fn without_a_pmu_each_type_says_why_and_what_is_nearest() {
    if rights::core_pmu() {
        eprintln!(
            "skipped: without_a_pmu_each_type_says_why_and_what_is_nearest: this machine has a PMU"
        );
        return;
    }
    let scene = Scene::new();
    for kind in TYPES {
        let refused = scene.run(&format!("ebs -u --source pmu -t {kind} true"));
        let refused =
            refused.refused(1, &["ebs: ", kind.trim_end_matches("_miss"), "no hardware PMU"]);
        let lines: Vec<&str> = refused.err.trim_end().lines().collect();
        assert!(lines.len() == 1 || lines.len() == 2 && lines[1].starts_with("Try: "), "{refused}");
        let nearest = refused.err.split_once("Nearest: ").expect("names a nearest type").1;
        let nearest = nearest.split([',', ';']).next().unwrap();
        if !nearest.starts_with("mem:") && rights::sampling("nearest types") {
            scene.run(&format!("ebs -u -t {nearest} -o near.data ls")).success();
        }
    }
}

/// What a recording holds, all events of its request together.
struct Counted {
    /// Happenings that the kernel counted.
    events: u64,
    samples: u64,
    /// Samples that the type means, and those of them with an exact IP.
    kept: u64,
    exact: u64,
}

fn sample(scene: &Scene, kind: &str, interval: u64) -> Counted {
    let line = format!("ebs -u -t {kind} -i ={interval} -c all -o s.data ./list 3000");
    scene.run(&line).success();
    let report = scene.run("ebs report --json s.data").success().out;
    let report: Value = serde_json::from_str(&report).unwrap();
    let event = &report["events"][0];
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{kind}: {report}"));
    Counted {
        events: number(&event["ledger"]["events"]),
        samples: number(&event["totals"]["samples"]),
        kept: number(&event["totals"]["counted"]),
        exact: number(&event["totals"]["exact_ip"]),
    }
}

/// The same program by `perf stat`.
fn perf_counts(scene: &Scene, event: &str) -> u64 {
    let line = format!("perf stat -x, -e {event} ./list 3000 2>&1 >/dev/null");
    let counted = scene.shell(&line).success();
    let sum = |lines: &str| -> u64 {
        let first = |line: &str| line.split(',').next().and_then(|word| word.parse::<u64>().ok());
        lines.lines().filter_map(first).sum()
    };
    sum(&counted.out)
}

fn is_near(one: u64, other: u64) -> bool {
    one.abs_diff(other) * 50 <= one.max(other)
}

/// With a PMU the kernel's counts of instructions, else those of faults,
/// are perf's, and every so many are a sample.
#[test]
fn counts_are_those_of_perf() {
    let test = "counts_are_those_of_perf";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    let mut events = vec![("page_fault", "page-faults:u", 10)];
    if rights::core_pmu() {
        events.push(("instr_retired", "instructions:u", 10_000));
    } else {
        eprintln!("skipped in part: {test}: instructions, as there is no PMU of a core");
    }
    for (ours, theirs, interval) in events {
        let counted = sample(&scene, ours, interval);
        let perf = perf_counts(&scene, theirs);
        assert!(
            counted.events > 1000 && is_near(counted.events, perf),
            "{}, {perf}",
            counted.events
        );
        let made = counted.samples * interval;
        assert!(counted.events.abs_diff(made) * 10 <= made, "{} of {made}", counted.events);
    }
}

/// Whatever type the machine says it has, it has, as precise as promised.
#[test]
fn each_type_keeps_its_promises() {
    let test = "each_type_keeps_its_promises";
    if !rights::sampling(test) {
        return;
    }
    if !rights::core_pmu() {
        eprintln!("skipped: {test}: no PMU of a core under /sys/bus/event_source/devices");
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    for kind in TYPES {
        let plan = scene.run(&format!("ebs plan --json -u -t {kind}"));
        let plan: Value = serde_json::from_str(&plan.out).unwrap();
        if plan["refused"].is_string() {
            eprintln!("skipped in part: {test}: {kind}: {}", plan["refused"]);
            continue;
        }
        let counted = sample(&scene, kind, 1008);
        if plan["promises"]["exact_ip"] == true && counted.kept > 100 {
            assert!(counted.exact * 10 >= counted.kept * 9, "{kind}: {} exact", counted.exact);
        }
    }
}
