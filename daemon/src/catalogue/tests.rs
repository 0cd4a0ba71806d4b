//! The table is closed, unambiguous and honest.

use std::collections::HashSet;

use record::EventType as PmuType;

use super::*;
use crate::facts::{Facts, Hypervisor, Pmu, Tracefs};

fn machine(pmus: &[&str]) -> Facts {
    let pmu = |name: &&str| Pmu { name: (*name).to_owned(), kind: Some(PmuType(1)), ..Pmu::default() };
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
        assert_eq!(entry.default_interval, 10_000);
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
        for name in nearest {
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

#[test]
fn a_pmu_that_is_there_is_not_denied() {
    let host = machine(&["cpu", "software", "breakpoint"]);
    let Availability::Unavailable { why, .. } = availability(find("l1_cache_miss").unwrap(), &host)
    else {
        panic!("no encodings are known yet")
    };
    assert!(why.contains("this version") && !why.contains("no hardware PMU"), "{why}");
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
        let prose = text.lines().take_while(|line| !line.starts_with("  interval"));
        for line in prose {
            assert!(line.len() <= 79, "{line}");
        }
    }
}
