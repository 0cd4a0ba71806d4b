//! What each type means in the model of the emulated PMU.

use emulator::{Class, EmulatedEvent};
use perfdata::InstructionClass;

use super::{CatalogueType, EventKind, NotOnMachine, on_machine};
use crate::machine::facts::Facts;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEmulated {
    /// No CPU counts it either.
    #[error("the kernel itself counts it, without any PMU")]
    OfKernel,
    #[error("{0}")]
    NotModelled(&'static str),
}

/// The emulated PMU's event for a type.
///
/// # Errors
/// Types that the model knows nothing of, and those of the kernel.
pub fn kind(entry: &CatalogueType) -> Result<EmulatedEvent, NotEmulated> {
    if !matches!(entry.kind, EventKind::Hardware(_)) {
        return Err(NotEmulated::OfKernel);
    }
    let class = |class| Ok(EmulatedEvent::Class(Class::Of(class)));
    match entry.name {
        "instr_retired" => Ok(EmulatedEvent::Class(Class::Retired)),
        "packed_sp_retired" => class(InstructionClass::PackedSp),
        "packed_dp_retired" => class(InstructionClass::PackedDp),
        "scaler_sp_retired" => class(InstructionClass::ScalarSp),
        "scaler_dp_retired" => class(InstructionClass::ScalarDp),
        "64bit_mmx_retired" => class(InstructionClass::Mmx64),
        "128bit_mmx_retired" => class(InstructionClass::Mmx128),
        "x87_fp_retired" => class(InstructionClass::X87),
        "x87_simd_memory_moves_retired" => class(InstructionClass::X87SimdMoves),
        "memory_loads" => class(InstructionClass::ReadsMemory),
        "memory_stores" => class(InstructionClass::WritesMemory),
        "memory_moves" => class(InstructionClass::AccessesMemory),
        "l1_cache_miss" => Ok(EmulatedEvent::L1DataMiss),
        "l2_cache_miss" => Ok(EmulatedEvent::L2Miss),
        "l3_cache_miss" => Ok(EmulatedEvent::L3Miss),
        "dtlb_load_miss" => Ok(EmulatedEvent::DtlbLoadMiss),
        "dtlb_store_miss" => Ok(EmulatedEvent::DtlbStoreMiss),
        "dtlb_all_miss" => Ok(EmulatedEvent::DtlbMiss),
        "page_walk" => Ok(EmulatedEvent::PageWalk),
        "split_load_retired" => Ok(EmulatedEvent::SplitLoad),
        "mob_load_replay_retired" => Ok(EmulatedEvent::BlockedForward),
        "hitm" => Ok(EmulatedEvent::HitModified),
        "uop_retired" => no("instructions are not cut into micro-operations"),
        "load_latency" | "store_latency" => {
            no("latencies are those that the model gives each level, and measure nothing")
        }
        "remote_dram" => no("the model has one socket"),
        "branch_mispredict" => no("branch prediction is not modelled"),
        "fb_full" | "fb_alloc" => no("accesses are modelled one after the other: none waits"),
        "l2_rqsts" => no("the model counts accesses, not requests between caches"),
        _ => no("the model has no such event"),
    }
}

fn no(why: &'static str) -> Result<EmulatedEvent, NotEmulated> {
    Err(NotEmulated::NotModelled(why))
}

pub(crate) fn description(event: EmulatedEvent) -> String {
    match event {
        EmulatedEvent::Class(Class::Retired) => "instructions".to_owned(),
        EmulatedEvent::Class(Class::Of(class)) => format!("instructions of class {class}"),
        EmulatedEvent::L1DataMiss => "loads and stores that miss the L1D".to_owned(),
        EmulatedEvent::L2Miss => "loads and stores that miss L1D and L2".to_owned(),
        EmulatedEvent::L3Miss => "loads and stores that miss every cache".to_owned(),
        EmulatedEvent::DtlbLoadMiss => "loads that miss the DTLB".to_owned(),
        EmulatedEvent::DtlbStoreMiss => "stores that miss the DTLB".to_owned(),
        EmulatedEvent::DtlbMiss => "loads and stores that miss the DTLB".to_owned(),
        EmulatedEvent::PageWalk => "loads and stores that miss every TLB".to_owned(),
        EmulatedEvent::SplitLoad => "loads across two lines".to_owned(),
        EmulatedEvent::SplitStore => "stores across two lines".to_owned(),
        EmulatedEvent::BlockedForward => "loads that an earlier store cannot feed".to_owned(),
        EmulatedEvent::HitModified => "loads of lines that another thread has modified".to_owned(),
        EmulatedEvent::Allocation => "blocks that allocators gave".to_owned(),
        EmulatedEvent::Release => "blocks that were given back to allocators".to_owned(),
        EmulatedEvent::Mapping => "memory that was mapped and unmapped".to_owned(),
    }
}

/// What is counted for a type when it is emulated; None: it is not.
pub fn meaning(entry: &CatalogueType) -> Option<String> {
    kind(entry).ok().map(description)
}

pub fn has_address(entry: &CatalogueType) -> bool {
    kind(entry).is_ok_and(EmulatedEvent::is_of_data)
}

/// Why the machine cannot sample a type that the emulated PMU has; None: it
/// can, or that has it not.
pub fn emulable(entry: &CatalogueType, facts: &Facts) -> Option<String> {
    let is_hardware = matches!(entry.kind, EventKind::Hardware(_));
    let is_modelled = kind(entry).is_ok();
    if !is_hardware || !is_modelled || facts.kernel.arch() != perfdata::Arch::X86_64 {
        return None;
    }
    match on_machine(entry, facts) {
        Err(why @ NotOnMachine::NoPmu(..)) => Some(why.to_string()),
        _ => None,
    }
}

/// A number of its own for each event, the same for ever: streams carry it.
pub(crate) fn number(event: EmulatedEvent) -> u64 {
    const CLASSES: u64 = 0x100;
    match event {
        EmulatedEvent::Class(Class::Retired) => 0,
        EmulatedEvent::Class(Class::Of(class)) => CLASSES + class as u64,
        EmulatedEvent::L1DataMiss => 1,
        EmulatedEvent::L2Miss => 2,
        EmulatedEvent::L3Miss => 3,
        EmulatedEvent::DtlbLoadMiss => 4,
        EmulatedEvent::DtlbStoreMiss => 5,
        EmulatedEvent::DtlbMiss => 6,
        EmulatedEvent::PageWalk => 7,
        EmulatedEvent::SplitLoad => 8,
        EmulatedEvent::SplitStore => 9,
        EmulatedEvent::BlockedForward => 10,
        EmulatedEvent::HitModified => 11,
        EmulatedEvent::Allocation => 12,
        EmulatedEvent::Release => 13,
        EmulatedEvent::Mapping => 14,
    }
}

/// Whether the model counts more or less than the type means on a CPU.
pub(crate) fn is_near(event: EmulatedEvent) -> bool {
    // Types of cache misses are of loads alone, those of the TLB of pages
    // that no level has.
    matches!(
        event,
        EmulatedEvent::L1DataMiss
            | EmulatedEvent::L2Miss
            | EmulatedEvent::L3Miss
            | EmulatedEvent::DtlbLoadMiss
            | EmulatedEvent::DtlbStoreMiss
            | EmulatedEvent::DtlbMiss
            | EmulatedEvent::BlockedForward
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{all, find};

    #[test]
    fn every_type_has_a_meaning_or_a_reason() {
        let mut lacking = Vec::new();
        for entry in all() {
            match (entry.kind, kind(entry)) {
                (EventKind::Hardware(_), Ok(event)) => assert!(!description(event).is_empty()),
                (EventKind::Hardware(_), Err(NotEmulated::NotModelled(why))) => {
                    assert_ne!(why, "the model has no such event", "{}", entry.name);
                    lacking.push(entry.name);
                }
                (EventKind::Hardware(_), other) => panic!("{}: {other:?}", entry.name),
                (_, other) => assert_eq!(other, Err(NotEmulated::OfKernel), "{}", entry.name),
            }
        }
        lacking.sort_unstable();
        assert_eq!(
            lacking,
            [
                "branch_mispredict",
                "fb_alloc",
                "fb_full",
                "l2_rqsts",
                "load_latency",
                "remote_dram",
                "store_latency",
                "uop_retired"
            ]
        );
    }

    #[test]
    fn only_accesses_have_addresses() {
        let of = |name: &str| kind(find(name).unwrap()).unwrap();
        for name in ["l1_cache_miss", "memory_loads", "hitm", "page_walk", "split_load_retired"] {
            assert!(of(name).is_of_data(), "{name}");
        }
        for name in ["instr_retired", "packed_dp_retired", "x87_simd_memory_moves_retired"] {
            assert!(!of(name).is_of_data(), "{name}");
        }
    }
}
