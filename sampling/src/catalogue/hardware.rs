//! Types that a CPU counts: hardmeter's of 2003, and what CPUs have learnt
//! since. Which event stands for a type on which core is in the tables.

use super::{CatalogueType, EventKind, Hardware, IntervalUnit};

const FAULTS: &[&str] = &["page_fault", "minor_fault"];
const CLOCKS: &[&str] = &["task_clock", "cpu_clock"];

const CACHE: EventKind = EventKind::Hardware(Hardware {
    kin: &["l1_cache_miss", "l2_cache_miss", "l3_cache_miss", "load_latency", "memory_loads"],
    nearest: FAULTS,
    difference: "page_fault shows the first touch of each page, with exact address: memory \
                 pressure, not cache misses",
});
const TLB: EventKind = EventKind::Hardware(Hardware {
    kin: &["dtlb_load_miss", "dtlb_store_miss", "dtlb_all_miss", "page_walk"],
    nearest: FAULTS,
    difference: "page_fault shows page walks that found no page, a small part of TLB misses",
});
const ACCESS: EventKind = EventKind::Hardware(Hardware {
    kin: &["memory_loads", "memory_stores", "memory_moves", "load_latency", "store_latency"],
    nearest: &["page_fault", "mem:ADDR[/LEN]:[r][w][x]"],
    difference: "page_fault shows first touches of pages; mem:ADDR:rw shows every access to one \
                 address",
});
const SPLIT: EventKind = EventKind::Hardware(Hardware {
    kin: &["memory_loads", "load_latency"],
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows accesses \
                 across cache lines",
});
const EXECUTION: EventKind = EventKind::Hardware(Hardware {
    kin: &["instr_retired", "uop_retired"],
    nearest: CLOCKS,
    difference: "task_clock shows where time is spent, not what is executed, and with skid",
});
const SHARING: EventKind = EventKind::Hardware(Hardware {
    kin: &["l3_cache_miss", "l2_cache_miss", "load_latency"],
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows what other \
                 CPUs do to a line",
});

/// What all of them have, but for a few.
const OF_CPU: CatalogueType = CatalogueType {
    name: "",
    aliases: &[],
    meaning: "",
    default_interval: 10_000,
    unit: IntervalUnit::Events,
    promises: None,
    detail: "",
    // One of its own name.
    example: "",
    kind: EXECUTION,
};

const FLOATING: &str = "Instructions that compute: adds, multiplies, compares, converts; not \
                        loads, stores or moves. Where the CPU has no precise event, retired \
                        instructions are sampled and those of the class kept; the table then \
                        says what share that is.";
const INTEGER: &str = "Instructions that compute on packed integers. Where the CPU has no precise \
                       event, retired instructions are sampled and those of the class kept; the \
                       table then says what share that is.";

pub(super) static TYPES: &[CatalogueType] = &[
    CatalogueType {
        name: "instr_retired",
        aliases: &["instructions"],
        meaning: "instructions retired",
        detail: "Every instruction that completed, whatever it does. Speculation that was undone \
                 does not count.",
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "uop_retired",
        aliases: &["uops_retired"],
        meaning: "micro-operations retired",
        detail: "What instructions are made of inside the CPU. Big cores of Intel since Skylake \
                 count retirement slots instead.",
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "packed_sp_retired",
        aliases: &["packed_sp"],
        meaning: "packed single-precision operations",
        detail: FLOATING,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "packed_dp_retired",
        aliases: &["packed_dp"],
        meaning: "packed double-precision operations",
        detail: FLOATING,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "scaler_sp_retired",
        aliases: &["scalar_sp_retired", "scalar_sp", "scaler_sp"],
        meaning: "scalar single-precision operations",
        detail: FLOATING,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "scaler_dp_retired",
        aliases: &["scalar_dp_retired", "scalar_dp", "scaler_dp"],
        meaning: "scalar double-precision operations",
        detail: FLOATING,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "64bit_mmx_retired",
        aliases: &["mmx64_retired", "64bit_mmx"],
        meaning: "64-bit integer SIMD operations",
        detail: INTEGER,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "128bit_mmx_retired",
        aliases: &["mmx128_retired", "128bit_mmx"],
        meaning: "128-bit integer SIMD operations",
        detail: INTEGER,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "x87_fp_retired",
        aliases: &["x87_fp"],
        meaning: "x87 floating-point operations",
        detail: FLOATING,
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "x87_simd_memory_moves_retired",
        aliases: &["x87_simd_memory_moves"],
        meaning: "x87 and SIMD loads, stores and register moves",
        detail: "Instructions that move an x87, MMX or vector register, to or from memory or \
                 another register. No CPU since 2006 has an event for it: precisely sampled \
                 instructions are decoded and those of the class kept.",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "memory_loads",
        aliases: &["loads", "mem_loads"],
        meaning: "loads retired",
        detail: "Instructions (on some cores micro-operations) that read memory.",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "memory_stores",
        aliases: &["stores", "mem_stores"],
        meaning: "stores retired",
        detail: "Instructions (on some cores micro-operations) that write memory.",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "memory_moves",
        aliases: &["mem_moves"],
        meaning: "loads and stores retired",
        detail: "Instructions (on some cores micro-operations) that read or write memory.",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "l1_cache_miss",
        aliases: &["l1_miss", "l1_cache_misses", "l1_cache_load_miss"],
        meaning: "loads that missed the first-level data cache",
        detail: "Loads that retired and did not find their data in the first-level data cache, \
                 wherever it came from. A load for a line already under way may count or not, as \
                 the CPU has it.",
        kind: CACHE,
        ..OF_CPU
    },
    CatalogueType {
        name: "l2_cache_miss",
        aliases: &["l2_miss", "l2_cache_misses", "l2_cache_load_miss", "cache_misses"],
        meaning: "loads that missed the second-level cache",
        detail: "Loads that retired and found their data neither in the first-level nor in the \
                 second-level cache.",
        kind: CACHE,
        ..OF_CPU
    },
    CatalogueType {
        name: "dtlb_load_miss",
        aliases: &["dtlb_load_misses"],
        meaning: "loads that missed the data TLB and walked the page table",
        detail: "Loads that retired and whose page was in neither level of the TLB.",
        kind: TLB,
        ..OF_CPU
    },
    CatalogueType {
        name: "dtlb_store_miss",
        aliases: &["dtlb_stor_miss", "dtlb_store_misses"],
        meaning: "stores that missed the data TLB and walked the page table",
        detail: "Stores that retired and whose page was in neither level of the TLB.",
        kind: TLB,
        ..OF_CPU
    },
    CatalogueType {
        name: "dtlb_all_miss",
        aliases: &["dtlb_all_misses", "dtlb_miss"],
        meaning: "loads and stores that missed the data TLB",
        detail: "Loads and stores that retired and whose page was in neither level of the TLB.",
        kind: TLB,
        ..OF_CPU
    },
    CatalogueType {
        name: "mob_load_replay_retired",
        aliases: &["mob_load_replay"],
        meaning: "loads replayed because a store before them could not forward its data",
        detail: "The Pentium 4 replayed loads from its memory order buffer. No later CPU has that \
                 event; nearest are loads blocked because an earlier store to their address could \
                 not hand its data over.",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "split_load_retired",
        aliases: &["split_load", "split_loads"],
        meaning: "loads that straddled two cache lines",
        detail: "Loads that retired and whose bytes lay in two cache lines.",
        kind: SPLIT,
        ..OF_CPU
    },
    CatalogueType {
        name: "load_latency",
        aliases: &["mem_latency"],
        meaning: "loads that took long, with the cycles they took",
        detail: "A random choice of loads that took at least as many core cycles as -m ldlat=N \
                 says. Each sample carries address, cycles and where the data came from. The \
                 choice favours no kind of load but by its cycles.",
        example: "ebs -u -t load_latency -m ldlat=100 -- ./program",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "store_latency",
        aliases: &["mem_store_latency"],
        meaning: "stores, with the cycles they took",
        detail: "Stores with address and the core cycles until they were done, on cores that time \
                 them; before, stores with their address alone.",
        example: "ebs -u -t store_latency -- ./program",
        kind: ACCESS,
        ..OF_CPU
    },
    CatalogueType {
        name: "l3_cache_miss",
        aliases: &["l3_miss", "l3_cache_misses", "llc_miss", "llc_misses"],
        meaning: "loads that missed the last-level cache",
        detail: "Loads that retired and found their data in no cache of their socket.",
        kind: CACHE,
        ..OF_CPU
    },
    CatalogueType {
        name: "remote_dram",
        aliases: &["remote_memory"],
        meaning: "loads served by memory of another socket",
        detail: "Loads that retired and whose data came from memory that belongs to another \
                 socket.",
        kind: CACHE,
        ..OF_CPU
    },
    CatalogueType {
        name: "hitm",
        aliases: &["false_sharing", "xsnp_hitm"],
        meaning: "loads of lines that another core had modified",
        detail: "Loads that retired and whose line was modified in another core's cache: true or \
                 false sharing. The address tells which line.",
        kind: SHARING,
        ..OF_CPU
    },
    CatalogueType {
        name: "branch_mispredict",
        aliases: &["branch_mispredicts", "br_misp_retired", "mispredicted_branches"],
        meaning: "branches that were predicted wrongly",
        detail: "Branches that retired and whose direction or target had been predicted wrongly. \
                 IP is the branch.",
        kind: EXECUTION,
        ..OF_CPU
    },
    CatalogueType {
        name: "page_walk",
        aliases: &["page_walks", "tlb_walk"],
        meaning: "page walks for data",
        detail: "Walks of the page table for loads and stores, also speculative ones where the CPU \
                 counts walks and not instructions.",
        kind: TLB,
        ..OF_CPU
    },
    CatalogueType {
        name: "fb_full",
        aliases: &["fill_buffer_full", "lfb_full"],
        meaning: "cycles or requests that found every fill buffer taken",
        detail: "A miss of the first-level data cache needs a fill buffer to wait in. This counts \
                 when none was free: as many misses were under way as the core can have.",
        kind: CACHE,
        ..OF_CPU
    },
    CatalogueType {
        name: "l2_rqsts",
        aliases: &["l2_requests"],
        meaning: "requests to the second-level cache, by origin and result",
        detail: "What came to the second-level cache, from whom, and whether the line was there: \
                 masks (-m) choose at least one origin and one result. The requester is no \
                 instruction any more: IP is where the core was when the counter ran over.",
        example: "ebs -u -t l2_rqsts -m demand_rd,rfo,miss -- ./program",
        kind: CACHE,
        ..OF_CPU
    },
    CatalogueType {
        name: "fb_alloc",
        aliases: &["l1d_pend_miss"],
        meaning: "fill buffers of the first-level data cache",
        detail: "Event 48 of Intel's big cores, mask 04 unless -m chooses others: misses under \
                 way, full fill buffers.",
        example: "ebs -u -t fb_alloc -m full -- ./program",
        kind: CACHE,
        ..OF_CPU
    },
];
