//! Machines that are known by name: first core's caches, and the third level
//! of a common size, as their makers' manuals and CPUID have them.

use super::{CacheGeometry, Geometry, TlbGeometry};

const fn cache(kib: u64, ways: u64) -> Option<CacheGeometry> {
    Some(CacheGeometry { bytes: kib << 10, ways })
}

const fn tlb(entries: u64, ways: u64) -> Option<TlbGeometry> {
    Some(TlbGeometry { entries, ways })
}

const fn machine(
    first: [Option<CacheGeometry>; 2],
    l2: Option<CacheGeometry>,
    l3: Option<CacheGeometry>,
    pages: [Option<TlbGeometry>; 2],
) -> Geometry {
    let [l1d, l1i] = first;
    let [dtlb, stlb] = pages;
    Geometry { l1d, l1i, l2, l3, dtlb, stlb }
}

pub(super) const DEFAULT: Geometry = SKYLAKE_SERVER;

const SKYLAKE_SERVER: Geometry = machine(
    [cache(32, 8), cache(32, 8)],
    cache(1024, 16),
    cache(22 * 1024, 11),
    [tlb(64, 4), tlb(1536, 12)],
);

/// Names and machines that `--cache` knows.
pub const PRESETS: [(&str, Geometry); 9] = [
    (
        "nehalem",
        machine(
            [cache(32, 8), cache(32, 4)],
            cache(256, 8),
            cache(8 * 1024, 16),
            [tlb(64, 4), tlb(512, 4)],
        ),
    ),
    (
        "haswell",
        machine(
            [cache(32, 8), cache(32, 8)],
            cache(256, 8),
            cache(8 * 1024, 16),
            [tlb(64, 4), tlb(1024, 8)],
        ),
    ),
    (
        "skylake",
        machine(
            [cache(32, 8), cache(32, 8)],
            cache(256, 4),
            cache(8 * 1024, 16),
            [tlb(64, 4), tlb(1536, 12)],
        ),
    ),
    ("skylake-server", SKYLAKE_SERVER),
    (
        "icelake",
        machine(
            [cache(48, 12), cache(32, 8)],
            cache(512, 8),
            cache(8 * 1024, 16),
            [tlb(64, 4), tlb(2048, 16)],
        ),
    ),
    (
        "sapphire-rapids",
        machine(
            [cache(48, 12), cache(32, 8)],
            cache(2048, 16),
            cache(60 * 1024, 15),
            [tlb(96, 6), tlb(2048, 16)],
        ),
    ),
    (
        "zen2",
        machine(
            [cache(32, 8), cache(32, 8)],
            cache(512, 8),
            cache(16 * 1024, 16),
            [tlb(64, 64), tlb(2048, 16)],
        ),
    ),
    (
        "zen3",
        machine(
            [cache(32, 8), cache(32, 8)],
            cache(512, 8),
            cache(32 * 1024, 16),
            [tlb(64, 64), tlb(2048, 16)],
        ),
    ),
    (
        "zen4",
        machine(
            [cache(32, 8), cache(32, 8)],
            cache(1024, 8),
            cache(32 * 1024, 16),
            [tlb(72, 72), tlb(3072, 24)],
        ),
    ),
];

pub(super) fn names() -> String {
    PRESETS.map(|(name, _)| name).join(" ")
}
