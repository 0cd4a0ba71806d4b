//! The full table of indirect branches of a space: where each target of the
//! program lies in the code cache. The tracer writes, threads read.

use core::sync::atomic::{AtomicU64, Ordering};

/// A pair: the target's address plus 1 (0: empty), the address in the cache.
pub type BranchEntry = [AtomicU64; 2];

/// What a target of the program is called in the table, for code of one of
/// the two translations; None for addresses that only the kernel has.
#[inline]
pub fn name(variant: u64, target: u64) -> Option<u64> {
    (target >> 63 == 0).then_some(target | variant << 63)
}

fn places(table: &[BranchEntry], target: u64) -> impl Iterator<Item = &BranchEntry> {
    let mask = table.len().wrapping_sub(1);
    let hash = target.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let first = usize::try_from(hash).unwrap_or(0) & mask;
    (0..64).filter_map(move |step| table.get(first.wrapping_add(step) & mask))
}

/// Where a target of the program, by its [`name`], lies in the code cache.
#[inline]
pub fn find(table: &[BranchEntry], target: u64) -> Option<u64> {
    let key = target.wrapping_add(1);
    for [of, to] in places(table, target) {
        match of.load(Ordering::Acquire) {
            0 => return None,
            found if found == key => return Some(to.load(Ordering::Relaxed)).filter(|&to| to != 0),
            _ => {}
        }
    }
    None
}

/// Enters a target by its [`name`], or changes where it leads; `to` 0 takes it out. False:
/// there is no room, and the table should be cleared. For one writer.
pub fn set(table: &[BranchEntry], target: u64, to: u64) -> bool {
    let key = target.wrapping_add(1);
    for [of, place] in places(table, target) {
        let found = of.load(Ordering::Relaxed);
        if found == key {
            place.store(to, Ordering::Relaxed);
            return true;
        }
        if found == 0 {
            if to != 0 {
                place.store(to, Ordering::Relaxed);
                of.store(key, Ordering::Release);
            }
            return true;
        }
    }
    to == 0
}

/// Empties the table. No thread of the space may be in the runtime.
pub fn clear(table: &[BranchEntry]) {
    for [of, _] in table.iter().filter(|[of, _]| of.load(Ordering::Relaxed) != 0) {
        of.store(0, Ordering::Relaxed);
    }
}
