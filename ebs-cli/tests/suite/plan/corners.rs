//! What plans and refusals say where a machine or a request is unusual.

use super::machine::Machine;
use serde_json::json;

#[test]
fn the_only_kind_of_core_with_a_pmu_keeps_its_cpus() {
    for (gone, left, cpus) in [("cpu_core", "cpu_atom", "16-23"), ("cpu_atom", "cpu_core", "0-15")]
    {
        let machine = Machine::like("alderlake-hybrid").without(&format!("devices/{gone}"));
        let plan = machine.plan(&["-u", "-t", "l1_cache_miss"]);
        let event = &plan["events"][0];
        assert_eq!((&event["pmu"], &event["cpus"]), (&json!(left), &json!(cpus)));
    }
}

#[test]
fn of_several_kinds_of_cores_the_large_one_says_why() {
    let machine = Machine::like("lunarlake-hybrid");
    let text = machine.refusal(&["-u", "-t", "fb_alloc"]);
    assert!(text.contains("lunarlake_lioncove") && text.contains("fb_full"), "{text}");
    let text = machine.refusal(&["-u", "-t", "l2_rqsts", "-m", "demand_rd,hit_m"]);
    assert!(text.contains("no mask \"hit_m\""), "{text}");
}

#[test]
fn a_latency_threshold_of_ibs_comes_with_another_filter() {
    let machine = Machine::like("zen5")
        .with("devices/ibs_op/format/swfilt", "config2:0\n")
        .with("devices/ibs_op/format/ldlat", "config1:0-11\n");
    let plan = machine.plan(&["-u", "-t", "load_latency", "-m", "ldlat=256"]);
    assert!(plan["notes"].to_string().contains("miss no L3"), "{plan}");
}

#[test]
fn the_most_precise_of_amd_is_ibs() {
    let machine = Machine::like("zen4");
    for event in ["cycles:P", "r76:P", "rc1:P"] {
        let plan = machine.plan(&["-u", "-t", event]);
        assert_eq!(plan["events"][0]["precise_ip"], 2, "{event}: {plan}");
        assert_eq!(plan["promises"]["exact_ip"], true, "{event}");
    }
    let plan = machine.plan(&["-u", "-t", "instructions:P"]);
    assert_eq!(plan["events"][0]["precise_ip"], 0, "{plan}");
    let without = Machine::like("zen4").without("devices/ibs_op");
    assert_eq!(without.plan(&["-u", "-t", "cycles:P"])["events"][0]["precise_ip"], 0);
}

#[test]
fn ibs_of_fetches_excludes_nothing_either() {
    let plan = Machine::like("zen4").plan(&["-u", "-t", "ibs_fetch//", "-i", "1000"]);
    let event = &plan["events"][0];
    assert_eq!((&event["exclude_kernel"], &event["exclude_hv"]), (&json!(false), &json!(false)));
    assert_eq!(event["sample_period"], 1008);
    assert_eq!((&plan["filter"], &plan["uarch"]), (&json!("mode:user"), &json!("zen4")));
    assert_eq!(plan["promises"]["data_address"], false);
}

#[test]
fn a_plan_is_called_as_what_was_asked_for() {
    let machine = Machine::like("alderlake-hybrid");
    for event in ["mem-loads", "cycles", "L1-dcache-load-misses"] {
        assert_eq!(machine.plan(&["-u", "-t", event])["type"], event);
    }
    let spr = Machine::like("sapphirerapids-rtm").plan(&["-u", "-t", "cpu/mem-loads/"]);
    assert_eq!(spr["type"], "mem-loads");
}

#[test]
fn intervals_are_checked_for_named_events_too() {
    for (tree, event, least) in [
        ("nehalem-ep", "mem_load_retired.llc_miss", "32"),
        ("nehalem-ep", "cycles", "32"),
        ("haswell-rtm", "inst_retired.prec_dist", "128"),
    ] {
        let text = Machine::like(tree).refusal(&["-u", "-t", event, "-i", "10"]);
        assert!(text.contains("too short") && text.contains(least), "{event}: {text}");
    }
}

#[test]
fn modifiers_that_are_none_are_named() {
    let text = Machine::like("skylake-client").refusal(&["-u", "-t", "cycles:x"]);
    assert!(text.contains("'x' is no modifier"), "{text}");
}

#[test]
fn terms_of_a_core_without_a_pmu_say_what_is_missing() {
    let machine = Machine::like("kvm-guest-no-pmu");
    let text = machine.refusal(&["-u", "-t", "cpu/event=0xd0/"]);
    assert!(text.contains("no hardware PMU") && text.contains("task_clock"), "{text}");
}

#[test]
fn a_type_that_a_kernel_cannot_open_names_its_kin() {
    let cwf = Machine::like("sierraforest").model(0xdd);
    let (value, status) = cwf.ask(&["-u", "-t", "x87_fp_retired"]);
    assert_eq!((status, &value["nearest"]), (1, &json!(["instr_retired", "uop_retired"])));
    let guest = Machine::like("skylake-client").with("devices/cpu/caps/max_precise", "0\n");
    let (value, status) = guest.ask(&["-u", "-t", "l1_cache_miss"]);
    assert_eq!((status, &value["nearest"]), (1, &json!(["page_fault", "minor_fault"])));
    let (value, _) = guest.ask(&["-u", "-t", "l1_cache_miss", "-m", "x"]);
    assert_eq!(value["nearest"], json!([]), "the command line is wrong, not the machine");
}

/// perf's names mean what the kernel makes of them, which differs by CPU.
#[test]
fn what_the_kernel_maps_is_not_called_exact() {
    let machine = Machine::like("skylake-client");
    for (event, equivalence) in [
        ("cache-misses", "as the kernel maps it"),
        ("LLC-load-misses", "as the kernel maps it"),
        ("l3_cache_miss", "exact"),
        ("r20d1", "exact"),
    ] {
        let (value, _) = machine.ask(&["-u", "-t", event]);
        assert_eq!(value["equivalence"], equivalence, "{event}: {value:#}");
    }
}

#[test]
fn a_tree_that_makes_no_sense_is_a_refusal_to_scripts() {
    let machine = Machine::like("skylake-client").with("devices/cpu/type", "-1\n");
    let text = machine.refusal(&["-u", "-t", "l1_cache_miss"]);
    assert!(text.contains("devices/cpu/type") && text.contains("\"-1\""), "{text}");
}

#[test]
fn cores_that_are_offline_are_said_to_be() {
    let machine = Machine::like("alderlake-hybrid").with("devices/cpu_atom/cpus", "\n");
    let text = machine.text(&["-u", "-t", "l1_cache_miss"]);
    assert!(text.contains("cpu_atom (type 10), CPUs none online"), "{text}");
}

#[test]
fn the_least_precision_promises_the_next_instruction() {
    let machine = Machine::like("skylake-client").with("devices/cpu/caps/max_precise", "1\n");
    for event in ["l1_cache_miss", "mem_load_retired.l1_miss", "cpu/event=0xd1,umask=0x8/p"] {
        let plan = machine.plan(&["-u", "-t", event]);
        assert_eq!(plan["events"][0]["precise_ip"], 1, "{event}");
        let promises = &plan["promises"];
        assert_eq!(promises["exact_ip"], false, "{event}");
        assert_eq!(promises["ip"], "after-causing-instruction", "{event}");
    }
}
