//! Events by code, terms and name, on the fixture trees.

use super::*;
use crate::catalogue::promises::SampleSource;
use crate::machine::facts::{FixtureTrees, Version};

fn first(machine: &str, event: &str, change: impl Fn(&mut Facts)) -> (PlannedEvent, Vec<String>) {
    let mut facts = FixtureTrees::of(&[machine]).facts(machine);
    change(&mut facts);
    let outline = outline(&request(event, Modes::USER), &facts)
        .unwrap_or_else(|refusal| panic!("{event} on {machine}: {refusal}"));
    (outline.events[0].planned.clone(), outline.notes)
}

fn refusal(machine: &str, event: &str) -> String {
    let facts = FixtureTrees::of(&[machine]).facts(machine);
    let request = request(event, Modes::USER);
    let outline = outline(&request, &facts);
    outline.expect_err(&format!("{event} on {machine}")).to_string()
}

fn same(_: &mut Facts) {}

#[test]
fn the_most_precise_cycles_of_amd_are_ibs() {
    let (event, _) = first("zen4", "cycles:P", same);
    assert_eq!((event.attr.precise_ip(), event.promises.source), (2, SampleSource::Ibs));
    assert_eq!(event.least_precise, 0);
    // Nothing else is handed on to IBS, nor is anything without it.
    let without_ibs = |facts: &mut Facts| {
        facts.pmus.iter_mut().for_each(|pmus| pmus.retain(|pmu| pmu.name != "ibs_op"));
    };
    let unprivileged = |facts: &mut Facts| {
        facts.access.paranoid = Some(2);
        facts.access.capabilities = Some(Capabilities(0));
    };
    for (event, notes) in [
        first("zen4", "instructions:P", same),
        first("zen4", "cycles:P", without_ibs),
        first("zen4", "cycles:P", unprivileged),
    ] {
        assert_eq!((event.attr.precise_ip(), event.promises.ip), (0, IpPromise::Skid));
        assert!(notes[0].contains("skid"), "{notes:?}");
    }
}

#[test]
fn ibs_fetch_is_opened_as_ibs_wants_it() {
    let (event, _) = first("zen4", "ibs_fetch//", same);
    assert_eq!(event.promises.source, SampleSource::Ibs);
    let excludes = AttrFlags::EXCLUDE_KERNEL | AttrFlags::EXCLUDE_HV | AttrFlags::EXCLUDE_GUEST;
    assert!(!event.attr.flags.intersects(excludes), "IBS without swfilt refuses them");
    assert_eq!(event.filter.to_string(), "mode:user");
    assert_eq!(event.attr.sample_period % 16, 0);
}

#[test]
fn pmus_without_readable_samples_are_refused() {
    for (machine, event, part) in [
        ("neoverse-n1-spe", "arm_spe_0//", "packets"),
        ("zen4", "software/config=2/", "ebs -h"),
        ("zen4", "amd_l3/event=0x4/", "many CPUs at once"),
        ("zen4", "msr/tsc/", "never interrupt"),
    ] {
        let text = refusal(machine, event);
        assert!(text.contains("is not sampled: ") && text.contains(part), "{text}");
    }
}

#[test]
fn codes_are_known_by_their_second_word_too() {
    let (event, notes) = first("skylake-client", "r1cd:pp", same);
    assert_eq!(event.promises.ip, IpPromise::Exact);
    assert!(!notes.concat().contains(" is "), "of no threshold: {notes:?}");
    let (event, _) = first("skylake-client", "cpu/event=0xcd,umask=1,ldlat=30/pp", same);
    assert_eq!(event.attr.sample_period, 20_011, "as the table has it for 16 cycles");
    let (_, notes) = first("skylake-client", "r8d1:pp", same);
    assert_eq!(notes, ["r8d1:pp is mem_load_retired.l1_miss"]);
}

#[test]
fn bits_that_the_kernel_would_drop_are_refused() {
    // x86_pmu leaves bits out that its mask lacks: another event is counted.
    for event in ["r10000000ff24", "cpu/config=0x5301c4/", "cpu/event=0xd1,config2=1/"] {
        let text = refusal("skylake-client", event);
        assert!(text.contains("has no field for the bits"), "{text}");
    }
    // Where a format is not understood its bits are not known.
    let odd = |facts: &mut Facts| {
        let mut pmus = facts.pmus.iter_mut().flatten();
        let cpu = pmus.find(|pmu| pmu.name == "cpu").unwrap();
        let description = cpu.description.as_mut().unwrap();
        let formats = description.formats.iter().map(|(name, format)| (name, format.clone()));
        let odd = ("odd", crate::machine::pmu_format::TermFormat::Unknown("config9:0".to_owned()));
        description.formats = formats.chain([odd]).collect();
    };
    assert_eq!(first("skylake-client", "r10000000ff24", odd).0.attr.config, 0x1000_0000_ff24);
}

#[test]
fn intervals_that_the_kernel_refuses_are_refused() {
    let with = |machine: &str, event: &str, interval| {
        let facts = FixtureTrees::of(&[machine]).facts(machine);
        let request = Request { interval, ..request(event, Modes::USER) };
        outline(&request, &facts).map(|outline| outline.events[0].planned.attr.precise_ip())
    };
    let too_short = |event: &str, machine: &str, interval: u64, least: u64| {
        let text = with(machine, event, Some(interval)).unwrap_err().to_string();
        assert!(text.contains(&format!("say -i {least} or more")), "{text}");
    };
    too_short("inst_retired.prec_dist", "haswell-rtm", 127, 128);
    too_short("cycles", "haswell-rtm", 31, 32);
    too_short("cycles", "nehalem-ep", 31, 32);
    too_short("inst_retired.prec_dist:ppp", "sapphirerapids-rtm", 127, 128);
    assert_eq!(with("sapphirerapids-rtm", "inst_retired.prec_dist", Some(127)), Ok(2));
    assert_eq!(with("sapphirerapids-rtm", "inst_retired.prec_dist", Some(128)), Ok(3));
    let text = with("haswell-rtm", "cpu/event=0xc0,period=0xffffffffffffffff/", None);
    assert!(text.unwrap_err().to_string().contains("too large"));
}

#[test]
fn westmere_takes_any_interval_and_nehalem_does_not() {
    // limit_period is of INTEL_NEHALEM* only (intel_pmu_init()).
    let at = |model| {
        let mut facts = FixtureTrees::of(&["nehalem-ep"]).facts("nehalem-ep");
        facts.cpus.vendor = Some("GenuineIntel".to_owned());
        (facts.cpus.family, facts.cpus.model) = (Some(6), Some(model));
        let short = |event| Request { interval: Some(8), ..request(event, Modes::USER) };
        ["instr_retired", "cycles"].map(|event| outline(&short(event), &facts).is_ok())
    };
    assert_eq!((at(0x2c), at(0x1a)), ([true; 2], [false; 2]));
}

#[test]
fn guests_are_left_out_on_intel_cpus_of_no_table_too() {
    let unknown = |facts: &mut Facts| {
        facts.cpus.vendor = Some("GenuineIntel".to_owned());
        (facts.cpus.family, facts.cpus.model) = (Some(6), Some(0xfe));
        for pmu in facts.pmus.iter_mut().flatten() {
            pmu.description.iter_mut().for_each(|description| description.caps.clear());
        }
    };
    let (event, _) = first("skylake-client", "cycles:pp", unknown);
    assert!(event.attr.flags.contains(AttrFlags::EXCLUDE_GUEST));
}

#[test]
fn old_kernels_ibs_promises_no_latency() {
    let version = |version| move |facts: &mut Facts| facts.kernel.version = Some(version);
    for event in ["l1_cache_miss", "ibs_op//"] {
        let (old, notes) = first("zen4", event, version(Version(5, 15, 0)));
        assert!(old.promises.to_string().ends_with("weight=none"), "{}", old.promises);
        let memory = SampleType::WEIGHT_STRUCT | SampleType::DATA_SRC;
        assert!(!old.attr.sample_type.intersects(memory));
        assert!(notes.iter().any(|note| note.contains("since Linux 6.1")), "{notes:?}");
        let (new, _) = first("zen4", event, version(Version(6, 1, 0)));
        assert!(new.promises.to_string().ends_with("weight=miss-latency-cycles"));
    }
    let mut facts = FixtureTrees::of(&["zen4"]).facts("zen4");
    facts.kernel.version = Some(Version(5, 15, 0));
    for event in ["l3_cache_miss", "load_latency"] {
        let text = outline(&request(event, Modes::USER), &facts).unwrap_err().to_string();
        assert!(text.contains("since Linux 6.1"), "{text}");
    }
}

#[test]
fn events_of_offline_cores_are_said_to_be() {
    let mut facts = FixtureTrees::of(&["lunarlake-hybrid"]).facts("lunarlake-hybrid");
    facts.cpus.online = Some(vec![Cpu(0)]);
    for pmu in facts.pmus.iter_mut().flatten().filter(|pmu| pmu.name == "cpu_atom") {
        pmu.cpus = Some(vec![Cpu(4), Cpu(5)]);
    }
    let text = plan(&request("cpu_atom/event=0xc0/", Modes::USER), &facts).unwrap_err().to_string();
    assert!(text.contains("no CPU of cpu_atom is online"), "{text}");
}

#[test]
fn every_named_event_of_a_core_can_be_had_there() {
    let machines = ["nehalem-ep", "lunarlake-hybrid", "sierraforest"];
    let trees = FixtureTrees::of(&machines);
    for machine in machines {
        let facts = trees.facts(machine);
        for core in hardware::cores(&facts) {
            let uarch = core.uarch.unwrap_or_else(|| panic!("{machine}: {}", core.pmu.name));
            for event in crate::catalogue::names(uarch, &core.pmu.name) {
                let text = format!("{}/{}/", core.pmu.name, event.name);
                let planned = outline(&request(&text, Modes::USER), &facts);
                planned.unwrap_or_else(|refusal| panic!("{machine}: {refusal}"));
            }
        }
    }
}

#[test]
fn cores_of_other_makers_count_with_skid() {
    let without_spe = |facts: &mut Facts| {
        facts.pmus.iter_mut().for_each(|pmus| pmus.retain(|pmu| pmu.name != "arm_spe_0"));
    };
    for change in [without_spe, same] {
        for event in ["cycles", "r08", "inst_retired", "inst_retired:P", "armv8_pmuv3_0/cycles/"] {
            let (event, _) = first("neoverse-n1-spe", event, change);
            assert_eq!((event.pmu.as_str(), event.attr.precise_ip()), ("armv8_pmuv3_0", 0));
            let kind = if event.attr.config == 8 { 8 } else { 0 };
            assert_eq!(event.attr.kind, EventType(kind), "not the PMU's number in config");
            assert_eq!(
                (event.promises.source, event.attr.config >> 32),
                (SampleSource::Counter, 0)
            );
        }
    }
    let text = refusal("neoverse-n1-spe", "inst_retired:pp");
    assert!(text.contains("with skid all the same"), "{text}");
}

#[test]
fn a_plan_is_called_by_what_it_samples() {
    let facts = FixtureTrees::of(&["sapphirerapids-rtm"]).facts("sapphirerapids-rtm");
    let outline = outline(&request("mem-loads", Modes::USER), &facts).unwrap();
    assert_eq!((outline.name.as_str(), outline.events.len()), ("mem-loads", 2));
    assert!(outline.events[0].planned.carrier);
}

#[test]
fn what_forfeits_large_pebs_is_said_of_named_events_too() {
    let told = |machine: &str| first(machine, "mem_load_uops_retired.l1_miss:pp", same).1.concat();
    assert!(told("haswell-rtm").contains("(large PEBS): TIME"), "no time in its records");
    let (_, notes) = first("skylake-client", "mem_load_retired.l1_miss", same);
    assert_eq!(notes, [""; 0]);
}

/// Comparing them with every name takes hours: the test does not end.
#[test]
fn long_texts_are_refused_at_once() {
    let facts = FixtureTrees::of(&["skylake-x-rtm"]).facts("skylake-x-rtm");
    let long = "x".repeat(2_000_000);
    let texts =
        [&*long, &format!("A:{long}"), &format!("{long}/event=1/"), &format!("cpu/{long}/")];
    for text in texts {
        outline(&request(text, Modes::USER), &facts).unwrap_err();
    }
}
