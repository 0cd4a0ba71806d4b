//! How masks become bits: per type and core.
//!
//! L2_RQSTS (0x24) as the makers' names have it; which of the two hit bits
//! of Haswell to Granite Rapids is "modified" Intel does not say.

use super::{Mask, MaskRole};
use crate::catalogue::Microarchitecture;

const fn mask(name: &'static str, umask: u64, role: MaskRole, meaning: &'static str) -> Mask {
    Mask { name, bits: umask << 8, role, meaning }
}

const fn origin(name: &'static str, umask: u64, meaning: &'static str) -> Mask {
    mask(name, umask, MaskRole::Origin, meaning)
}

const fn result(name: &'static str, umask: u64, meaning: &'static str) -> Mask {
    mask(name, umask, MaskRole::Result, meaning)
}

const fn part(name: &'static str, umask: u64, meaning: &'static str) -> Mask {
    mask(name, umask, MaskRole::Part, meaning)
}

/// Second byte of a mask, bits 40 to 47 of config.
const UMASK2: u64 = 1 << 40;
/// At least one of what is counted in a cycle.
const CMASK_1: u64 = 1 << 24;

const DEMAND_RD: Mask = origin("demand_rd", 0x01, "data reads by instructions");
const RFO: Mask = origin("rfo", 0x02, "reads to own a line, for stores");
const CODE_RD: Mask = origin("code_rd", 0x04, "instruction fetches");
const L1_PF: Mask = origin("l1_pf", 0x08, "prefetches by the first-level cache, and by software");
const SW_PF: Mask = origin("sw_pf", 0x08, "prefetches by software");
const L2_PF: Mask = origin("l2_pf", 0x10, "prefetches by hardware");
const MISS: Mask = result("miss", 0x20, "the line was not there");
const HIT: Mask = result("hit", 0xc0, "the line was there: hit_m and hit_es");
const HIT_M: Mask = result("hit_m", 0x80, "the line was there, modified");
const HIT_ES: Mask = result("hit_es", 0x40, "the line was there, exclusive or shared");

static HASWELL: [&[Mask]; 2] =
    [&[DEMAND_RD, RFO, CODE_RD, L1_PF, L2_PF], &[MISS, HIT, HIT_M, HIT_ES]];
static ICE_LAKE: [&[Mask]; 2] =
    [&[DEMAND_RD, RFO, CODE_RD, SW_PF, L2_PF], &[MISS, HIT, HIT_M, HIT_ES]];
static LION_COVE: [&[Mask]; 2] = [
    &[DEMAND_RD, RFO, CODE_RD, SW_PF, L2_PF],
    &[MISS, result("hit", 0x40, "the line was there, in whatever state")],
];
static DARKMONT: [&[Mask]; 2] = [
    &[
        DEMAND_RD,
        RFO,
        CODE_RD,
        origin("l2_pf", 0x08, "prefetches by hardware"),
        Mask {
            name: "any",
            bits: UMASK2 | 0x3f << 8,
            role: MaskRole::Origin,
            meaning: "every request",
        },
    ],
    &[result("miss", 0x40, "the line was not there"), result("hit", 0x80, "the line was there")],
];
static GRACEMONT: [&[Mask]; 2] = [
    &[],
    &[
        result("miss", 0x01, "the line was not there"),
        result("hit", 0x02, "the line was there"),
        result("reject", 0x04, "the request could not be taken"),
    ],
];
/// Origins and results choose bits in pairs: the first origin bits 0 and 1.
static NEHALEM: [&[Mask]; 2] = [
    &[
        origin("demand_rd", 0, "data reads by instructions"),
        origin("rfo", 0, "reads to own a line, for stores"),
        origin("code_rd", 0, "instruction fetches"),
        origin("l2_pf", 0, "prefetches by hardware"),
    ],
    &[result("miss", 0, "the line was not there"), result("hit", 0, "the line was there")],
];

const PENDING: Mask = part("pending", 0x01, "misses under way, summed over cycles");
static FILL_BUFFERS: &[Mask] = &[
    PENDING,
    part("full", 0x02, "cycles that a request waited for a fill buffer"),
    part("alloc", 0x04, "from Ice Lake on: cycles stalled for the second-level cache"),
];
/// Here `full` counts requests, and cycles with a count mask.
static FILL_BUFFERS_COUNTED: &[Mask] = &[
    PENDING,
    Mask {
        name: "full",
        bits: 0x02 << 8 | CMASK_1,
        role: MaskRole::Part,
        meaning: "cycles that a request waited for a fill buffer",
    },
    part("alloc", 0x04, "as in the original; the maker says nothing of it on this core"),
];

/// The masks of a type on a core, and how they add up.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// At least one of each of the kinds that are not empty; their bits are
    /// joined.
    Product {
        /// Origins, results.
        masks: &'static [&'static [Mask]; 2],
    },
    /// At least one of both; each pair of them has a bit of its own.
    Pairs {
        /// Origins, results (miss, hit).
        masks: &'static [&'static [Mask]; 2],
    },
    /// Any number; their bits are joined.
    Parts {
        /// Masks.
        masks: &'static [Mask],
        /// Bits when none is named.
        usual: u64,
    },
    /// `ldlat=N`.
    Latency {
        /// Least N.
        least: u16,
        /// Greatest N.
        most: u16,
        /// What N has to be.
        wanted: &'static str,
    },
}

impl Layout {
    pub(super) fn masks(self) -> Vec<Mask> {
        match self {
            Layout::Product { masks } | Layout::Pairs { masks } => masks.concat(),
            Layout::Parts { masks, .. } => masks.to_vec(),
            Layout::Latency { wanted, .. } => {
                vec![Mask { name: "ldlat=N", bits: 0, role: MaskRole::Parameter, meaning: wanted }]
            }
        }
    }

    /// Of which kinds one has to be named.
    pub(super) fn wanted(self) -> &'static [MaskRole] {
        match self {
            Layout::Product { masks: [[], _] } => &[MaskRole::Result],
            Layout::Product { .. } | Layout::Pairs { .. } => &[MaskRole::Origin, MaskRole::Result],
            Layout::Parts { .. } | Layout::Latency { .. } => &[],
        }
    }

    pub(super) fn bits(self, chosen: &[Mask]) -> u64 {
        let Layout::Pairs { masks: [origins, _] } = self else { return super::any(chosen) };
        let named = |name: &str| chosen.iter().any(|mask| mask.name == name);
        let results = u64::from(named("hit")) | u64::from(named("miss")) << 1;
        let of = |place: usize| results << (2 * place);
        let pairs = origins.iter().enumerate().filter(|(_, origin)| named(origin.name));
        pairs.fold(0, |bits, (place, _)| bits | of(place) << 8)
    }
}

const LATENCY: Layout = Layout::Latency {
    least: 3,
    most: u16::MAX,
    wanted: "ldlat=N keeps loads that took at least N core cycles; N is 3 to 65535",
};
const LATENCY_ZEN5: Layout = Layout::Latency {
    least: 128,
    most: 2048,
    wanted: "ldlat=N keeps loads that missed the L3 and took at least N core cycles; N is 128 to \
             2048",
};

pub(super) fn layout(core: Microarchitecture, name: &str) -> Option<Layout> {
    match name {
        "l2_rqsts" => requests(core),
        "fb_alloc" => fill_buffers(core),
        "load_latency" if core.0 == "zen5" => Some(LATENCY_ZEN5),
        "load_latency" if !core.is_amd() => Some(LATENCY),
        _ => None,
    }
}

fn requests(core: Microarchitecture) -> Option<Layout> {
    Some(match core.0 {
        "nehalem" | "nehalemex" | "westmere" | "westmere_sp" | "westmereex" | "sandybridge"
        | "jaketown" | "ivybridge" | "ivytown" => Layout::Pairs { masks: &NEHALEM },
        "haswell" | "haswellx" | "broadwell" | "broadwellx" | "broadwellde" | "skylake"
        | "skylakex" | "cascadelakex" => Layout::Product { masks: &HASWELL },
        "icelake"
        | "icelakex"
        | "tigerlake"
        | "rocketlake"
        | "sapphirerapids"
        | "emeraldrapids"
        | "graniterapids"
        | "alderlake_goldencove"
        | "meteorlake_redwoodcove" => Layout::Product { masks: &ICE_LAKE },
        "arrowlake_lioncove"
        | "lunarlake_lioncove"
        | "pantherlake_cougarcove"
        | "novalake_coyotecove" => Layout::Product { masks: &LION_COVE },
        "pantherlake_darkmont" | "clearwaterforest" => Layout::Product { masks: &DARKMONT },
        "alderlake_gracemont"
        | "meteorlake_crestmont"
        | "arrowlake_crestmont"
        | "arrowlake_skymont"
        | "lunarlake_skymont"
        | "sierraforest"
        | "grandridge"
        | "snowridgex"
        | "elkhartlake" => Layout::Product { masks: &GRACEMONT },
        _ => return None,
    })
}

fn fill_buffers(core: Microarchitecture) -> Option<Layout> {
    let masks = match core.0 {
        "sandybridge" | "jaketown" | "ivybridge" | "ivytown" | "haswell" | "haswellx"
        | "broadwell" | "broadwellx" | "broadwellde" => FILL_BUFFERS_COUNTED,
        "skylake"
        | "skylakex"
        | "cascadelakex"
        | "icelake"
        | "icelakex"
        | "tigerlake"
        | "rocketlake"
        | "sapphirerapids"
        | "emeraldrapids"
        | "graniterapids"
        | "alderlake_goldencove"
        | "meteorlake_redwoodcove" => FILL_BUFFERS,
        _ => return None,
    };
    Some(Layout::Parts { masks, usual: 0x04 << 8 })
}
