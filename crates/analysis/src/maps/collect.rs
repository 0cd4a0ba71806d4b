//! Where accesses are over time: counts by time and set of a cache, and by time
//! and place in objects. How much is kept does not grow with the samples.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::collect::collector::{Collector, NewEvent};
use crate::collect::sampled::CountedSample;
use crate::error::Error;
use crate::maps::map_cells::{CellPlace, MapAxis, MapCells};
use crate::name::data_holder::DataHolder;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use crate::query::view::KnownCaches;
use perfdata::Pid;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Columns of a picture: steps of time.
pub(crate) const MOST_COLUMNS: u64 = 96;
const MOST_ROWS: u64 = 8;
/// Rows of sets; of more, neighbours are counted together.
pub(crate) const MOST_SETS: u64 = 64;
/// Objects that are told apart while it is counted.
const MOST_OBJECTS: usize = 512;
/// Nanoseconds of a column at first.
const SHORTEST: u64 = 1000;

#[derive(Clone, Debug)]
pub(crate) struct AccessMaps {
    caches: KnownCaches,
    shapes: BTreeMap<usize, CacheShape>,
    pub(crate) events: BTreeMap<usize, EventMaps>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BandKey {
    pub(crate) pid: Pid,
    pub(crate) holder: DataHolder,
}

#[derive(Clone, Debug)]
pub(crate) struct BandCells {
    pub(crate) rows: MapAxis,
    pub(crate) cells: MapCells,
}

#[derive(Clone, Debug)]
pub(crate) struct EventMaps {
    pub(crate) columns: MapAxis,
    pub(crate) shape: Option<CacheShape>,
    pub(crate) sets: MapCells,
    pub(crate) bands: FxHashMap<BandKey, BandCells>,
    /// Of objects that there was no room for.
    pub(crate) others: MapCells,
    pub(crate) without_address: u64,
}

impl AccessMaps {
    pub(crate) fn new(caches: KnownCaches) -> AccessMaps {
        AccessMaps { caches, shapes: BTreeMap::new(), events: BTreeMap::new() }
    }
}

impl Collector for AccessMaps {
    fn needs(&self) -> Needs {
        Needs::HEAP
    }

    // Only a cache that programs' own addresses choose the sets of has rows for them.
    fn learn(&mut self, new: &NewEvent<'_>) {
        if let Some(level) = MissedLevel::of_event(&new.event.name)
            && level.is_indexed_virtually()
            && let Some(shape) = self.caches.shape(level, new.model())
        {
            self.shapes.insert(new.event.leader, shape);
        }
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, lookup: &mut Lookup) -> Result<(), Error> {
        let event = sample.event;
        let shape = self.shapes.get(&event).copied();
        let maps = self.events.entry(event).or_insert_with(|| EventMaps::new(shape));
        let Ok(address) = sample.address() else {
            maps.without_address += 1;
            return Ok(());
        };
        let has_data = sample.data(lookup).is_ok();
        let band = has_data
            .then(|| BandKey { pid: sample.held.pid(), holder: sample.holder_but_stacks(lookup) });
        maps.add(sample.held.time.0, address, band);
        Ok(())
    }
}

impl EventMaps {
    fn new(shape: Option<CacheShape>) -> EventMaps {
        EventMaps {
            columns: MapAxis::new(SHORTEST, MOST_COLUMNS),
            shape,
            sets: MapCells::default(),
            bands: FxHashMap::default(),
            others: MapCells::default(),
            without_address: 0,
        }
    }

    fn add(&mut self, time: u64, address: u64, band: Option<BandKey>) {
        let halved = self.columns.include(time);
        if halved > 0 {
            self.sets.halve(0, halved);
            self.others.halve(0, halved);
            self.bands.values_mut().for_each(|band| band.cells.halve(0, halved));
        }
        let column = self.columns.at(time);
        if let Some(shape) = self.shape {
            let row = set_row(shape, address);
            self.sets.add(CellPlace { row, column });
        }
        let has_room = self.bands.len() < MOST_OBJECTS;
        let known = band.filter(|band| has_room || self.bands.contains_key(band));
        let Some(key) = known else { return self.others.add(CellPlace { row: 0, column }) };
        let band = self.bands.entry(key).or_insert_with(|| BandCells {
            rows: MapAxis::new(64, MOST_ROWS),
            cells: MapCells::default(),
        });
        let halved = band.rows.include(address);
        band.cells.halve(halved, 0);
        band.cells.add(CellPlace { row: band.rows.at(address), column });
    }
}

/// Sets that are counted together, a power of two where sets are.
pub(crate) fn sets_of_row(shape: CacheShape) -> u64 {
    shape.sets().div_ceil(MOST_SETS)
}

fn set_row(shape: CacheShape, address: u64) -> u64 {
    address / shape.unit.max(1) % shape.sets() / sets_of_row(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_and_times_are_told_apart() {
        let shape = CacheShape { entries: 512, ways: 8, unit: 64 };
        let mut maps = EventMaps::new(Some(shape));
        for sample in 0..1000_u64 {
            maps.add(sample * 50_000, 0x1000 + sample % 4 * 4096, None);
        }
        // All in one set, in 96 columns at most.
        assert!(maps.sets.counts.keys().all(|at| at.row == 0), "{maps:?}");
        assert!((48..=96).contains(&maps.columns.len()), "{maps:?}");
        assert_eq!([maps.sets.total(), maps.others.total()], [1000, 1000]);
        assert_eq!(sets_of_row(shape), 1);
        assert_eq!(sets_of_row(CacheShape { entries: 8192, ..shape }), 16);
    }
}
