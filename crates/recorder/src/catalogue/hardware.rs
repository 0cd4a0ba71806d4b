//! Types that a CPU counts: hardmeter's of 2003, and what CPUs have learnt
//! since. Their words are in a table, and in others which event stands for a
//! type on which core.

use std::sync::LazyLock;

use super::{CatalogueType, EventKind, Hardware, IntervalUnit, table, words};

const FAULTS: &[&str] = &["page_fault", "minor_fault"];
const CLOCKS: &[&str] = &["task_clock", "cpu_clock"];

const CACHE: EventKind = EventKind::Hardware(Hardware {
    related: &["l1_cache_miss", "l2_cache_miss", "l3_cache_miss", "load_latency", "memory_loads"],
    nearest: FAULTS,
    difference: "page_fault shows the first touch of each page, with exact address: memory \
                 pressure, not cache misses",
});
const TLB: EventKind = EventKind::Hardware(Hardware {
    related: &["dtlb_load_miss", "dtlb_store_miss", "dtlb_all_miss", "page_walk"],
    nearest: FAULTS,
    difference: "page_fault shows page walks that found no page, a small part of TLB misses",
});
const ACCESS: EventKind = EventKind::Hardware(Hardware {
    related: &["memory_loads", "memory_stores", "memory_moves", "load_latency", "store_latency"],
    nearest: &["page_fault", "mem:ADDR[/LEN]:[r][w][x]"],
    difference: "page_fault shows first touches of pages; mem:ADDR:rw shows every access to one \
                 address",
});
const SPLIT: EventKind = EventKind::Hardware(Hardware {
    related: &["memory_loads", "load_latency"],
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows accesses \
                 across cache lines",
});
const EXECUTION: EventKind = EventKind::Hardware(Hardware {
    related: &["instr_retired", "uop_retired"],
    nearest: CLOCKS,
    difference: "task_clock shows where time is spent, not what is executed, and with skid",
});
const SHARING: EventKind = EventKind::Hardware(Hardware {
    related: &["l3_cache_miss", "l2_cache_miss", "load_latency"],
    nearest: FAULTS,
    difference: "page_fault shows first touches of pages; no event of the kernel shows what other \
                 CPUs do to a line",
});

const fn of_cpu(kind: EventKind) -> CatalogueType {
    CatalogueType {
        name: "",
        aliases: &[],
        meaning: "",
        default_interval: 10_000,
        unit: IntervalUnit::Events,
        promises: None,
        detail: "",
        // One of its own name.
        example: "",
        kind,
    }
}

const KINDS: [(&str, CatalogueType); 6] = [
    ("cache", of_cpu(CACHE)),
    ("tlb", of_cpu(TLB)),
    ("access", of_cpu(ACCESS)),
    ("split", of_cpu(SPLIT)),
    ("execution", of_cpu(EXECUTION)),
    ("sharing", of_cpu(SHARING)),
];

pub(super) static TYPES: LazyLock<Vec<CatalogueType>> =
    LazyLock::new(|| words::types(table::HARDWARE, &KINDS));
