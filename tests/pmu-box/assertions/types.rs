//! The catalogue on this CPU.

use tests::Scene;

use crate::{
    Skip,
    facts::{Facts, Precision},
    precise::{self, LastLine},
};

/// What the kernel itself counts, on any CPU.
const OF_THE_KERNEL: [&str; 11] = [
    "page_fault",
    "minor_fault",
    "major_fault",
    "cpu_clock",
    "task_clock",
    "context_switch",
    "cpu_migration",
    "alignment_fault",
    "emulation_fault",
    "mem:ADDR[/LEN]:[r][w][x]",
    "SUBSYSTEM:NAME",
];

/// What the catalogue has for a CPU, beside what is exact there
/// (docs/events-by-cpu.md), sorted.
struct Expected {
    cpu: &'static str,
    with_skid: &'static [&'static str],
    refused: &'static [&'static str],
}

/// What Intel's cores count without being able to say where.
const WITH_SKID: &[&str] =
    &["fb_alloc", "fb_full", "l2_rqsts", "mob_load_replay_retired", "page_walk", "uop_retired"];

const EXPECTED: &[Expected] = &[
    Expected { cpu: "skylake", with_skid: WITH_SKID, refused: &["store_latency"] },
    Expected { cpu: "icelake", with_skid: WITH_SKID, refused: &["remote_dram", "store_latency"] },
    Expected { cpu: "sapphire-rapids", with_skid: WITH_SKID, refused: &[] },
    Expected {
        cpu: "zen",
        with_skid: &[],
        refused: &["fb_alloc", "fb_full", "l2_rqsts", "mob_load_replay_retired", "store_latency"],
    },
];

/// A type as `ebs -h` lists it.
struct Listed {
    name: String,
    /// `exact`, `skid`, or `-` where it is not to be had.
    ip: String,
    /// Why it is not to be had.
    reason: Option<String>,
}

fn listed(help: &str) -> Vec<Listed> {
    let mut reason = None;
    let mut types = Vec::new();
    for line in help.lines() {
        if let Some(why) = line.strip_prefix("Not to be had here: ") {
            reason = Some(why.to_owned());
        }
        let Some(row) = line.strip_prefix("  ") else { continue };
        let (name, ip) = match row.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["type", ..] | [] => continue,
            // An interval of time is two words.
            [name, _, "ms", ip, ..] | [name, _, ip, ..] => (*name, *ip),
            _ => panic!("ebs -h: {line}"),
        };
        if !OF_THE_KERNEL.contains(&name) {
            types.push(Listed { name: name.to_owned(), ip: ip.to_owned(), reason: reason.clone() });
        }
    }
    types
}

/// Types that take no other event than what their masks say.
fn masks(name: &str) -> &'static str {
    match name {
        "l2_rqsts" => "-m demand_rd,miss ",
        _ => "",
    }
}

/// Instructions open at once as they were planned: from Golden Cove on
/// kernels take precise_ip 3 of 0xc0, and refuse it of 0x100, the fixed
/// counter's own code (`spr_get_event_constraints()`).
pub(crate) fn instructions_as_planned(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let outcome = scene.run("ebs -u -t instr_retired -i =10000 -c all -o i.data walk").success();
    let LastLine { records, exact } = precise::last_line(&outcome);
    assert!(records > 0 && exact == records, "{outcome}");
    // Nothing was given up of what was planned: a plan that this kernel refuses
    // is wrong, though it took a lower precise_ip in its place.
    assert!(!outcome.err.contains("precise_ip"), "{outcome}");
    match facts.precision {
        Precision::Pebs => Ok(()),
        Precision::Ibs => Err("IBS has no levels of precision; its instructions opened"),
    }
}

/// Every type of the catalogue opens, as exact as it is said to be, or is
/// refused with the reason that the list gives; and which these are is known.
pub(crate) fn open_or_refused(facts: &Facts) -> Skip {
    let scene = Scene::new();
    let types = listed(&scene.run("ebs -h").success().out);
    assert!(types.len() >= 28, "ebs -h lists {} types of a CPU", types.len());
    for Listed { name, ip, reason } in &types {
        let line = format!("ebs -u -t {name} {}-i 10000 -c all -o t.data walk", masks(name));
        let outcome = scene.run(&line);
        if let Some(reason) = reason {
            outcome.refused(1, &[name, "is not to be had here", reason, "Nearest"]);
            continue;
        }
        let outcome = outcome.success();
        let LastLine { records, exact } = precise::last_line(&outcome);
        match ip.as_str() {
            "exact" => assert_eq!(exact, records, "{outcome}"),
            "skid" => assert_eq!(exact, 0, "{outcome}"),
            other => panic!("{name}: IP {other}"),
        }
    }
    let Some(expected) = EXPECTED.iter().find(|known| known.cpu == facts.cpu) else {
        return Err("opened all; which types this CPU lacks is not written down");
    };
    let named = |pick: &dyn Fn(&Listed) -> bool| -> Vec<&str> {
        let mut names: Vec<_> =
            types.iter().filter(|one| pick(one)).map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(named(&|one| one.reason.is_some()), expected.refused);
    assert_eq!(named(&|one| one.ip == "skid"), expected.with_skid);
    Ok(())
}
