//! The types' encodings against the table that was reviewed by hand.

use std::collections::BTreeMap;

use super::facts::{hex, unpack};
use super::*;

#[derive(Debug)]
struct Row {
    kind: String,
    core: String,
    pmu: String,
    other: String,
    event: String,
    data_address: bool,
    rank: u32,
    sample: bool,
    equivalence: String,
    config: u64,
    config1: u64,
    precise: u8,
    interval: Option<u64>,
}

fn review() -> Vec<Row> {
    let text = unpack(include_bytes!("../../../fixtures/events/hardmeter_types.csv.gz"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|have| have == name).unwrap();
    let row = |record: csv::StringRecord| {
        let word = |name: &str| record[column(name)].to_owned();
        Row {
            kind: word("type"),
            core: word("uarch"),
            pmu: word("pmu"),
            other: word("other"),
            event: word("perfmon_event_name"),
            data_address: word("data_la") == "1",
            rank: word("rank").parse().unwrap(),
            sample: word("recommended_for").split(' ').any(|what| what == "sample"),
            equivalence: word("equivalence").trim_end_matches("-imprecise").to_owned(),
            config: hex(&word("raw_config")),
            config1: hex(&word("raw_config1")),
            precise: word("precise_ip_max_useful").parse().unwrap_or(0),
            interval: word("sample_after_value").parse().ok(),
        }
    };
    reader.into_records().map(|record| row(record.unwrap())).collect()
}

/// What `filter[...]` and `decode` of the reviewed table mean, written out.
fn filter(row: &Row) -> SampleFilter {
    let ibs = match row.other.as_str() {
        "cnt_ctl=1 filter[LdOp=1]" => "ibs:ld_op",
        "cnt_ctl=1 filter[StOp=1]" => "ibs:st_op",
        "cnt_ctl=1 filter[LdOp|StOp]" | "cnt_ctl=1 filter[(LdOp|StOp) and decode]" => {
            "ibs:ld_op|st_op"
        }
        "cnt_ctl=1 filter[LdOp=1 & DcMiss=1]" => "ibs:ld_op+ibs:dc_miss",
        "cnt_ctl=1 filter[LdOp=1 & DcMiss=1 & L2Miss=1]" => "ibs:ld_op+ibs:dc_miss+ibs:l2_miss",
        "cnt_ctl=1 filter[LdOp=1 & DcMisAcc=1]" => "ibs:ld_op+ibs:dc_mis_acc",
        "cnt_ctl=1 filter[LdOp=1 & DcLinAddrValid=1 & DcL1TlbMiss=1 & DcL2TlbMiss=1]" => {
            "ibs:ld_op+ibs:lin_addr_valid+ibs:dc_l1_tlb_miss+ibs:dc_l2_tlb_miss"
        }
        "cnt_ctl=1 filter[StOp=1 & DcLinAddrValid=1 & DcL1TlbMiss=1 & DcL2TlbMiss=1]" => {
            "ibs:st_op+ibs:lin_addr_valid+ibs:dc_l1_tlb_miss+ibs:dc_l2_tlb_miss"
        }
        "cnt_ctl=1 filter[(LdOp|StOp) & DcLinAddrValid=1 & DcL1TlbMiss=1 & DcL2TlbMiss=1]" => {
            "ibs:ld_op|st_op+ibs:lin_addr_valid+ibs:dc_l1_tlb_miss+ibs:dc_l2_tlb_miss"
        }
        "cnt_ctl=1 filter[decode]"
        | "decode"
        | "cnt_ctl=1"
        | ""
        | "attr.type=0"
        | "attr.type=3"
        | "ldlat=0x4" => "",
        other if other.starts_with("umask2=") => "",
        other => panic!("no filter is known for {other}"),
    };
    let class = match row.kind.as_str() {
        _ if !row.other.contains("decode") => "",
        "memory_loads" => "class:reads_memory",
        "memory_stores" => "class:writes_memory",
        "memory_moves" => "class:accesses_memory",
        "packed_sp_retired" => "class:packed_sp",
        "packed_dp_retired" => "class:packed_dp",
        "scaler_sp_retired" => "class:scalar_sp",
        "scaler_dp_retired" => "class:scalar_dp",
        "64bit_mmx_retired" => "class:mmx64",
        "128bit_mmx_retired" => "class:mmx128",
        "x87_fp_retired" => "class:x87",
        "x87_simd_memory_moves_retired" => "class:x87_simd_moves",
        "split_load_retired" => "class:split_load",
        other => panic!("no class is known for {other}"),
    };
    let both: Vec<_> = [ibs, class].into_iter().filter(|part| !part.is_empty()).collect();
    both.join("+").parse().unwrap()
}

fn found(core: &str, entry: &CatalogueType) -> Result<Vec<Encoding>, NoEncoding> {
    let known = Microarchitecture::all().into_iter().find(|known| known.0 == core);
    match known {
        Some(core) => encodings(core, core.pmu().unwrap(), entry),
        None if core == "generic" => generic_encodings(entry),
        None => panic!("{core} is in no table"),
    }
}

#[test]
fn encodings_are_those_that_were_reviewed() {
    let all = review();
    let mut cells: BTreeMap<(&str, &str), Vec<&Row>> = BTreeMap::new();
    for row in all.iter().filter(|row| row.core != "arm_spe") {
        cells.entry((&row.kind, &row.core)).or_default().push(row);
    }
    assert_eq!(cells.len(), 20 * 53, "20 types on 52 cores and on unknown ones");
    let (mut events, mut none) = (0, 0);
    for ((kind, core), rows) in cells {
        let entry = find(kind).unwrap();
        let best = rows.iter().filter(|row| row.sample).map(|row| row.rank).min();
        let expected: Vec<_> =
            rows.iter().filter(|row| row.sample && Some(row.rank) == best).collect();
        let found = match found(core, entry) {
            Ok(found) => found,
            Err(reason) => {
                assert!(expected.is_empty(), "{kind} on {core}: {reason}");
                none += 1;
                continue;
            }
        };
        if (kind, core) == ("dtlb_all_miss", "generic") {
            // The kernel has one for loads and one for stores: the table
            // names both in one row and gives the code of the first.
            let configs: Vec<_> = found.iter().map(|have| have.config).collect();
            assert_eq!(configs, [0x1_0003, 0x1_0103]);
            events += 2;
            continue;
        }
        assert_eq!(found.len(), expected.len(), "{kind} on {core}");
        for (have, row) in found.iter().zip(expected) {
            let place = format!("{kind} on {core}: {have:?} and {row:?}");
            let pmu = match row.pmu.as_str() {
                "PERF_TYPE_HARDWARE" => "hardware",
                "PERF_TYPE_HW_CACHE" => "hw_cache",
                pmu => pmu,
            };
            assert_eq!(have.pmu, pmu, "{place}");
            // The review has fixed counter 0's own code, which kernels refuse
            // with precise_ip 3 from Golden Cove on.
            let is_fixed = (row.config, row.event.as_str()) == (0x100, "INST_RETIRED.PREC_DIST");
            let config = if is_fixed { 0xc0 } else { row.config };
            assert_eq!((have.config, have.config1), (config, row.config1), "{place}");
            assert_eq!(have.precise, row.precise, "{place}");
            assert_eq!(have.equivalence.to_string(), row.equivalence, "{place}");
            assert_eq!(have.filter, filter(row), "{place}");
            let exact = row.precise > 0 || row.pmu == "ibs_op";
            // Nehalem's latency facility has the address, its other events
            // have not: the table's column speaks of the maker's flag.
            let address = row.data_address && exact || row.config == 0x100b;
            assert_eq!(have.data_address, address, "{place}");
            assert_eq!(have.event, row.event.split(" (").next().unwrap(), "{place}");
            if let Some(interval) = row.interval {
                assert_eq!(have.default_interval, interval, "{place}");
            }
            events += 1;
        }
    }
    assert_eq!((events, none), (1044, 34));
}

#[test]
fn encodings_are_what_their_names_mean() {
    let mut checked = 0;
    for core in Microarchitecture::all() {
        let pmu = core.pmu().unwrap();
        for entry in all().filter(|entry| matches!(entry.kind, EventKind::Hardware(_))) {
            for encoding in encodings(core, pmu, entry).unwrap_or_default() {
                let composed = matches!(entry.name, "l2_rqsts" | "fb_alloc");
                if encoding.pmu == "ibs_op" || composed {
                    continue;
                }
                let parts = encoding.event.split('|').map(|name| named(core, pmu, name));
                let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
                    // Nehalem's list lacks the architectural event.
                    assert!(core.0.starts_with("nehalem"), "{core}: {encoding:?}");
                    assert_eq!(encoding.config, 0xc5, "{core}: {encoding:?}");
                    continue;
                };
                let config = parts.iter().fold(0, |all, part| all | part.config);
                let by_its_own_code = encoding.event == "INST_RETIRED.PREC_DIST" && config == 0x100;
                let config = if by_its_own_code { 0xc0 } else { config };
                assert_eq!(config, encoding.config, "{core}: {encoding:?}");
                if encoding.precise > 0 {
                    assert!(parts.iter().all(|part| part.precise), "{core}: {encoding:?}");
                }
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 1262);
}
