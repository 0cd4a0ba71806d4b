//! This machine's caches, from sysfs, and its TLBs, from CPUID.

use std::fs;
use std::path::Path;

use super::{CacheGeometry, Geometry, TlbGeometry};
use crate::model::LINE;

impl Geometry {
    /// The caches of the first CPU of a machine whose sysfs is under `root`,
    /// and this processor's TLBs; what is not to be found or cannot be
    /// modelled is as in [`Geometry::default`]. A level that sysfs does not
    /// list is not there.
    pub fn of_machine(root: &Path) -> Geometry {
        let mut geometry = Geometry::default();
        let directory = root.join("sys/devices/system/cpu/cpu0/cache");
        let mut found = [None; 4];
        for index in 0..16 {
            let Some((place, cache)) = listed(&directory.join(format!("index{index}"))) else {
                continue;
            };
            if let Some(slot) = found.get_mut(place) {
                *slot = Some(cache);
            }
        }
        if let [Some(l1d), l1i, l2, l3] = found {
            geometry = Geometry { l1d: Some(l1d), l1i, l2, l3, ..geometry };
        }
        let (first, second) = tlbs();
        geometry.dtlb = first.filter(|tlb| tlb.entries <= 4096).or(geometry.dtlb);
        geometry.stlb = second.filter(|tlb| tlb.ways <= 128).or(geometry.stlb);
        geometry
    }
}

/// Which of l1d, l1i, l2, l3 a directory describes.
fn listed(directory: &Path) -> Option<(usize, CacheGeometry)> {
    let read = |name: &str| {
        let text = fs::read_to_string(directory.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let number = |name: &str| read(name)?.parse::<u64>().ok();
    let place = match (number("level")?, read("type")?.as_str()) {
        (1, "Data" | "Unified") => 0,
        (1, "Instruction") => 1,
        (2, _) => 2,
        (3, _) => 3,
        _ => return None,
    };
    let ways = number("ways_of_associativity")?;
    let sets = number("number_of_sets")?;
    let wanted = (1..=128).contains(&ways)
        && sets > 0
        && (place == 3 || sets.is_power_of_two())
        && (place > 1 || sets <= 65536)
        && number("coherency_line_size")? == LINE;
    let bytes = sets.checked_mul(ways)?.checked_mul(LINE)?;
    wanted.then_some((place, CacheGeometry { bytes, ways }))
}

/// First- and second-level TLB for data pages of 4 KiB.
#[cfg(target_arch = "x86_64")]
fn tlbs() -> (Option<TlbGeometry>, Option<TlbGeometry>) {
    use raw_cpuid::{Associativity, CpuId, DatType};

    let cpuid = CpuId::new();
    let made = |entries: u64, ways: u64| {
        (entries > 0 && ways > 0 && entries.is_multiple_of(ways))
            .then_some(TlbGeometry { entries, ways })
    };
    let amd = |entries: u64, ways: Associativity| match ways {
        Associativity::FullyAssociative => made(entries, entries),
        Associativity::DirectMapped => made(entries, 1),
        Associativity::NWay(ways) => made(entries, u64::from(ways)),
        Associativity::Disabled | Associativity::Unknown => None,
    };
    let mut first = cpuid
        .get_l1_cache_and_tlb_info()
        .and_then(|info| amd(u64::from(info.dtlb_4k_size()), info.dtlb_4k_associativity()));
    let mut second = cpuid
        .get_l2_l3_cache_and_tlb_info()
        .and_then(|info| amd(u64::from(info.dtlb_4k_size()), info.dtlb_4k_associativity()));
    for info in cpuid.get_deterministic_address_translation_info().into_iter().flatten() {
        if !info.has_4k_entries() {
            continue;
        }
        let ways = u64::from(info.ways());
        let tlb = made(u64::from(info.sets()) * ways, ways);
        match (info.cache_level(), info.cache_type()) {
            (1, DatType::DataTLB | DatType::LoadOnly | DatType::UnifiedTLB) => {
                first = first.or(tlb)
            }
            (2, DatType::DataTLB | DatType::UnifiedTLB) => second = second.or(tlb),
            _ => {}
        }
    }
    (first, second)
}

#[cfg(not(target_arch = "x86_64"))]
fn tlbs() -> (Option<TlbGeometry>, Option<TlbGeometry>) {
    (None, None)
}
