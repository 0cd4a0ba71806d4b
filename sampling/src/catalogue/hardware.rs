//! Types that a CPU counts: hardmeter's of 2003, and what CPUs have learnt
//! since. Their words are in a table, and in others which event stands for a
//! type on which core.

use std::sync::LazyLock;

use super::{CatalogueType, EventKind, Hardware, IntervalUnit, table};

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

/// The kinds by what the table calls them.
const KINDS: [(&str, EventKind); 6] = [
    ("[cache]", CACHE),
    ("[tlb]", TLB),
    ("[access]", ACCESS),
    ("[split]", SPLIT),
    ("[execution]", EXECUTION),
    ("[sharing]", SHARING),
];

/// Those of the table. What cannot be read is left out: a test finds that
/// there is none.
pub(super) static TYPES: LazyLock<Vec<CatalogueType>> = LazyLock::new(|| {
    let mut types: Vec<CatalogueType> = Vec::new();
    for paragraph in paragraphs() {
        let before = types.last().map_or("", |before| before.detail);
        types.extend(read(paragraph, before));
    }
    types
});

fn paragraphs() -> impl Iterator<Item = &'static str> {
    table::HARDWARE.split("\n\n").filter(|paragraph| !paragraph.starts_with('#'))
}

/// A type by its paragraph; one without a detail has that of the type before.
fn read(paragraph: &'static str, before: &'static str) -> Option<CatalogueType> {
    let mut lines = paragraph.lines();
    let mut names = lines.next()?.split(' ');
    let name = names.next()?;
    let akin = names.next_back()?;
    let (_, kind) = KINDS.into_iter().find(|(known, _)| *known == akin)?;
    let meaning = lines.next()?;
    let (examples, detail): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("$ "));
    Some(CatalogueType {
        name,
        aliases: names.collect::<Vec<_>>().leak(),
        meaning,
        default_interval: 10_000,
        unit: IntervalUnit::Events,
        promises: None,
        detail: if detail.is_empty() { before } else { detail.join(" ").leak() },
        // Most have none of their own.
        example: examples.first().and_then(|line| line.strip_prefix("$ ")).unwrap_or_default(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_paragraph_of_the_table_is_a_type() {
        assert_eq!(TYPES.len(), paragraphs().count());
        for entry in TYPES.iter() {
            assert!(!entry.detail.is_empty(), "{}", entry.name);
        }
    }
}
