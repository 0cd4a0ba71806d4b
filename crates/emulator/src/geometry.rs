//! The caches and TLBs that are modelled.

mod error;
mod machine;
mod parse;

pub use error::GeometryError;
pub(crate) use parse::bytes;

use std::fmt;

use crate::model::{AccessCosts, LINE, LevelShape, Shape};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheGeometry {
    pub bytes: u64,
    pub ways: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlbGeometry {
    pub entries: u64,
    pub ways: u64,
}

/// Sizes and ways of each level; None: the modelled machine has none.
/// Lines are of 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub l1d: Option<CacheGeometry>,
    pub l1i: Option<CacheGeometry>,
    pub l2: Option<CacheGeometry>,
    /// Third level, of all threads of an address space.
    pub l3: Option<CacheGeometry>,
    pub dtlb: Option<TlbGeometry>,
    pub stlb: Option<TlbGeometry>,
    pub costs: AccessCosts,
}

impl Default for Geometry {
    /// A machine of middling age and size, the same everywhere.
    fn default() -> Geometry {
        let empty = Geometry {
            l1d: None,
            l1i: None,
            l2: None,
            l3: None,
            dtlb: None,
            stlb: None,
            costs: COSTS,
        };
        // A test holds that no preset is refused.
        empty.clone().with(DEFAULT_PRESET).unwrap_or(empty)
    }
}

impl CacheGeometry {
    fn level(self) -> LevelShape {
        let sets = self.bytes / (LINE * self.ways.max(1));
        LevelShape { sets, ways: self.ways, start: 0 }
    }
}

impl TlbGeometry {
    fn level(self) -> LevelShape {
        LevelShape { sets: self.entries / self.ways.max(1), ways: self.ways, start: 0 }
    }
}

impl Geometry {
    /// The sizes as the model wants them, not placed yet.
    pub fn shape(&self) -> Shape {
        let cache = |cache: Option<CacheGeometry>| {
            cache.map_or(LevelShape::default(), CacheGeometry::level)
        };
        let tlb = |tlb: Option<TlbGeometry>| tlb.map_or(LevelShape::default(), TlbGeometry::level);
        Shape {
            l1d: cache(self.l1d),
            l1i: cache(self.l1i),
            l2: cache(self.l2),
            l3: cache(self.l3),
            dtlb: tlb(self.dtlb),
            stlb: tlb(self.stlb),
            costs: self.costs,
            ..Shape::default()
        }
    }
}

/// What things take in a machine of these years, cycles: measured figures of
/// several, rounded. Nothing here claims to know a certain one.
const COSTS: AccessCosts = AccessCosts {
    // First, second, third level, another core's modified line, memory.
    lines: [5, 14, 50, 110, 250],
    // No TLB, first, second level, a walk.
    pages: [0, 0, 7, 30],
    blocked: 13,
};

impl fmt::Display for Geometry {
    /// `32K/8 L1D, 32K/8 L1I, 1M/8 L2, ...`: size and ways of what there is,
    /// and cycles where they are not the model's own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let caches = [("L1D", self.l1d), ("L1I", self.l1i), ("L2", self.l2), ("L3", self.l3)];
        for (name, cache) in caches {
            if let Some(CacheGeometry { bytes, ways }) = cache {
                parts.push(format!("{}/{ways} {name}", size(bytes)));
            }
        }
        for (name, tlb) in [("DTLB", self.dtlb), ("STLB", self.stlb)] {
            match tlb {
                Some(TlbGeometry { entries, ways }) if entries == ways => {
                    parts.push(format!("{entries}/full {name}"));
                }
                Some(TlbGeometry { entries, ways }) => {
                    parts.push(format!("{entries}/{ways} {name}"))
                }
                None => {}
            }
        }
        if parts.is_empty() {
            parts.push("no caches".to_owned());
        }
        if self.costs != COSTS {
            let AccessCosts { lines: [l1d, l2, l3, modified, memory], pages, blocked } = self.costs;
            let [_, _, stlb, walk] = pages;
            parts.push(format!(
                "cycles {l1d} L1D {l2} L2 {l3} L3 {modified} modified {memory} memory +{stlb} STLB \
                 +{walk} walk +{blocked} blocked"
            ));
        }
        f.write_str(&parts.join(", "))
    }
}

fn size(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    if bytes.is_multiple_of(MIB) {
        format!("{}M", bytes / MIB)
    } else if bytes.is_multiple_of(KIB) {
        format!("{}K", bytes / KIB)
    } else {
        bytes.to_string()
    }
}

/// Names that `--cache` knows, each with all levels of its machine in the
/// words of `--cache`: a first core's caches, and a third level of a common
/// size, as the makers' manuals and CPUID have them.
pub const PRESETS: [(&str, &str); 9] = [
    ("nehalem", "l1d=32k,8 l1i=32k,4 l2=256k,8 l3=8m,16 dtlb=64,4 stlb=512,4"),
    ("haswell", "l1d=32k,8 l1i=32k,8 l2=256k,8 l3=8m,16 dtlb=64,4 stlb=1024,8"),
    ("skylake", "l1d=32k,8 l1i=32k,8 l2=256k,4 l3=8m,16 dtlb=64,4 stlb=1536,12"),
    (DEFAULT_PRESET, "l1d=32k,8 l1i=32k,8 l2=1m,16 l3=22m,11 dtlb=64,4 stlb=1536,12"),
    ("icelake", "l1d=48k,12 l1i=32k,8 l2=512k,8 l3=8m,16 dtlb=64,4 stlb=2048,16"),
    ("sapphire-rapids", "l1d=48k,12 l1i=32k,8 l2=2m,16 l3=60m,15 dtlb=96,6 stlb=2048,16"),
    ("zen2", "l1d=32k,8 l1i=32k,8 l2=512k,8 l3=16m,16 dtlb=64,full stlb=2048,16"),
    ("zen3", "l1d=32k,8 l1i=32k,8 l2=512k,8 l3=32m,16 dtlb=64,full stlb=2048,16"),
    ("zen4", "l1d=32k,8 l1i=32k,8 l2=1m,8 l3=32m,16 dtlb=72,full stlb=3072,24"),
];

const DEFAULT_PRESET: &str = "skylake-server";

fn preset_names() -> String {
    PRESETS.map(|(name, _)| name).join(" ")
}

#[cfg(test)]
mod tests;
