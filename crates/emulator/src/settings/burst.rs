//! Emulating a part of what a program does.

use crate::event::{Class, EmulatedEvent};
use crate::geometry::{CacheGeometry, Geometry, TlbGeometry};
use crate::model::LINE;

/// Counts the events of some of each stretch of instructions, at places that
/// are drawn anew for each; the rest runs uncounted, most of it without the
/// model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// Instructions that are counted in each period; at least 1.
    pub on: u64,
    /// Instructions of a period; at least `on`.
    pub every: u64,
    /// Instructions before a burst that the model sees and nobody counts, so
    /// that the burst finds caches in use; None: as many as
    /// [`Burst::warm_up`] says.
    pub warm: Option<u64>,
}

/// Instructions for each line or page that a level holds until it has seen
/// enough to be believed: with fewer, compilers and interpreters, whose misses
/// are far apart, are counted several per cent too high.
const FOR_EACH: u64 = 200;

impl Burst {
    /// Instructions before each burst that warm up what events need of a
    /// geometry; not more than a period leaves. Where a gap between two
    /// bursts is shorter, all of it is seen by the model.
    #[must_use]
    pub fn warm_up(
        &self,
        geometry: &Geometry,
        events: impl IntoIterator<Item = EmulatedEvent>,
    ) -> u64 {
        let of_each = events.into_iter().map(|event| self.warm_up_of(geometry, event));
        of_each.max().unwrap_or(0)
    }

    fn warm_up_of(&self, geometry: &Geometry, event: EmulatedEvent) -> u64 {
        let lines = |cache: Option<CacheGeometry>| cache.map_or(0, |cache| cache.bytes / LINE);
        let pages = |tlb: Option<TlbGeometry>| tlb.map_or(0, |tlb| tlb.entries);
        let Geometry { l1d, l2, l3, dtlb, stlb, .. } = *geometry;
        let entries = match event {
            EmulatedEvent::Class(Class::Retired)
            | EmulatedEvent::SplitLoad
            | EmulatedEvent::SplitStore
            | EmulatedEvent::BlockedForward
            | EmulatedEvent::Allocation
            | EmulatedEvent::Release
            | EmulatedEvent::Mapping => 0,
            EmulatedEvent::Class(_) | EmulatedEvent::L1DataMiss | EmulatedEvent::HitModified => {
                lines(l1d)
            }
            EmulatedEvent::L2Miss => lines(l1d).max(lines(l2)),
            EmulatedEvent::L3Miss => lines(l1d).max(lines(l2)).max(lines(l3)),
            EmulatedEvent::DtlbLoadMiss
            | EmulatedEvent::DtlbStoreMiss
            | EmulatedEvent::DtlbMiss => pages(dtlb),
            EmulatedEvent::PageWalk => pages(dtlb).max(pages(stlb)),
        };
        let wanted = self.warm.unwrap_or(entries.saturating_mul(FOR_EACH));
        wanted.min(self.every.saturating_sub(self.on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_that_an_event_is_about_is_warmed_up() {
        let geometry = Geometry::default().with("l1d=32k,8 l2=1m,8 l3=off dtlb=64,4").unwrap();
        let burst = Burst { on: 10, every: 1 << 40, warm: None };
        let of = |event| burst.warm_up(&geometry, [event]);
        assert_eq!(of(EmulatedEvent::L1DataMiss), 512 * FOR_EACH);
        assert_eq!(of(EmulatedEvent::L2Miss), 16384 * FOR_EACH);
        assert_eq!(of(EmulatedEvent::L3Miss), 16384 * FOR_EACH);
        assert_eq!(of(EmulatedEvent::DtlbMiss), 64 * FOR_EACH);
        assert_eq!(of(EmulatedEvent::Class(Class::Retired)), 0);
        let both = [EmulatedEvent::DtlbMiss, EmulatedEvent::L1DataMiss];
        assert_eq!(burst.warm_up(&geometry, both), 512 * FOR_EACH);
        let short = Burst { every: 1000, ..burst };
        assert_eq!(short.warm_up(&geometry, [EmulatedEvent::L1DataMiss]), 990);
        let told = Burst { warm: Some(7), ..burst };
        assert_eq!(told.warm_up(&geometry, [EmulatedEvent::L3Miss]), 7);
    }
}
