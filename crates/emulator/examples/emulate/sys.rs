//! The ring's memory, which the target writes.

use std::sync::atomic::AtomicU64;

pub(crate) fn words(map: &memmap2::MmapRaw) -> &[AtomicU64] {
    let start = map.as_mut_ptr().cast::<AtomicU64>();
    // SAFETY: a mapping is aligned, and lives as long as `map`.
    unsafe { std::slice::from_raw_parts(start, map.len() / 8) }
}
