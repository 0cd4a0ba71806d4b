//! Machines that are in no archive: trees changed by hand, as other kernels,
//! firmware and hypervisors have them.

use super::machine::Machine;
use super::trees;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

fn notes(plan: &Value) -> String {
    plan["notes"].to_string()
}

#[test]
fn a_directory_that_is_no_machine_is_named() {
    let (text, status) = trees::print_at(Path::new("/nonexistent"), &["-t", "l1_cache_miss"]);
    assert_eq!(status, 1);
    assert!(text.contains("/nonexistent"), "{text}");
    let empty = TempDir::new().unwrap();
    let (text, status) = trees::print_at(empty.path(), &["-t", "l1_cache_miss"]);
    assert_eq!(status, 1);
    assert!(text.contains("devices"), "{text}");
}

#[test]
fn a_cpu_of_no_table_gets_the_kernels_event_with_skid() {
    let plan = Machine::like("skylake-client").model(250).without("devices/cpu/caps").plan(&[
        "-u",
        "-t",
        "l1_cache_miss",
    ]);
    assert_eq!((&plan["uarch"], &plan["equivalence"]), (&json!("unknown"), &json!("near")));
    let event = &plan["events"][0];
    assert_eq!((&event["type"], &event["config"]), (&json!(3), &json!("0x10000")));
    assert_eq!((&event["precise_ip"], &event["promises"]["exact_ip"]), (&json!(0), &json!(false)));
    assert!(notes(&plan).contains("no table"), "{plan}");
}

#[test]
fn a_type_that_no_generic_event_comes_near_is_refused_on_an_unknown_cpu() {
    let machine = Machine::like("skylake-client").model(250).without("devices/cpu/caps");
    let text = machine.refusal(&["-t", "packed_sp_retired"]);
    assert!(text.contains("packed_sp_retired"), "{text}");
}

#[test]
fn without_cpuinfo_the_kernels_name_of_the_pmu_will_do() {
    let machine = Machine::like("skylake-client").without("cpuinfo");
    let plan = machine.plan(&["-u", "-t", "l1_cache_miss"]);
    assert_eq!(plan["events"][0]["config"], "0x8d1");
    assert_eq!(plan["promises"]["exact_ip"], true);
}

#[test]
fn a_newer_amd_cpu_is_sampled_by_ibs() {
    let machine = Machine::like("zen5").family(31);
    let plan = machine.plan(&["-u", "-t", "l1_cache_miss"]);
    assert_eq!((&plan["uarch"], &plan["events"][0]["pmu"]), (&json!("unknown"), &json!("ibs_op")));
    assert_eq!(plan["filter"], "ibs:ld_op+ibs:dc_miss+mode:user");
}

#[test]
fn a_guest_without_pebs_has_skid_or_nothing() {
    let machine = Machine::like("skylake-client").with("devices/cpu/caps/max_precise", "0\n");
    let text = machine.refusal(&["-u", "-t", "l1_cache_miss"]);
    assert!(text.contains("max_precise") && text.contains("--allow-skid"), "{text}");
    let plan = machine.plan(&["-u", "-t", "l1_cache_miss", "--allow-skid"]);
    let event = &plan["events"][0];
    assert_eq!((&event["config"], &event["precise_ip"]), (&json!("0x8d1"), &json!(0)));
    assert_eq!(plan["promises"]["exact_ip"], false);
    assert_eq!(plan["promises"]["data_address"], false);
}

#[test]
fn allowing_skid_lowers_the_floor_only() {
    let machine = Machine::like("skylake-client");
    let floor = |words: &[&str]| {
        let plan = machine.plan(words);
        let event = &plan["events"][0];
        (event["precise_ip"].clone(), event["least_precise_ip"].clone())
    };
    assert_eq!(floor(&["-u", "-t", "l1_cache_miss"]), (json!(2), json!(1)));
    assert_eq!(floor(&["-u", "-t", "l1_cache_miss", "--allow-skid"]), (json!(2), json!(0)));
}

#[test]
fn ibs_with_a_software_filter_leaves_the_kernel_out() {
    let machine = Machine::like("zen5").with("devices/ibs_op/format/swfilt", "config2:0\n");
    let plan = machine.plan(&["-u", "-t", "l1_cache_miss"]);
    let event = &plan["events"][0];
    assert_eq!((&event["exclude_kernel"], &event["exclude_user"]), (&json!(true), &json!(false)));
    assert_eq!(
        (&event["config2"], &plan["filter"]),
        (&json!("0x1"), &json!("ibs:ld_op+ibs:dc_miss"))
    );
    let both = machine.plan(&["-uk", "-t", "l1_cache_miss"]);
    assert_eq!(both["events"][0]["config2"], "0x0");
    assert_eq!(both["events"][0]["exclude_kernel"], false);
}

#[test]
fn ibs_thresholds_where_the_format_has_them() {
    let machine = Machine::like("zen5").with("devices/ibs_op/format/ldlat", "config1:0-11\n");
    let plan = machine.plan(&["-uk", "-t", "load_latency", "-m", "ldlat=256"]);
    assert_eq!(plan["events"][0]["config1"], "0x100");
    assert_eq!(plan["promises"]["weight"], "miss-latency-cycles");
    let text = machine.refusal(&["-uk", "-t", "load_latency", "-m", "ldlat=30"]);
    assert!(text.contains("128"), "{text}");
    let text = Machine::like("zen5").refusal(&["-t", "load_latency", "-m", "ldlat=256"]);
    assert!(text.contains("ldlat"), "{text}");
}

#[test]
fn ibs_looks_for_l3_misses_in_hardware_where_it_can() {
    let l3 = |tree: &str| Machine::like(tree).plan(&["-uk", "-t", "l3_cache_miss"]);
    let plan = l3("zen4");
    assert_eq!(plan["events"][0]["config"], "0x90000");
    assert!(notes(&plan).contains("l3missonly"), "{plan}");
    let plan = l3("zen2");
    assert_eq!(plan["events"][0]["config"], "0x80000");
    assert!(plan["filter"].as_str().unwrap().contains("l3_miss"), "{plan}");
}

#[test]
fn ibs_counts_in_steps() {
    let plan = Machine::like("zen4").plan(&["-uk", "-t", "uop_retired", "-i", "1000"]);
    assert_eq!(plan["events"][0]["sample_period"], 1008);
    assert!(notes(&plan).contains("1008 instead of 1000"), "{plan}");
    let plan = Machine::like("zen4").plan(&["-uk", "-t", "uop_retired", "-i", "1"]);
    assert_eq!(plan["events"][0]["sample_period"], 0x90);
    let most = i64::MAX.to_string();
    let plan = Machine::like("zen4").plan(&["-uk", "-t", "uop_retired", "-i", &most]);
    assert_eq!(plan["events"][0]["sample_period"], i64::MAX / 16 * 16);
}

#[test]
fn load_latency_has_its_helper_where_the_kernel_wants_one() {
    let plan =
        Machine::like("sapphirerapids-rtm").plan(&["-u", "-t", "load_latency", "-m", "ldlat=30"]);
    let events = plan["events"].as_array().unwrap();
    assert_eq!(events.len(), 2, "{plan}");
    assert_eq!((&events[0]["config"], &events[0]["sample_period"]), (&json!("0x8203"), &json!(0)));
    assert_eq!((&events[0]["carrier"], &events[0]["leader"]), (&json!(true), &Value::Null));
    assert_eq!((&events[1]["config"], &events[1]["config1"]), (&json!("0x1cd"), &json!("0x1e")));
    assert_eq!(events[1]["leader"], 0);
    assert_eq!(plan["promises"]["weight"], "load-latency-cycles");
    // Granite Rapids: the same core, without the helper.
    let granite =
        Machine::like("sapphirerapids-rtm").model(173).without("devices/cpu/events/mem-loads-aux");
    let plan = granite.plan(&["-u", "-t", "load_latency"]);
    assert_eq!(plan["events"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(plan["events"][0]["config1"], "0x3");
    let hybrid = Machine::like("alderlake-hybrid").plan(&["-u", "-t", "load_latency"]);
    let shape = hybrid["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["pmu"].clone(), event["config"].clone(), event["leader"].clone()));
    assert_eq!(
        shape.collect::<Vec<_>>(),
        [
            (json!("cpu_core"), json!("0x8203"), Value::Null),
            (json!("cpu_core"), json!("0x1cd"), json!(0)),
            (json!("cpu_atom"), json!("0x5d0"), Value::Null),
        ]
    );
}

#[test]
fn a_kernel_without_the_field_refuses_by_name() {
    let old = Machine::like("skylake-client").without("devices/cpu/format/ldlat");
    let text = old.refusal(&["-u", "-t", "load_latency"]);
    assert!(text.contains("ldlat"), "{text}");
    let narrow =
        Machine::like("sierraforest").model(221).with("devices/cpu/format/umask", "config:8-15\n");
    let text = narrow.refusal(&["-u", "-t", "x87_fp_retired"]);
    assert!(text.contains("0x10000000000 of config"), "{text}");
}

#[test]
fn intervals_that_the_kernel_refuses_are_refused_first() {
    let refusal = |tree: &str, words: &[&str]| Machine::like(tree).refusal(words);
    let text = refusal("nehalem-ep", &["-u", "-t", "l1_cache_miss", "-i", "31"]);
    assert!(text.contains("-i 32"), "{text}");
    let text = refusal("haswell-rtm", &["-u", "-t", "instr_retired", "-i", "127"]);
    assert!(text.contains("-i 128"), "{text}");
    let precise = |interval: &str| {
        let machine = Machine::like("sapphirerapids-rtm");
        machine.plan(&["-u", "-t", "l1_cache_miss", "-i", interval])["events"][0]["precise_ip"]
            .clone()
    };
    assert_eq!((precise("127"), precise("128")), (json!(2), json!(3)));
}

#[test]
fn masks_of_l2_requests() {
    let config = |tree: &str, masks: &str| {
        let plan = Machine::like(tree).plan(&["-u", "-t", "l2_rqsts", "-m", masks]);
        plan["events"][0]["config"].as_str().unwrap().to_owned()
    };
    assert_eq!(config("skylake-client", "demand_rd,rfo,miss"), "0x2324");
    assert_eq!(config("skylake-client", "l1_pf,l2_pf,hit_m,hit_es"), "0xd824");
    assert_eq!(config("icelake-x-rtm", "sw_pf,miss"), "0x2824");
    assert_eq!(config("nehalem-ep", "demand_rd,rfo,miss"), "0xa24");
    for masks in ["demand_rd", "miss", "demand_rd,nonsense", "demand_rd,hit_m,l3"] {
        let text = Machine::like("skylake-client").refusal(&["-t", "l2_rqsts", "-m", masks]);
        assert!(text.contains("demand_rd") && text.contains("miss"), "{text}");
    }
    let plan = Machine::like("skylake-client").plan(&["-u", "-t", "fb_alloc"]);
    assert_eq!(plan["events"][0]["config"], "0x448");
    let text = Machine::like("skylake-client").refusal(&["-t", "l1_cache_miss", "-m", "rfo"]);
    assert!(text.contains("no masks"), "{text}");
}

#[test]
fn events_by_terms_codes_and_names() {
    let machine = Machine::like("skylake-client");
    let event = |spec: &str| machine.plan(&["-t", spec])["events"][0].clone();
    for spec in [
        "cpu/event=0xd1,umask=0x8/pp",
        "r8d1:pp",
        "MEM_LOAD_RETIRED.L1_MISS",
        "mem_load_retired.l1_miss:pp",
        "MEM_LOAD_RETIRED:L1_MISS:pp",
        "cpu/mem_load_retired.l1_miss/",
    ] {
        let event = event(spec);
        assert_eq!(
            (&event["config"], &event["precise_ip"]),
            (&json!("0x8d1"), &json!(2)),
            "{spec}"
        );
        assert_eq!(event["promises"]["exact_ip"], true, "{spec}");
        assert_eq!(event["promises"]["data_address"], true, "{spec}");
        assert_eq!(event["type"], 4, "{spec}");
    }
    let stripped = event("r5301c4");
    assert_eq!(stripped["config"], "0x1c4");
    let user = event("r5101c4");
    assert_eq!((&user["exclude_kernel"], &user["exclude_user"]), (&json!(true), &json!(false)));
    let cycles = event("cycles:pp");
    assert_eq!((&cycles["type"], &cycles["config"]), (&json!(0), &json!("0x0")));
    assert_eq!(cycles["promises"]["ip"], "as-each-record-says");
    let loads = event("cpu/mem-loads,ldlat=30/P");
    assert_eq!((&loads["config"], &loads["config1"]), (&json!("0x1cd"), &json!("0x1e")));
    let misses = event("L1-dcache-load-misses:u");
    assert_eq!((&misses["type"], &misses["config"]), (&json!(3), &json!("0x10000")));
    assert_eq!(misses["exclude_kernel"], true);
}

#[test]
fn events_that_are_not_there_name_their_neighbours() {
    let machine = Machine::like("skylake-client");
    let text = machine.refusal(&["-t", "MEM_LOAD_RETIRED.L1_MIS"]);
    assert!(text.to_lowercase().contains("mem_load_retired.l1_miss"), "{text}");
    let text = machine.refusal(&["-t", "cpu/evnt=0xd1/"]);
    assert!(text.contains("event"), "{text}");
    let text = machine.refusal(&["-t", "cpu/event=0x1d1/"]);
    assert!(text.contains("too wide") && text.contains("8 bits"), "{text}");
    let text = machine.refusal(&["-u", "-t", "cycles:k"]);
    assert!(text.contains("exclude each other"), "{text}");
    let text = machine.refusal(&["-t", "L1-dcache-laod-misses"]);
    assert!(text.contains("L1-dcache-load-misses"), "{text}");
    let text = machine.refusal(&["-t", "cpux/event=0xd1/"]);
    assert!(text.contains("cpux"), "{text}");
    let text = Machine::like("alderlake-hybrid").refusal(&["-t", "r8d1"]);
    assert!(text.contains("cpu_core") && text.contains("cpu_atom"), "{text}");
    let text = Machine::like("sandybridge-ep-real-2013").refusal(&["-t", "uncore_imc_0/event=1/"]);
    assert!(text.contains("no samples"), "{text}");
}

#[test]
fn amd_hands_precise_cycles_on_to_ibs() {
    let machine = Machine::like("zen4");
    let plan = machine.plan(&["-u", "-t", "cycles:pp", "-i", "1000"]);
    let event = &plan["events"][0];
    assert_eq!((&event["precise_ip"], &event["sample_period"]), (&json!(2), &json!(1008)));
    for bit in ["exclude_user", "exclude_kernel", "exclude_hv", "exclude_guest"] {
        assert_eq!(event[bit], false, "{bit}");
    }
    assert_eq!(event["promises"]["registers"], "interrupt-time");
    assert_eq!(plan["filter"], "mode:user");
    for refused in ["cycles:ppp", "instructions:pp", "L1-dcache-loads:p"] {
        machine.refusal(&["-t", refused]);
    }
}

#[test]
fn events_of_one_request_have_one_interval() {
    let plan = Machine::like("skylake-x-rtm").plan(&["-u", "-t", "hitm"]);
    let periods: Vec<_> =
        plan["events"].as_array().unwrap().iter().map(|event| &event["sample_period"]).collect();
    assert_eq!(periods, [100_007, 100_007]);
}

#[test]
fn events_that_need_one_counter_do_not_take_turns_on_it() {
    let precise = |tree: &str, kind: &str| -> Vec<u64> {
        let plan = Machine::like(tree).plan(&["-u", "-t", kind]);
        let events = plan["events"].as_array().unwrap();
        events.iter().map(|event| event["precise_ip"].as_u64().unwrap()).collect()
    };
    assert_eq!(precise("sapphirerapids-rtm", "hitm"), [2, 2]);
    assert_eq!(precise("sapphirerapids-rtm", "l1_cache_miss"), [3]);
    assert_eq!(precise("alderlake-hybrid", "hitm"), [3, 2]);
}

#[test]
fn generic_events_of_a_hybrid_name_each_pmu() {
    let plan = Machine::like("alderlake-hybrid").plan(&["-t", "cycles"]);
    let configs: Vec<_> = plan["events"].as_array().unwrap().iter().map(|e| &e["config"]).collect();
    assert_eq!(configs, [&json!("0x400000000"), &json!("0xa00000000")]);
    assert_eq!(
        (&plan["events"][0]["cpus"], &plan["events"][1]["cpus"]),
        (&json!("0-15"), &json!("16-23"))
    );
}

#[test]
fn older_kernels_get_what_they_know() {
    let fields = |version: &str| {
        let machine = Machine::like("skylake-client");
        let plan = machine.plan(&["-u", "-t", "load_latency", "--kernel", version]);
        (plan["events"][0]["sample_type"].to_string(), notes(&plan))
    };
    let (new, _) = fields("6.12");
    assert!(new.contains("WEIGHT_STRUCT"), "{new}");
    let (old, told) = fields("5.4");
    assert!(old.contains("\"WEIGHT\"") && !old.contains("WEIGHT_STRUCT"), "{old}");
    assert!(told.contains("5.12"), "{told}");
}

#[test]
fn arm_spe_is_named_and_not_supported() {
    let text = Machine::like("neoverse-n1-spe").refusal(&["-u", "-t", "l1_cache_miss"]);
    assert!(text.contains("Arm SPE") && text.contains("not"), "{text}");
}

#[test]
fn a_guest_without_a_pmu_names_cause_and_nearest() {
    for kind in trees::hardware_types() {
        let pmu_alone = ["-u", "--source", "pmu"];
        for words in [&pmu_alone[..], &["-k"], &["-u", "-k"]] {
            let words = [&["-t", kind], words].concat();
            let (value, status) = trees::plan("kvm-guest-no-pmu", &words);
            assert_eq!(status, 1, "{words:?}");
            let text = value["refused"].as_str().unwrap();
            assert!(text.contains("no hardware PMU") && !text.contains('\n'), "{text}");
            assert!(!value["nearest"].as_array().unwrap().is_empty(), "{words:?}");
        }
    }
}

/// What the model has takes the PMU's place for user code, and says so
/// wherever it is shown; what it has not is refused as before.
#[test]
fn a_guest_without_a_pmu_emulates_user_code() {
    const NOT_MODELLED: [&str; 8] = [
        "uop_retired",
        "load_latency",
        "store_latency",
        "remote_dram",
        "branch_mispredict",
        "fb_full",
        "l2_rqsts",
        "fb_alloc",
    ];
    let mut count = 0;
    for kind in trees::hardware_types() {
        let (value, status) = trees::plan("kvm-guest-no-pmu", &["-t", kind, "-u"]);
        assert_eq!(status, u8::from(NOT_MODELLED.contains(&kind)), "{value}");
        if status == 1 {
            continue;
        }
        count += 1;
        let event = &value["events"][0];
        assert_eq!((&event["pmu"], &value["uarch"]), (&"emulated".into(), &Value::Null));
        assert_eq!(event["name"], format!("emulated/{kind}/"));
        assert_eq!(event["promises"]["source"], "emulated");
        let notes: Vec<&str> =
            value["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
        let [drawn, emulated] = notes[..] else { panic!("{notes:?}") };
        assert!(drawn.contains("each period is drawn, from 1 to "), "{drawn}");
        assert!(emulated.contains("no hardware PMU"), "{emulated}");
        assert!(emulated.contains("is emulated ("), "{emulated}");
    }
    assert!(count >= 22, "{count}");
    let wanted = ["-u", "-t", "l1_cache_miss", "--source", "emulated"];
    let (value, status) = trees::plan("skylake-client", &wanted);
    assert_eq!((status, &value["events"][0]["pmu"]), (0, &"emulated".into()), "{value}");
    let (value, status) = trees::plan("skylake-client", &wanted[..3]);
    assert_eq!((status, &value["events"][0]["pmu"]), (0, &"cpu".into()), "{value}");
}
