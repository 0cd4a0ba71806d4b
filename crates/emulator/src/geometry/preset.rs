//! Machines that are known by name: first core's caches, and the third level
//! of a common size, as their makers' manuals and CPUID have them.

/// Names that `--cache` knows, each with all levels of its machine in the
/// words of `--cache`.
pub const PRESETS: [(&str, &str); 9] = [
    ("nehalem", "l1d=32k,8 l1i=32k,4 l2=256k,8 l3=8m,16 dtlb=64,4 stlb=512,4"),
    ("haswell", "l1d=32k,8 l1i=32k,8 l2=256k,8 l3=8m,16 dtlb=64,4 stlb=1024,8"),
    ("skylake", "l1d=32k,8 l1i=32k,8 l2=256k,4 l3=8m,16 dtlb=64,4 stlb=1536,12"),
    (DEFAULT, "l1d=32k,8 l1i=32k,8 l2=1m,16 l3=22m,11 dtlb=64,4 stlb=1536,12"),
    ("icelake", "l1d=48k,12 l1i=32k,8 l2=512k,8 l3=8m,16 dtlb=64,4 stlb=2048,16"),
    ("sapphire-rapids", "l1d=48k,12 l1i=32k,8 l2=2m,16 l3=60m,15 dtlb=96,6 stlb=2048,16"),
    ("zen2", "l1d=32k,8 l1i=32k,8 l2=512k,8 l3=16m,16 dtlb=64,full stlb=2048,16"),
    ("zen3", "l1d=32k,8 l1i=32k,8 l2=512k,8 l3=32m,16 dtlb=64,full stlb=2048,16"),
    ("zen4", "l1d=32k,8 l1i=32k,8 l2=1m,8 l3=32m,16 dtlb=72,full stlb=3072,24"),
];

/// Of middling age and size.
pub(super) const DEFAULT: &str = "skylake-server";

pub(super) fn names() -> String {
    PRESETS.map(|(name, _)| name).join(" ")
}
