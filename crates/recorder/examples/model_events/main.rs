//! `model_events CORE`: what a core's events mean to the modelled PMU of
//! tests/pmu-box, which reads it at its start.
//!
//! Codes come from the catalogue, and from nowhere else; `meanings.rs` says
//! by name what the model takes an event for. Lines are `config`, `config1`
//! (hex), the meaning, the name. Events that no meaning is known for are left
//! out: the model does not count them.

mod meanings;

use std::collections::BTreeMap;
use std::io::{self, Write};

use recorder::catalogue::{
    self, Encoding, EventKind, Mask, MaskRole, Microarchitecture, compose, encodings, masks, names,
};

#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelEvent {
    config: u64,
    config1: u64,
    meaning: String,
    name: String,
}

fn main() -> io::Result<()> {
    let typed = std::env::args().nth(1).unwrap_or_default();
    let all = Microarchitecture::all();
    let Some(core) = all.iter().find(|core| core.0 == typed) else {
        let known: Vec<_> = all.iter().map(|core| core.0).collect();
        let complaint = format!("\"{typed}\" is no core; cores are {}", known.join(" "));
        return Err(io::Error::other(complaint));
    };
    print(*core, &mut io::stdout().lock())
}

fn print(core: Microarchitecture, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# {core}: config, config1, what it means to tests/pmu-box/model, name")?;
    for event in events(core) {
        writeln!(
            out,
            "{:x}\t{:x}\t{}\t{}",
            event.config, event.config1, event.meaning, event.name
        )?;
    }
    out.flush()
}

fn events(core: Microarchitecture) -> Vec<ModelEvent> {
    let pmu = core.pmu().unwrap_or("cpu");
    let mut found = BTreeMap::new();
    let named = names(core, pmu).filter_map(|event| {
        let meaning = meanings::of_name(event.name)?.to_owned();
        let name = event.name.to_owned();
        Some(ModelEvent { config: event.config, config1: event.config1, meaning, name })
    });
    // An event that its maker advises against, and another by the same code, mean the same.
    for event in named.chain(of_types(core, pmu)).chain(architectural(core)) {
        found.entry((event.config, event.config1)).or_insert(event);
    }
    found.into_values().collect()
}

/// Codes that a core's own list leaves out: the kernel's generic events (Intel
/// SDM vol. 3B, table 20-1; intel_perfmon_event_map[]).
fn architectural(core: Microarchitecture) -> Vec<ModelEvent> {
    const EVENTS: [(u64, &str, &str); 6] = [
        (0x3c, "cpu_clk_unhalted.thread_p", "unhalted core cycles"),
        (0xc0, "inst_retired.any_p", "instruction retired"),
        (0x4f2e, "longest_lat_cache.reference", "LLC reference"),
        (0x412e, "longest_lat_cache.miss", "LLC misses"),
        (0xc4, "br_inst_retired.all_branches", "branch instruction retired"),
        (0xc5, "br_misp_retired.all_branches", "branch misses retired"),
    ];
    // What the recipe for AMD's second level counts: two masks that have no name together.
    const AMD: [(u64, &str, &str); 1] = [(
        0xff64,
        "l2_cache_req_stat.ic_dc_hit_in_l2|l2_cache_req_stat.ic_dc_miss_in_l2",
        "l2_cache_req_stat.all",
    )];
    let own = if core.is_amd() { AMD.as_slice() } else { EVENTS.as_slice() };
    let of = |(config, like, name): (u64, &str, &str)| {
        let meaning = meanings::of_name(like)?.to_owned();
        Some(ModelEvent { config, config1: 0, meaning, name: name.to_owned() })
    };
    own.iter().copied().filter_map(of).collect()
}

/// What the types are opened by: some join masks that have no name together.
fn of_types(core: Microarchitecture, pmu: &'static str) -> Vec<ModelEvent> {
    let mut found = Vec::new();
    for entry in catalogue::all().filter(|entry| matches!(entry.kind, EventKind::Hardware(_))) {
        for encoding in encodings(core, pmu, entry).unwrap_or_default() {
            if encoding.pmu != pmu {
                continue;
            }
            found.extend(of_encoding(&encoding));
            found.extend(of_masks(core, entry, &encoding));
        }
    }
    found
}

fn of_encoding(encoding: &Encoding) -> Option<ModelEvent> {
    let meanings: Option<Vec<_>> = encoding.event.split('|').map(meanings::of_name).collect();
    Some(ModelEvent {
        config: encoding.config,
        config1: encoding.config1,
        meaning: meanings?.join("|"),
        name: encoding.event.to_ascii_lowercase(),
    })
}

/// Each choice of origins and results of which the model knows one.
fn of_masks(
    core: Microarchitecture,
    entry: &catalogue::CatalogueType,
    encoding: &Encoding,
) -> Vec<ModelEvent> {
    let all = masks(core, entry);
    let of = |role: MaskRole| all.iter().filter(move |mask| mask.role == role);
    // A result that tells states of the line apart is none of the model's.
    let known = |mask: &&Mask| meanings::of_request("demand_rd", mask.name).is_some();
    let (origins, results) = (of(MaskRole::Origin), of(MaskRole::Result).filter(known));
    let (origins, results) = (choices(origins), choices(results));
    let mut found = Vec::new();
    for (origins, results) in origins.iter().flat_map(|o| results.iter().map(move |r| (o, r))) {
        let pairs = origins.iter().flat_map(|o| results.iter().map(move |r| (*o, *r)));
        let meanings: Vec<_> =
            pairs.filter_map(|(origin, result)| meanings::of_request(origin, result)).collect();
        let typed: Vec<_> = origins.iter().chain(results).map(|name| (*name).to_owned()).collect();
        let Ok(composed) = compose(core, entry, &typed) else { continue };
        if meanings.is_empty() {
            continue;
        }
        found.push(ModelEvent {
            config: encoding.config | composed.bits,
            config1: encoding.config1,
            meaning: meanings.join("|"),
            name: format!("{}:{}", entry.name, typed.join(",")),
        });
    }
    found
}

/// Every choice of at least one.
fn choices<'a>(masks: impl Iterator<Item = &'a Mask>) -> Vec<Vec<&'static str>> {
    let names: Vec<_> = masks.map(|mask| mask.name).collect();
    let chosen = |set: usize| (0..names.len()).filter(move |k| set >> k & 1 == 1);
    (1..1_usize << names.len()).map(|set| chosen(set).map(|k| names[k]).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(core: &'static str, config: u64) -> Option<String> {
        let found = events(Microarchitecture(core));
        found.into_iter().find(|event| event.config == config).map(|event| event.meaning)
    }

    #[test]
    fn codes_are_the_cores_own() {
        assert_eq!(of("skylakex", 0x08d1).as_deref(), Some("l1_miss"));
        assert_eq!(of("skylakex", 0x13d0).as_deref(), Some("stlb_miss_load|stlb_miss_store"));
        assert_eq!(of("skylakex", 0x01cd).as_deref(), Some("load_latency"));
        assert_eq!(of("skylakex", 0x0e12), None, "a code of Sapphire Rapids");
        assert_eq!(of("sapphirerapids", 0x0e12).as_deref(), Some("stlb_miss_load"));
        assert_eq!(of("nehalem", 0xc4).as_deref(), Some("branch"), "the architecture's");
        assert_eq!(of("zen1", 0x76).as_deref(), Some("cycles"));
        assert_eq!(of("zen1", 0x0729).as_deref(), Some("load|store"), "of the recipes");
        assert!(of("zen1", 0xff64).is_some(), "two masks that have no name together");
    }

    #[test]
    fn composed_masks_mean_what_their_parts_do() {
        assert_eq!(of("skylakex", 0x2124).as_deref(), Some("read_not_found"));
        assert_eq!(of("skylakex", 0x2324).as_deref(), Some("read_not_found|own_not_found"));
    }

    /// Every hardware type opens something that the model counts, but for
    /// those that need what it does not have: fill buffers, classes of
    /// instructions (Nehalem's events), and IBS, which has no codes.
    #[test]
    fn every_type_of_a_modelled_core_is_counted() {
        for core in ["skylakex", "icelake", "sapphirerapids", "haswell", "sandybridge", "nehalem"] {
            let core = Microarchitecture(core);
            let counted: Vec<_> = events(core).iter().map(|event| event.config).collect();
            for entry in catalogue::all() {
                if matches!(entry.name, "fb_full" | "fb_alloc" | "l2_rqsts") {
                    continue;
                }
                for encoding in encodings(core, "cpu", entry).unwrap_or_default() {
                    let of_class = ["SSEX_UOPS_RETIRED.", "INST_RETIRED.MMX", "INST_RETIRED.X87"];
                    if of_class.iter().any(|event| encoding.event.starts_with(event)) {
                        continue;
                    }
                    assert!(counted.contains(&encoding.config), "{core} {}", encoding.event);
                }
            }
        }
    }
}
