//! The level of the memory hierarchy that served an access, and how far away.

use super::DataSrc;

/// What served the access. Ordered from the core outwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The machine does not say.
    #[default]
    NotAvailable,
    /// A cache nearer than L1 (Intel Lion Cove).
    L0,
    /// First-level data cache.
    L1,
    /// A line fill buffer: the line was under way.
    LineFillBuffer,
    /// Second-level cache.
    L2,
    /// Miss handling buffer of the second level: the line was under way.
    L2MissBuffer,
    /// Third-level cache.
    L3,
    /// Fourth-level cache.
    L4,
    /// Cache of another core or socket, level not told; without a distance
    /// also the L3 (AMD before Zen 4 does not tell them apart).
    AnyCache,
    MemorySideCache,
    Ram,
    PersistentMemory,
    /// Memory behind Compute Express Link.
    Cxl,
    /// Memory-mapped device.
    Io,
    /// Memory that is not cached.
    Uncached,
    /// `mem_lvl_num` of a newer kernel.
    Unknown(u8),
}

/// How far the data came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// Another core of the same node (PERF_MEM_HOPS_0).
    Core,
    /// Another node of the same socket (HOPS_1).
    Node,
    /// Another socket of the same board (HOPS_2).
    Socket,
    /// Another board (HOPS_3).
    Board,
    /// One hop, as the deprecated field has it: mostly the next socket.
    OneHop,
    /// Two hops, as the deprecated field has it.
    TwoHops,
    /// Not local; how far is not told.
    Remote,
}

/// Bits of the deprecated `mem_lvl`, from the one that decides downwards: a
/// record that sets several means the farthest.
const DEPRECATED: [(u64, Level, Option<Distance>); 11] = [
    (1 << 13, Level::Uncached, None),
    (1 << 12, Level::Io, None),
    (1 << 11, Level::AnyCache, Some(Distance::TwoHops)),
    (1 << 10, Level::AnyCache, Some(Distance::OneHop)),
    (1 << 9, Level::Ram, Some(Distance::TwoHops)),
    (1 << 8, Level::Ram, Some(Distance::OneHop)),
    (1 << 7, Level::Ram, None),
    (1 << 6, Level::L3, None),
    (1 << 5, Level::L2, None),
    (1 << 4, Level::LineFillBuffer, None),
    (1 << 3, Level::L1, None),
];

/// The deprecated bits of the L3 and of a cache one hop away.
const L3_OR_NEAR: u64 = (1 << 6 | 1 << 10) << 5;

impl DataSrc {
    /// The level, from `mem_lvl_num` or else the deprecated field.
    pub fn level(self) -> Level {
        match self.field(33, 4) {
            0 | 15 => self.deprecated().map_or(Level::NotAvailable, |(level, _)| level),
            1 => Level::L1,
            2 => Level::L2,
            3 => Level::L3,
            4 => Level::L4,
            5 => Level::L2MissBuffer,
            6 => Level::MemorySideCache,
            7 => Level::L0,
            8 => Level::Uncached,
            9 => Level::Cxl,
            10 => Level::Io,
            11 => Level::AnyCache,
            12 => Level::LineFillBuffer,
            13 => Level::Ram,
            14 => Level::PersistentMemory,
            other => Level::Unknown(other),
        }
    }

    /// How far away, from `mem_hops` and `mem_remote` or else the deprecated
    /// field; None for local or not told.
    pub fn distance(self) -> Option<Distance> {
        let remote = self.field(37, 1) == 1;
        // IBS before Zen 4: "the L3 or another cache of the node", neither
        // remote nor a hop away (g_data_src[], arch/x86/events/amd/ibs.c).
        if !remote && self.0 & L3_OR_NEAR == L3_OR_NEAR {
            return None;
        }
        match self.field(43, 3) {
            1 => Some(Distance::Core),
            2 => Some(Distance::Node),
            3 => Some(Distance::Socket),
            4 => Some(Distance::Board),
            _ => {
                let hops = self.deprecated().and_then(|(_, distance)| distance);
                hops.or(remote.then_some(Distance::Remote))
            }
        }
    }

    /// Whether the data came from farther than this node: its memory, and the caches
    /// of its cores, are near. False where it is not told.
    pub fn is_of_another_node(self) -> bool {
        self.distance().is_some_and(|distance| distance != Distance::Core)
    }

    fn deprecated(self) -> Option<(Level, Option<Distance>)> {
        let bits = self.0 >> 5;
        let found = DEPRECATED.iter().find(|(bit, ..)| bits & bit != 0);
        found.map(|&(_, level, distance)| (level, distance))
    }
}
