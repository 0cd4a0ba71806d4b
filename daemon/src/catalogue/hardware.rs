//! hardmeter's types of 2003. All want a PMU; this version lists them, says
//! why they are not to be had, and names what comes nearest.

use super::{EventKind, EventType, Hardware, IntervalUnit};

const FAULTS: &[&str] = &["page_fault", "minor_fault"];
const CLOCKS: &[&str] = &["task_clock", "cpu_clock"];

const CACHE: Hardware = Hardware {
    nearest: FAULTS,
    difference: "page_fault shows the first touch of each page, with exact address: memory \
                 pressure, not cache misses",
};
const TLB: Hardware = Hardware {
    nearest: FAULTS,
    difference: "page_fault shows page walks that found no page, a small part of TLB misses",
};
const ACCESS: Hardware = Hardware {
    nearest: &["page_fault", "mem:ADDR[/LEN]:[r][w][x]"],
    difference: "page_fault shows first touches of pages; mem:ADDR:rw shows every access to one \
                 address",
};
const SPLIT: Hardware = Hardware {
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows accesses \
                 across cache lines",
};
const EXECUTION: Hardware = Hardware {
    nearest: CLOCKS,
    difference: "task_clock shows where time is spent, not what is executed, and with skid",
};

const fn hardware(
    name: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
    hardware: Hardware,
) -> EventType {
    EventType {
        name,
        aliases,
        meaning,
        default_interval: 10_000,
        unit: IntervalUnit::Events,
        promises: None,
        detail: "One of hardmeter's original types: an event of the CPU's PMU, sampled \
                 precisely. This version does not open PMU events: the encodings of each CPU \
                 come with a later one.",
        example: "ebs -k -t l1_cache_miss -c 50000 -- make -j",
        kind: EventKind::Hardware(hardware),
    }
}

pub(super) static TYPES: &[EventType] = &[
    hardware("instr_retired", &["instructions"], "instructions retired", EXECUTION),
    hardware("uop_retired", &["uops_retired"], "micro-operations retired", EXECUTION),
    hardware("packed_sp_retired", &[], "packed single-precision operations", EXECUTION),
    hardware("packed_dp_retired", &[], "packed double-precision operations", EXECUTION),
    hardware(
        "scaler_sp_retired",
        &["scalar_sp_retired"],
        "scalar single-precision operations",
        EXECUTION,
    ),
    hardware(
        "scaler_dp_retired",
        &["scalar_dp_retired"],
        "scalar double-precision operations",
        EXECUTION,
    ),
    hardware("64bit_mmx_retired", &["mmx64_retired"], "64-bit integer SIMD operations", EXECUTION),
    hardware(
        "128bit_mmx_retired",
        &["mmx128_retired"],
        "128-bit integer SIMD operations",
        EXECUTION,
    ),
    hardware("x87_fp_retired", &[], "x87 floating-point operations", EXECUTION),
    hardware(
        "x87_simd_memory_moves_retired",
        &["x87_simd_memory_moves"],
        "x87 and SIMD loads, stores and register moves",
        ACCESS,
    ),
    hardware("memory_loads", &["loads", "mem_loads"], "loads retired", ACCESS),
    hardware("memory_stores", &["stores", "mem_stores"], "stores retired", ACCESS),
    hardware("memory_moves", &[], "loads and stores retired", ACCESS),
    hardware(
        "l1_cache_miss",
        &["l1_miss", "l1_cache_misses", "l1_cache_load_miss"],
        "loads that missed the first-level data cache",
        CACHE,
    ),
    hardware(
        "l2_cache_miss",
        &["l2_miss", "l2_cache_misses", "l2_cache_load_miss", "cache_misses"],
        "loads that missed the second-level cache",
        CACHE,
    ),
    hardware(
        "dtlb_load_miss",
        &["dtlb_load_misses"],
        "loads that missed the data TLB and walked the page table",
        TLB,
    ),
    hardware(
        "dtlb_store_miss",
        &["dtlb_stor_miss", "dtlb_store_misses"],
        "stores that missed the data TLB and walked the page table",
        TLB,
    ),
    hardware(
        "dtlb_all_miss",
        &["dtlb_all_misses", "dtlb_miss"],
        "loads and stores that missed the data TLB",
        TLB,
    ),
    hardware(
        "mob_load_replay_retired",
        &["mob_load_replay"],
        "loads replayed because a store before them could not forward its data",
        ACCESS,
    ),
    hardware(
        "split_load_retired",
        &["split_load", "split_loads"],
        "loads that straddled two cache lines",
        SPLIT,
    ),
];
