//! The table is closed, unambiguous and honest.

mod facts;
mod identity;
mod names;
mod review;

use std::collections::HashSet;

use perfdata::{EventType as PmuType, SampleFilter};

use super::*;
use crate::machine::facts::{Facts, FixtureTrees, Hypervisor, Pmu, Tracefs};

fn machine(pmus: &[&str]) -> Facts {
    let pmu =
        |name: &&str| Pmu { name: (*name).to_owned(), kind: Some(PmuType(1)), ..Pmu::default() };
    Facts {
        pmus: Some(pmus.iter().map(pmu).collect()),
        hypervisor: Hypervisor::Guest("KVM".to_owned()),
        tracefs: Tracefs::Absent,
        ..Facts::default()
    }
}

#[test]
fn each_name_means_one_type() {
    let mut seen = HashSet::new();
    for entry in all() {
        for name in std::iter::once(&entry.name).chain(entry.aliases) {
            let folded = name.to_ascii_lowercase().replace('-', "_");
            let again = !seen.insert((folded.clone(), entry.name));
            let others = seen.iter().any(|(have, of)| *have == folded && *of != entry.name);
            assert!(!others, "{name} is also another type's");
            assert!(!again || *name != entry.name, "{name} twice");
            assert_eq!(find(name).map(|found| found.name), Some(entry.name));
        }
    }
}

#[test]
fn the_types_of_2003_are_all_listed() {
    let names = [
        "instr_retired",
        "uop_retired",
        "packed_sp_retired",
        "packed_dp_retired",
        "scaler_sp_retired",
        "scaler_dp_retired",
        "64bit_mmx_retired",
        "128bit_mmx_retired",
        "x87_fp_retired",
        "x87_simd_memory_moves_retired",
        "memory_loads",
        "memory_stores",
        "memory_moves",
        "l1_cache_miss",
        "l2_cache_miss",
        "dtlb_load_miss",
        "dtlb_stor_miss",
        "dtlb_all_miss",
        "mob_load_replay_retired",
        "split_load_retired",
    ];
    for name in names {
        let entry = find(name).unwrap();
        assert!(matches!(entry.kind, EventKind::Hardware(_)), "{name}");
    }
}

#[test]
fn hardware_types_say_why_not_and_what_is_nearest() {
    let guest = machine(&["breakpoint", "msr", "software", "tracepoint"]);
    for entry in all().filter(|entry| matches!(entry.kind, EventKind::Hardware(_))) {
        let Availability::Unavailable { why, nearest, advice } = availability(entry, &guest) else {
            panic!("{} without a PMU", entry.name)
        };
        assert_eq!(why, "no hardware PMU: KVM guest, no cpu device under /sys/bus/event_source");
        assert!(!advice.is_empty());
        for name in &nearest {
            let stand_in = find(name).unwrap();
            assert!(
                matches!(availability(stand_in, &guest), Availability::Available { .. }),
                "{name} stands in for {}",
                entry.name
            );
        }
        assert!(!nearest.is_empty());
    }
}

fn intel(family: u32, model: u32, pmus: &[&str]) -> Facts {
    let mut facts = machine(pmus);
    facts.cpus.vendor = Some("GenuineIntel".to_owned());
    (facts.cpus.family, facts.cpus.model) = (Some(family), Some(model));
    facts
}

fn why(name: &str, facts: &Facts) -> (String, Vec<&'static str>) {
    match availability(find(name).unwrap(), facts) {
        Availability::Unavailable { why, nearest, .. } => (why, nearest),
        Availability::Available { .. } => panic!("{name} is to be had"),
    }
}

#[test]
fn a_known_cpu_has_its_types() {
    let skylake = intel(6, 0x5e, &["cpu", "software", "breakpoint"]);
    let entry = find("l1_cache_miss").unwrap();
    let Availability::Available { default_interval, hardware: Some(found) } =
        availability(entry, &skylake)
    else {
        panic!("Skylake counts misses")
    };
    assert_eq!((default_interval, found.unavailable.len()), (100_003, 0));
    let core = &found.cores[0];
    assert_eq!((core.pmu.as_str(), core.core), ("cpu", Some(Microarchitecture("skylake"))));
    assert_eq!(core.encodings[0].config, 0x08d1);

    let (why, nearest) = why("store_latency", &skylake);
    assert!(why.contains("skylake") && why.contains("stores are not timed"), "{why}");
    assert_eq!(nearest, ["memory_loads", "memory_stores"], "types of this CPU, not of the kernel");
}

#[test]
fn a_hybrid_has_two_encodings_or_says_who_lacks_one() {
    let hybrid = intel(6, 0x97, &["cpu_atom", "cpu_core", "software"]);
    let found = on_machine(find("mob_load_replay_retired").unwrap(), &hybrid).unwrap();
    let configs: Vec<_> = found.cores.iter().map(|core| core.encodings[0].config).collect();
    assert_eq!(configs, [0x0403, 0x8203], "Gracemont and Golden Cove");
    let found = on_machine(find("fb_full").unwrap(), &hybrid).unwrap();
    assert_eq!(found.cores.len(), 1);
    assert_eq!(found.unavailable[0].0, "cpu_atom");
}

#[test]
fn an_unknown_cpu_has_what_every_kernel_has() {
    let unknown = intel(99, 1, &["cpu", "software"]);
    let found = on_machine(find("l1_cache_miss").unwrap(), &unknown).unwrap();
    assert_eq!(found.cores[0].core, None);
    let encoding = &found.cores[0].encodings[0];
    assert_eq!((encoding.pmu, encoding.config, encoding.precise), ("hw_cache", 0x1_0000, 0));
    let (why, nearest) = why("split_load_retired", &unknown);
    assert!(why.contains("not in the tables"), "{why}");
    assert_eq!(nearest, ["memory_loads"]);
}

#[test]
fn amd_needs_ibs() {
    let mut zen = machine(&["cpu", "software"]);
    zen.cpus.vendor = Some("AuthenticAMD".to_owned());
    (zen.cpus.family, zen.cpus.model) = (Some(0x19), Some(0x11));
    assert!(why("l1_cache_miss", &zen).0.contains("no ibs_op"));
    match availability(find("l1_cache_miss").unwrap(), &zen) {
        Availability::Unavailable { advice, .. } => {
            assert!(advice.starts_with("L1-dcache-load-misses counts"), "{advice}");
        }
        Availability::Available { .. } => panic!("it needs IBS"),
    }
    assert!(on_machine(find("mob_load_replay_retired").unwrap(), &zen).is_ok(), "a core event");
    zen.pmus = machine(&["cpu", "ibs_op", "software"]).pmus;
    let found = on_machine(find("l1_cache_miss").unwrap(), &zen).unwrap();
    assert_eq!(found.cores[0].encodings[0].pmu, "ibs_op");
    (zen.cpus.family, zen.cpus.model) = (Some(0x1b), Some(1));
    let newer = on_machine(find("l1_cache_miss").unwrap(), &zen).unwrap();
    assert_eq!((newer.cores[0].core, newer.cores[0].encodings[0].pmu), (None, "ibs_op"));
}

#[test]
fn arm_is_told_apart() {
    let arm = machine(&["armv8_pmuv3_0", "arm_spe_0", "software"]);
    assert!(why("l1_cache_miss", &arm).0.contains("Arm SPE is not supported yet: arm_spe_0"));
    let arm = machine(&["armv8_pmuv3_0", "software"]);
    let found = on_machine(find("l1_cache_miss").unwrap(), &arm).unwrap();
    assert_eq!(found.cores[0].pmu, "armv8_pmuv3_0");
    assert_eq!(found.cores[0].encodings[0].event, "L1-dcache-load-misses");
    assert!(why("hitm", &arm).0.contains("no generic event"));
}

#[test]
fn what_the_kernel_lacks_is_unavailable() {
    let no_breakpoints = machine(&["software"]);
    let available = |name: &str, facts: &Facts| {
        matches!(availability(find(name).unwrap(), facts), Availability::Available { .. })
    };
    assert!(!available("mem", &no_breakpoints));
    assert!(available("mem", &machine(&["cpu"])), "a partial list proves nothing");
    assert!(!available("tracepoint", &no_breakpoints));
    assert!(available("tracepoint", &Facts::default()));
    assert!(available("page_fault", &Facts::default()));
}

#[test]
fn help_says_all_there_is() {
    let facts = machine(&["software"]);
    for entry in all() {
        let text = help(entry, &facts);
        let first = format!("{}: ", entry.name);
        for part in [first.as_str(), "interval", "masks", "example", "here"] {
            assert!(text.contains(part), "{part} in help of {}", entry.name);
        }
        if entry.promises.is_some() {
            assert!(text.contains("ip="), "{text}");
        }
        for line in text.lines() {
            assert!(line.len() <= 79 || !line.trim().contains(' '), "{line}");
        }
    }
}

#[test]
fn help_says_what_the_cores_have() {
    let hybrid = intel(6, 0x97, &["cpu_atom", "cpu_core", "software"]);
    let text = help(find("load_latency").unwrap(), &hybrid);
    for part in [
        "alderlake_goldencove",
        "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4 (cpu_core, config 0x1cd, config1 0x3): exact",
        "alderlake_gracemont",
        "address: of the data",
        "weight: cycles until the data could be used",
        "ldlat=N (parameter)",
    ] {
        let whole = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains(part), "{part} in {text}");
    }
    let text = help(find("fb_full").unwrap(), &hybrid);
    assert!(text.contains("\n  cpu_atom   this core (alderlake_gracemont) has no event"), "{text}");
    let skylake = intel(6, 0x5e, &["cpu", "software"]);
    let text = help(find("l2_rqsts").unwrap(), &skylake);
    assert!(text.contains("demand_rd (origin, 0x01)") && text.contains("miss (result, 0x20)"));
    let text = help(find("packed_sp_retired").unwrap(), &skylake);
    assert!(text.contains("of the samples are kept: class:packed_sp"), "{text}");
}

#[test]
fn who_withholds_ibs_is_told_by_what_the_machine_is() {
    let mut facts = FixtureTrees::of(&["zen4"]).facts("zen4");
    facts.pmus.iter_mut().for_each(|pmus| pmus.retain(|pmu| pmu.name != "ibs_op"));
    let entry = find("l1_cache_miss").unwrap();
    for (hypervisor, who) in [
        (Hypervisor::None, "which this CPU lacks, or its firmware"),
        (Hypervisor::Unknown, "which this CPU lacks, or its firmware"),
        (Hypervisor::Guest("KVM".into()), "which the host of this KVM guest keeps to itself"),
        (Hypervisor::Unnamed, "which the host of this virtual machine keeps to itself"),
    ] {
        facts.hypervisor = hypervisor;
        let said = on_machine(entry, &facts).unwrap_err().to_string();
        assert!(said.contains(who), "{:?}: {said}", facts.hypervisor);
    }
}
