//! How large the rings may be (trap 21).

use crate::machine::facts::{Facts, ResourceLimit};

/// Data pages of one CPU's rings; both are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingPages {
    pub samples: u32,
    /// The ring of sideband records (mappings, forks, names).
    pub side: u32,
}

impl RingPages {
    /// The next smaller sizes to try when the kernel refuses these; None
    /// when there is nothing smaller.
    pub fn smaller(self) -> Option<RingPages> {
        let RingPages { samples, side } = self;
        match (samples, side) {
            (1, 1) => None,
            _ if samples >= side => Some(RingPages { samples: samples / 2, side }),
            _ => Some(RingPages { samples, side: side / 2 }),
        }
    }

    /// The least that a ring of samples is made smaller to unasked.
    pub(super) const USEFUL_BYTES: u64 = 256 << 10;

    /// Pages that mapping both takes: each ring has a control page.
    pub(super) fn mapped(self) -> u64 {
        u64::from(self.samples) + u64::from(self.side) + 2
    }
}

const SAMPLE_BYTES: u64 = 8 << 20;
const SIDE_BYTES: u64 = 1 << 20;

/// A side ring below this cannot hold one mapping of the longest path and
/// what comes with it.
const SIDE_FLOOR: u32 = 8;

/// The kernel's own default of perf_event_mlock_kb, for when it is unknown.
const MLOCK_KB: u64 = 516;

/// Below this, a burst of faults between two wake-ups overflows the ring.
const COMFORT_BYTES: u64 = 1 << 20;

pub(super) fn choose(
    asked: Option<u32>,
    cpus: usize,
    facts: &Facts,
    notes: &mut Vec<String>,
) -> RingPages {
    let page = facts.page_bytes();
    let default = pages(SAMPLE_BYTES, page);
    // 2^31 is the largest power of two that the type holds.
    let asked = asked.map(|pages| pages.checked_next_power_of_two().unwrap_or(1 << 31));
    let want = RingPages { samples: asked.unwrap_or(default), side: pages(SIDE_BYTES, page) };
    let budget = RingBudget::of(facts, u64::try_from(cpus).unwrap_or(u64::MAX).max(1));
    let rings = fit(want, budget.pages);
    let too_small = u64::from(rings.samples) * page < COMFORT_BYTES;
    let shrunk = rings.samples < want.samples;
    if shrunk && (asked.is_some() || too_small) {
        notes.push(format!(
            "sample rings are {} KiB a CPU instead of {} KiB: {}",
            u64::from(rings.samples) * page / 1024,
            u64::from(want.samples) * page / 1024,
            budget.reason
        ));
    }
    rings
}

fn pages(bytes: u64, page: u64) -> u32 {
    u32::try_from((bytes / page.max(1)).max(1)).map_or(1 << 31, |pages| 1 << pages.ilog2())
}

/// Pages that one CPU's rings may map together.
#[derive(Debug)]
struct RingBudget {
    pages: u64,
    reason: String,
}

impl RingBudget {
    fn of(facts: &Facts, cpus: u64) -> RingBudget {
        let page = facts.page_bytes();
        // Rings are memory that cannot be swapped: never more than a
        // sixteenth of the machine's, limits or not.
        let sixteenth = facts.memory_kib.map(|kib| kib.saturating_mul(1024) / 16 / page / cpus);
        let memory = RingBudget {
            pages: sixteenth.unwrap_or(u64::MAX),
            reason: "rings may take a sixteenth of the machine's memory".to_owned(),
        };
        let access = &facts.access;
        if !access.rings_limited() {
            return memory;
        }
        let free_kb = access.mlock_kb.unwrap_or(MLOCK_KB);
        let free = free_kb.saturating_mul(1024) / page;
        let (charged, limit) = match access.memlock {
            Some(ResourceLimit::Unlimited) => return memory,
            Some(ResourceLimit::At(bytes)) => (bytes / page, format!("{} KiB", bytes / 1024)),
            None => (0, "unknown".to_owned()),
        };
        let locked = free.saturating_mul(cpus).saturating_add(charged) / cpus;
        if locked >= memory.pages {
            return memory;
        }
        RingBudget {
            pages: locked,
            reason: format!(
                "perf_event_mlock_kb ({free_kb} a CPU) and RLIMIT_MEMLOCK ({limit}) allow no \
                 more; raise the limit (ulimit -l) or have CAP_IPC_LOCK"
            ),
        }
    }
}

/// The largest sample ring that leaves room for a side ring of a sixteenth
/// of it; then the largest side ring.
fn fit(want: RingPages, budget: u64) -> RingPages {
    let floor = |samples: u32| (samples / 16).max(SIDE_FLOOR).min(want.side);
    let mut rings = RingPages { samples: want.samples, side: floor(want.samples) };
    while rings.mapped() > budget && rings.samples > 1 {
        rings.samples /= 2;
        rings.side = floor(rings.samples);
    }
    while rings.mapped() > budget && rings.side > 1 {
        rings.side /= 2;
    }
    loop {
        let larger = RingPages { side: rings.side.saturating_mul(2), ..rings };
        if larger.side > want.side || larger.mapped() > budget {
            return rings;
        }
        rings = larger;
    }
}
