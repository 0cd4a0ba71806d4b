use hardmeter_tests::{Account, Scene, Workload, rights};

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
        let refused = scene.run(&format!("ebs -u -t {kind} true"));
        let refused =
            refused.refused(1, &["ebs: ", kind.trim_end_matches("_miss"), "no hardware PMU"]);
        assert_eq!(refused.err.trim_end().lines().count(), 1, "{refused}");
        let nearest = refused.err.split_once("Nearest: ").expect("names a nearest type").1;
        let nearest = nearest.split([',', ';']).next().unwrap();
        if !nearest.starts_with("mem:") && rights::sampling("nearest types") {
            scene.run(&format!("ebs -u -t {nearest} -o near.data ls")).success();
        }
    }
}

/// The kernel's count of instructions is perf's, and the CPU's records are
/// exact.
#[test]
fn instructions_are_those_that_perf_counts() {
    let test = "instructions_are_those_that_perf_counts";
    if !rights::sampling(test) || !rights::perf(test) {
        return;
    }
    if !rights::core_pmu() {
        eprintln!("skipped: {test}: no core PMU under /sys/bus/event_source/devices");
        return;
    }
    let scene = Scene::new();
    Workload::List.build(&scene);
    let line = "ebs -u -t instr_retired -i 100000 -c all -o i.data ./list";
    let sampled = scene.run(line).success();
    let account = Account::of_stream(&scene.path("i.data"));
    assert_eq!(account.count("kernel") / 100_000, account.count("delivered") + account.lost());
    let counted = scene.shell("perf stat -x, -e instructions:u ./list 2>&1 >/dev/null").success();
    let perf: f64 =
        counted.out.lines().find_map(|line| line.split(',').next()?.parse().ok()).unwrap();
    #[allow(clippy::cast_precision_loss, reason = "counts below 2^52")]
    let ours = account.count("kernel") as f64;
    assert!((ours / perf - 1.0).abs() < 0.02, "{ours} against perf's {perf}: {sampled}");
    let exact = scene.run("ebs report --json i.data").success().out;
    assert!(exact.contains("\"exact_ip\""), "{exact}");
}
