//! Every plan of the original's types against the table that they were
//! researched in: crates/recorder/fixtures/events.

use super::trees::{self, FIXTURES};
use flate2::read::GzDecoder;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;

/// A row of the table that says how a type is sampled on a core.
#[derive(Clone, Debug)]
struct Row(BTreeMap<String, String>);

impl Row {
    fn get(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    fn number(&self, column: &str) -> u64 {
        let text = self.get(column);
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).expect("hexadecimal"),
            None if text.is_empty() => 0,
            None => text.parse().expect("a number"),
        }
    }

    fn is_ibs(&self) -> bool {
        self.get("pebs") == "IBS"
    }
}

/// The rows to open together, by core and type.
fn table() -> BTreeMap<(String, String), Vec<Row>> {
    let file = File::open(format!("{FIXTURES}/events/hardmeter_types.csv.gz")).expect("the table");
    let mut reader = csv::Reader::from_reader(GzDecoder::new(file));
    let columns: Vec<String> = reader.headers().expect("columns").iter().map(Into::into).collect();
    let mut table: BTreeMap<(String, String), Vec<Row>> = BTreeMap::new();
    for record in reader.records() {
        let record = record.expect("a row");
        let fields = columns.iter().cloned().zip(record.iter().map(str::to_owned));
        let row = Row(fields.collect());
        if row.get("recommended_for").split(' ').any(|word| word == "sample") {
            let key = (row.get("uarch").to_owned(), row.get("type").to_owned());
            table.entry(key).or_default().push(row);
        }
    }
    for rows in table.values_mut() {
        // One row of the table is two events, of which it gives the first's code.
        if rows[0].get("perfmon_event_name") == "dTLB-load-misses + dTLB-store-misses" {
            let mut stores = rows[0].clone();
            stores.0.insert("raw_config".to_owned(), "0x10103".to_owned());
            rows.push(stores);
        }
        let best = rows.iter().map(|row| row.number("rank")).min().expect("a row");
        rows.retain(|row| row.number("rank") == best);
    }
    table
}

/// Which core each tree's PMUs are of: from the trees' own descriptions,
/// not from what is tested.
const TREES: [(&str, &[(&str, &str)]); 22] = [
    (
        "alderlake-hybrid",
        &[("cpu_core", "alderlake_goldencove"), ("cpu_atom", "alderlake_gracemont")],
    ),
    (
        "arrowlake-hybrid-6.15plus",
        &[("cpu_core", "arrowlake_lioncove"), ("cpu_atom", "arrowlake_skymont")],
    ),
    ("cascadelake-x-noht", &[("cpu", "cascadelakex")]),
    ("haswell-rtm", &[("cpu", "haswell")]),
    ("icelake-client", &[("cpu", "icelake")]),
    ("icelake-x-rtm", &[("cpu", "icelakex")]),
    ("intel-lkml-2025-format-only-real", &[("cpu", "generic")]),
    ("ivybridge", &[("cpu", "ivybridge")]),
    ("kvm-guest-no-pmu", &[]),
    ("lunarlake-hybrid", &[("cpu_core", "lunarlake_lioncove"), ("cpu_atom", "lunarlake_skymont")]),
    ("nehalem-ep", &[("cpu", "nehalem")]),
    ("neoverse-n1-spe", &[]),
    ("sandybridge", &[("cpu", "sandybridge")]),
    ("sandybridge-ep-real-2013", &[("cpu", "generic")]),
    ("sapphirerapids-rtm", &[("cpu", "sapphirerapids")]),
    ("sierraforest", &[("cpu", "sierraforest")]),
    ("skylake-client", &[("cpu", "skylake")]),
    ("skylake-x-rtm", &[("cpu", "skylakex")]),
    ("zen1", &[("cpu", "zen1")]),
    ("zen2", &[("cpu", "zen2")]),
    ("zen4", &[("cpu", "zen4")]),
    ("zen5", &[("cpu", "zen5")]),
];

#[test]
fn every_tree_is_reviewed() {
    let reviewed: BTreeSet<_> = TREES.iter().map(|(tree, _)| *tree).collect();
    let there = trees::names();
    assert_eq!(there.iter().map(String::as_str).collect::<BTreeSet<_>>(), reviewed);
}

#[test]
fn plans_are_the_rows_of_the_table() {
    let table = table();
    let types: BTreeSet<&str> = table.keys().map(|(_, kind)| kind.as_str()).collect();
    assert_eq!(types.len(), 20);
    let mut reviewed = 0;
    for (tree, cores) in &TREES {
        for kind in &types {
            for mode in ["-u", "-k"] {
                let place = format!("{tree} {kind} {mode}");
                let (plan, status) = trees::plan(tree, &["-t", kind, mode, "--source", "pmu"]);
                let rows = |core: &str| table.get(&(core.to_owned(), (*kind).to_owned()));
                if cores.iter().all(|(_, core)| rows(core).is_none()) {
                    assert_eq!(status, 1, "{place}: {plan}");
                    assert!(plan["refused"].is_string() && plan["nearest"].is_array(), "{place}");
                    continue;
                }
                assert_eq!(status, 0, "{place}: {plan}");
                let all: Vec<Row> =
                    cores.iter().filter_map(|(_, core)| rows(core)).flatten().cloned().collect();
                review_interval(&place, &plan, &all);
                for (pmu, core) in *cores {
                    let wanted = rows(core).cloned().unwrap_or_default();
                    let core = if *core == "generic" { "unknown" } else { core };
                    let reviewed_at = Reviewed { tree, pmu, kind, mode };
                    review(reviewed_at, &plan, core, &wanted);
                    reviewed += wanted.len();
                }
            }
        }
    }
    assert!(reviewed > 700, "{reviewed} rows");
}

#[derive(Clone, Copy)]
struct Reviewed<'a> {
    tree: &'a str,
    pmu: &'a str,
    kind: &'a str,
    mode: &'a str,
}

impl fmt::Display for Reviewed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.tree, self.kind, self.mode)
    }
}

fn review(place: Reviewed<'_>, plan: &Value, core: &str, rows: &[Row]) {
    let Reviewed { tree, pmu, .. } = place;
    let cores: Vec<_> = plan["uarch"].as_str().unwrap_or_default().split('+').collect();
    assert!(rows.is_empty() || cores.contains(&core), "{place}: {core} in {}", plan["uarch"]);
    let events = plan["events"].as_array().expect("events");
    let on_pmu = |event: &&Value| {
        let of = event["pmu"].as_str().expect("a PMU");
        (of == pmu || of == "ibs_op") && event["carrier"] == false
    };
    let events: Vec<&Value> = events.iter().filter(on_pmu).collect();
    assert_eq!(events.len(), rows.len(), "{place} on {pmu}: {plan}");
    for row in rows {
        let same = |event: &&&Value| {
            hex(&event["config"]) & 0xff_ffff_ffff_ffff == pmu_bits(row, tree, pmu)
                && hex(&event["config1"]) == row.number("raw_config1")
        };
        let event = events.iter().find(same).unwrap_or_else(|| panic!("{place}: {row:?}: {plan}"));
        review_event(place, event, row);
        let word = row.get("equivalence").split('-').next().expect("a word");
        assert_eq!(event["equivalence"], word, "{place}");
    }
}

/// The row's config; a generic event of a hybrid also names its PMU.
fn pmu_bits(row: &Row, tree: &str, pmu: &str) -> u64 {
    let generic = row.get("pmu").starts_with("PERF_TYPE") && pmu != "cpu";
    let kind = trees::word(tree, &format!("{pmu}/type")).and_then(|kind| kind.parse().ok());
    let config = match (row.number("raw_config"), row.get("perfmon_event_name")) {
        // Fixed counter 0's own code, which kernels refuse with precise_ip 3
        // from Golden Cove on.
        (0x100, "INST_RETIRED.PREC_DIST") => 0xc0,
        (config, _) => config,
    };
    config | if generic { kind.unwrap_or(0u64) << 32 } else { 0 }
}

fn review_event(place: Reviewed<'_>, event: &Value, row: &Row) {
    let Reviewed { tree, pmu, mode, .. } = place;
    let flag = |name: &str| event[name].as_bool().unwrap_or_else(|| panic!("{place}: {name}"));
    let caps = trees::word(tree, &format!("{pmu}/caps/max_precise"));
    let caps = caps.and_then(|word| word.parse().ok());
    let table = row.number("precise_ip_max_useful");
    let precise = if row.is_ibs() { 0 } else { table.min(caps.unwrap_or(u64::MAX)) };
    assert_eq!(event["precise_ip"], precise, "{place}");
    let imprecise = row.get("equivalence").ends_with("-imprecise");
    assert_eq!(event["promises"]["exact_ip"], !imprecise, "{place}");
    // Nehalem's load latency records the address, whatever the maker's list
    // says of the events that it is derived from.
    let load_latency = row.number("raw_config") == 0x100b;
    let samples_address = (row.get("data_la") == "1" || load_latency) && !imprecise;
    assert_eq!(event["promises"]["data_address"], samples_address, "{place}");

    let registers = match (row.is_ibs(), imprecise) {
        (true, _) | (_, true) => "interrupt-time",
        _ => "after-retirement",
    };
    assert_eq!(event["promises"]["registers"], registers, "{place}");
    assert_eq!(event["sample_regs_intr"], "0xff03ff", "{place}");
    let period = event["sample_period"].as_u64().expect("a period");
    if row.is_ibs() {
        assert_eq!(period % 16, 0, "{place}");
        for name in ["exclude_user", "exclude_kernel", "exclude_hv", "exclude_guest"] {
            assert!(!flag(name), "{place}: {name} of IBS without swfilt");
        }
        let filter = event["filter"].as_str().expect("IBS samples every op");
        assert!(filter.contains(if mode == "-u" { "mode:user" } else { "mode:kernel" }));
    } else {
        assert_eq!((flag("exclude_kernel"), flag("exclude_user")), (mode == "-u", mode == "-k"));
        let known_intel = event["uarch"].is_string() && row.get("pmu").starts_with("cpu");
        let amd = tree.starts_with("zen");
        assert_eq!(flag("exclude_guest"), known_intel && !amd, "{place}");
    }
    assert!(!flag("exclude_host"));
    review_filter(place, event, row);
    let cpus = trees::word(tree, &format!("{pmu}/cpus")).unwrap_or_else(|| "all".to_owned());
    assert_eq!(event["cpus"], cpus.as_str(), "{place}");
}

/// The longest of the rows' default intervals is that of all events.
fn review_interval(place: &str, plan: &Value, rows: &[Row]) {
    let default = |row: &Row| match row.number("sample_after_value") {
        0 if row.is_ibs() => 100_000,
        0 => 100_003,
        default => default,
    };
    let longest = rows.iter().map(default).max().expect("a row");
    for event in plan["events"].as_array().expect("events") {
        assert_eq!(event["sample_period"], longest, "{place}");
    }
}

fn review_filter(place: Reviewed<'_>, event: &Value, row: &Row) {
    let filter = event["filter"].as_str().unwrap_or_default();
    let terms: BTreeSet<&str> =
        filter.split('+').filter(|term| !term.is_empty() && !term.starts_with("mode:")).collect();
    let mut wanted: BTreeSet<String> = BTreeSet::new();
    let other = row.get("other");
    if other.contains("decode") {
        wanted.insert(format!("class:{}", class(row.get("type"))));
    }
    for (bit, term) in [
        ("LdOp=1", "ibs:ld_op"),
        ("StOp=1", "ibs:st_op"),
        ("LdOp|StOp", "ibs:ld_op|st_op"),
        ("DcMiss=1", "ibs:dc_miss"),
        ("L2Miss=1", "ibs:l2_miss"),
        ("DcLinAddrValid=1", "ibs:lin_addr_valid"),
        ("DcL1TlbMiss=1", "ibs:dc_l1_tlb_miss"),
        ("DcL2TlbMiss=1", "ibs:dc_l2_tlb_miss"),
        ("DcMisAcc=1", "ibs:dc_mis_acc"),
    ] {
        if other.contains(bit) {
            wanted.insert(term.to_owned());
        }
    }
    assert_eq!(terms, wanted.iter().map(String::as_str).collect(), "{place}: {filter}");
}

fn class(kind: &str) -> &'static str {
    match kind {
        "memory_loads" => "reads_memory",
        "memory_stores" => "writes_memory",
        "memory_moves" => "accesses_memory",
        "packed_sp_retired" => "packed_sp",
        "packed_dp_retired" => "packed_dp",
        "scaler_sp_retired" => "scalar_sp",
        "scaler_dp_retired" => "scalar_dp",
        "64bit_mmx_retired" => "mmx64",
        "128bit_mmx_retired" => "mmx128",
        "x87_fp_retired" => "x87",
        "x87_simd_memory_moves_retired" => "x87_simd_moves",
        "split_load_retired" => "split_load",
        other => panic!("{other} is never emulated by class"),
    }
}

fn hex(value: &Value) -> u64 {
    let text = value.as_str().expect("hexadecimal");
    u64::from_str_radix(text.strip_prefix("0x").expect("0x"), 16).expect("hexadecimal")
}
