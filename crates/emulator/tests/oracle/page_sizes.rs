use emulator::EmulatedEvent;

use crate::run::Recording;
use crate::workload::Workload;

const BYTES: u64 = 64 << 20;
/// A load in each 4 KiB, three times.
const LOADS: u64 = 3 * BYTES / 4096;
/// Pages of 2 MiB.
const LARGE: u64 = BYTES >> 21;

/// Misses of a TLB of 64 entries in the memory that the program walks; None
/// when it got none.
fn misses(program: &Workload, kind: &str) -> Option<u64> {
    let geometry = "l1d=32k,8,64 l1i=off l2=512k,8,64 l3=off dtlb=64,full stlb=off";
    let recorded = Recording::every(EmulatedEvent::DtlbMiss, geometry).of(&program.path(), &[kind]);
    let out = String::from_utf8(recorded.out).unwrap();
    let (loads, rest) = out.split_once(' ')?;
    assert_eq!(loads, LOADS.to_string());
    let start = rest.split_once(' ').unwrap().0.trim_start_matches("0x");
    let start = u64::from_str_radix(start, 16).unwrap();
    let inside = |address: u64| (start..start + BYTES).contains(&address);
    Some(recorded.records.iter().filter(|record| inside(record.address)).count() as u64)
}

fn has_transparent() -> bool {
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let has = std::fs::read_to_string(path).is_ok_and(|text| !text.contains("[never]"));
    if !has {
        eprintln!("skipped: this kernel gives no transparent large pages");
    }
    has
}

#[test]
fn pages_that_are_asked_for_are_large_from_the_first_access() {
    if !has_transparent() {
        return;
    }
    let program = Workload::usual("large.c");
    assert_eq!(misses(&program, "asked"), Some(LARGE));
    assert_eq!(misses(&program, "refused"), Some(LOADS));
}

#[test]
fn pages_that_were_small_before_stay_small() {
    if !has_transparent() {
        return;
    }
    let program = Workload::usual("large.c");
    // One store in each 2 MiB, before. khugepaged may pass by, and make some
    // of them large after all.
    let late = misses(&program, "late").unwrap();
    assert!((LOADS / 2..LARGE + LOADS).contains(&late), "{late}");
    // Large ones are written, then small ones are mapped there.
    assert_eq!(misses(&program, "again"), Some(LARGE + LOADS));
}

/// Pages of hugetlbfs, which root reserves for the test.
#[test]
fn pages_that_were_reserved() {
    const RESERVE: &str = "/proc/sys/vm/nr_hugepages";
    let before = std::fs::read_to_string(RESERVE).unwrap();
    let reserved: u64 = before.trim().parse().unwrap();
    if std::fs::write(RESERVE, (reserved + LARGE).to_string()).is_err() {
        eprintln!("skipped: only root reserves large pages");
        return;
    }
    let found = misses(&Workload::usual("large.c"), "reserved");
    std::fs::write(RESERVE, before).unwrap();
    match found {
        Some(found) => assert_eq!(found, LARGE),
        None => eprintln!("skipped: the kernel has not found {LARGE} large pages to reserve"),
    }
}
