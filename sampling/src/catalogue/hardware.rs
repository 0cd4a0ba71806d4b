//! Types that a CPU counts: hardmeter's of 2003, and what CPUs have learnt
//! since. Which event stands for a type on which core is in the tables.

use super::{CatalogueType, EventKind, Hardware, IntervalUnit};

const FAULTS: &[&str] = &["page_fault", "minor_fault"];
const CLOCKS: &[&str] = &["task_clock", "cpu_clock"];

const CACHE: Hardware = Hardware {
    kin: &["l1_cache_miss", "l2_cache_miss", "l3_cache_miss", "load_latency", "memory_loads"],
    nearest: FAULTS,
    difference: "page_fault shows the first touch of each page, with exact address: memory \
                 pressure, not cache misses",
};
const TLB: Hardware = Hardware {
    kin: &["dtlb_load_miss", "dtlb_store_miss", "dtlb_all_miss", "page_walk"],
    nearest: FAULTS,
    difference: "page_fault shows page walks that found no page, a small part of TLB misses",
};
const ACCESS: Hardware = Hardware {
    kin: &["memory_loads", "memory_stores", "memory_moves", "load_latency", "store_latency"],
    nearest: &["page_fault", "mem:ADDR[/LEN]:[r][w][x]"],
    difference: "page_fault shows first touches of pages; mem:ADDR:rw shows every access to one \
                 address",
};
const SPLIT: Hardware = Hardware {
    kin: &["memory_loads", "load_latency"],
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows accesses \
                 across cache lines",
};
const EXECUTION: Hardware = Hardware {
    kin: &["instr_retired", "uop_retired"],
    nearest: CLOCKS,
    difference: "task_clock shows where time is spent, not what is executed, and with skid",
};
const SHARING: Hardware = Hardware {
    kin: &["l3_cache_miss", "l2_cache_miss", "load_latency"],
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows what other \
                 CPUs do to a line",
};

const MASKED: &str = "ebs -u -t l2_rqsts -m demand_rd,rfo,miss -- ./program";

const fn hardware(
    name: &'static str,
    aliases: &'static [&'static str],
    meaning: &'static str,
    detail: &'static str,
    hardware: Hardware,
) -> CatalogueType {
    CatalogueType {
        name,
        aliases,
        meaning,
        default_interval: 10_000,
        unit: IntervalUnit::Events,
        promises: None,
        detail,
        // One of its own name.
        example: "",
        kind: EventKind::Hardware(hardware),
    }
}

const fn with_example(mut entry: CatalogueType, example: &'static str) -> CatalogueType {
    entry.example = example;
    entry
}

const FLOATING: &str = "Instructions that compute: adds, multiplies, compares, converts; not \
                        loads, stores or moves. Where the CPU has no precise event, retired \
                        instructions are sampled and those of the class kept; the table then \
                        says what share that is.";
const INTEGER: &str = "Instructions that compute on packed integers. Where the CPU has no precise \
                       event, retired instructions are sampled and those of the class kept; the \
                       table then says what share that is.";

pub(super) static TYPES: &[CatalogueType] = &[
    hardware(
        "instr_retired",
        &["instructions"],
        "instructions retired",
        "Every instruction that completed, whatever it does. Speculation that was undone does \
         not count.",
        EXECUTION,
    ),
    hardware(
        "uop_retired",
        &["uops_retired"],
        "micro-operations retired",
        "What instructions are made of inside the CPU. Big cores of Intel since Skylake count \
         retirement slots instead.",
        EXECUTION,
    ),
    hardware(
        "packed_sp_retired",
        &["packed_sp"],
        "packed single-precision operations",
        FLOATING,
        EXECUTION,
    ),
    hardware(
        "packed_dp_retired",
        &["packed_dp"],
        "packed double-precision operations",
        FLOATING,
        EXECUTION,
    ),
    hardware(
        "scaler_sp_retired",
        &["scalar_sp_retired", "scalar_sp", "scaler_sp"],
        "scalar single-precision operations",
        FLOATING,
        EXECUTION,
    ),
    hardware(
        "scaler_dp_retired",
        &["scalar_dp_retired", "scalar_dp", "scaler_dp"],
        "scalar double-precision operations",
        FLOATING,
        EXECUTION,
    ),
    hardware(
        "64bit_mmx_retired",
        &["mmx64_retired", "64bit_mmx"],
        "64-bit integer SIMD operations",
        INTEGER,
        EXECUTION,
    ),
    hardware(
        "128bit_mmx_retired",
        &["mmx128_retired", "128bit_mmx"],
        "128-bit integer SIMD operations",
        INTEGER,
        EXECUTION,
    ),
    hardware("x87_fp_retired", &["x87_fp"], "x87 floating-point operations", FLOATING, EXECUTION),
    hardware(
        "x87_simd_memory_moves_retired",
        &["x87_simd_memory_moves"],
        "x87 and SIMD loads, stores and register moves",
        "Instructions that move an x87, MMX or vector register, to or from memory or another \
         register. No CPU since 2006 has an event for it: precisely sampled instructions are \
         decoded and those of the class kept.",
        ACCESS,
    ),
    hardware(
        "memory_loads",
        &["loads", "mem_loads"],
        "loads retired",
        "Instructions (on some cores micro-operations) that read memory.",
        ACCESS,
    ),
    hardware(
        "memory_stores",
        &["stores", "mem_stores"],
        "stores retired",
        "Instructions (on some cores micro-operations) that write memory.",
        ACCESS,
    ),
    hardware(
        "memory_moves",
        &["mem_moves"],
        "loads and stores retired",
        "Instructions (on some cores micro-operations) that read or write memory.",
        ACCESS,
    ),
    hardware(
        "l1_cache_miss",
        &["l1_miss", "l1_cache_misses", "l1_cache_load_miss"],
        "loads that missed the first-level data cache",
        "Loads that retired and did not find their data in the first-level data cache, wherever \
         it came from. A load for a line already under way may count or not, as the CPU has it.",
        CACHE,
    ),
    hardware(
        "l2_cache_miss",
        &["l2_miss", "l2_cache_misses", "l2_cache_load_miss", "cache_misses"],
        "loads that missed the second-level cache",
        "Loads that retired and found their data neither in the first-level nor in the \
         second-level cache.",
        CACHE,
    ),
    hardware(
        "dtlb_load_miss",
        &["dtlb_load_misses"],
        "loads that missed the data TLB and walked the page table",
        "Loads that retired and whose page was in neither level of the TLB.",
        TLB,
    ),
    hardware(
        "dtlb_store_miss",
        &["dtlb_stor_miss", "dtlb_store_misses"],
        "stores that missed the data TLB and walked the page table",
        "Stores that retired and whose page was in neither level of the TLB.",
        TLB,
    ),
    hardware(
        "dtlb_all_miss",
        &["dtlb_all_misses", "dtlb_miss"],
        "loads and stores that missed the data TLB",
        "Loads and stores that retired and whose page was in neither level of the TLB.",
        TLB,
    ),
    hardware(
        "mob_load_replay_retired",
        &["mob_load_replay"],
        "loads replayed because a store before them could not forward its data",
        "The Pentium 4 replayed loads from its memory order buffer. No later CPU has that event; \
         nearest are loads blocked because an earlier store to their address could not hand its \
         data over.",
        ACCESS,
    ),
    hardware(
        "split_load_retired",
        &["split_load", "split_loads"],
        "loads that straddled two cache lines",
        "Loads that retired and whose bytes lay in two cache lines.",
        SPLIT,
    ),
    with_example(
        hardware(
            "load_latency",
            &["mem_latency"],
            "loads that took long, with the cycles they took",
            "A random choice of loads that took at least as many core cycles as -m ldlat=N says. \
             Each sample carries address, cycles and where the data came from. The choice \
             favours no kind of load but by its cycles.",
            ACCESS,
        ),
        "ebs -u -t load_latency -m ldlat=100 -- ./program",
    ),
    with_example(
        hardware(
            "store_latency",
            &["mem_store_latency"],
            "stores, with the cycles they took",
            "Stores with address and the core cycles until they were done, on cores that time \
             them; before, stores with their address alone.",
            ACCESS,
        ),
        "ebs -u -t store_latency -- ./program",
    ),
    hardware(
        "l3_cache_miss",
        &["l3_miss", "l3_cache_misses", "llc_miss", "llc_misses"],
        "loads that missed the last-level cache",
        "Loads that retired and found their data in no cache of their socket.",
        CACHE,
    ),
    hardware(
        "remote_dram",
        &["remote_memory"],
        "loads served by memory of another socket",
        "Loads that retired and whose data came from memory that belongs to another socket.",
        CACHE,
    ),
    hardware(
        "hitm",
        &["false_sharing", "xsnp_hitm"],
        "loads of lines that another core had modified",
        "Loads that retired and whose line was modified in another core's cache: true or false \
         sharing. The address tells which line.",
        SHARING,
    ),
    hardware(
        "branch_mispredict",
        &["branch_mispredicts", "br_misp_retired", "mispredicted_branches"],
        "branches that were predicted wrongly",
        "Branches that retired and whose direction or target had been predicted wrongly. IP is \
         the branch.",
        EXECUTION,
    ),
    hardware(
        "page_walk",
        &["page_walks", "tlb_walk"],
        "page walks for data",
        "Walks of the page table for loads and stores, also speculative ones where the CPU \
         counts walks and not instructions.",
        TLB,
    ),
    hardware(
        "fb_full",
        &["fill_buffer_full", "lfb_full"],
        "cycles or requests that found every fill buffer taken",
        "A miss of the first-level data cache needs a fill buffer to wait in. This counts when \
         none was free: as many misses were under way as the core can have.",
        CACHE,
    ),
    with_example(
        hardware(
            "l2_rqsts",
            &["l2_requests"],
            "requests to the second-level cache, by origin and result",
            "What came to the second-level cache, from whom, and whether the line was there: \
             masks (-m) choose at least one origin and one result. The requester is no \
             instruction any more: IP is where the core was when the counter ran over.",
            CACHE,
        ),
        MASKED,
    ),
    with_example(
        hardware(
            "fb_alloc",
            &["l1d_pend_miss"],
            "fill buffers of the first-level data cache",
            "Event 48 of Intel's big cores, mask 04 unless -m chooses others: misses under way, \
             full fill buffers.",
            CACHE,
        ),
        "ebs -u -t fb_alloc -m full -- ./program",
    ),
];
