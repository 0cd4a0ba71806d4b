//! What was counted of accesses over time becomes pictures' numbers.

use crate::cache_shape::CacheShape;
use crate::maps::collect::{AccessMaps, BandCells, BandKey, EventMaps, sets_of_row};
use crate::maps::map_cells::MapCells;
use crate::name::lookup::Lookup;
use crate::report::{Counted, Report};
use serde::Serialize;

/// Objects of an event that have a band of their own.
const MOST_BANDS: usize = 12;

/// Accesses over time, of a recording.
#[derive(Clone, Debug, Serialize)]
pub struct MapReport {
    /// What was counted in all.
    pub report: Report,
    /// One an event whose samples have data addresses.
    pub events: Vec<EventMap>,
}

/// Accesses of an event over time. The counts of `bands`, and of `sets` where
/// there are some, add up to `counted`.
#[derive(Clone, Debug, Serialize)]
pub struct EventMap {
    /// As the recording names it.
    pub event: String,
    /// Samples that have a data address.
    pub counted: u64,
    /// Samples without.
    pub without_address: u64,
    /// When the first column begins, nanoseconds of the recording's clock.
    pub began: u64,
    /// Nanoseconds of a column.
    pub step: u64,
    /// Columns.
    pub columns: u64,
    /// By set; None: of no cache whose sets virtual addresses tell.
    pub sets: Option<SetMap>,
    /// By object, in order of addresses; the last is that of all others.
    pub bands: Vec<ObjectBand>,
}

/// Accesses by set of a cache.
#[derive(Clone, Debug, Serialize)]
pub struct SetMap {
    /// The cache.
    pub shape: CacheShape,
    /// Sets of a row.
    pub sets_of_row: u64,
    /// Those that have samples.
    pub cells: Vec<MapCell>,
}

/// Accesses of an object.
#[derive(Clone, Debug, Serialize)]
pub struct ObjectBand {
    /// The variable, or memory.
    pub name: String,
    /// Where its first row begins; None: of several objects.
    pub from: Option<u64>,
    /// Bytes of a row.
    pub span: u64,
    /// Rows.
    pub rows: u64,
    /// Samples.
    pub count: u64,
    /// Those that have samples.
    pub cells: Vec<MapCell>,
}

/// A cell of a picture, by row and column from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MapCell {
    /// From the top.
    pub row: u64,
    /// From the first time.
    pub column: u64,
    /// Samples.
    pub count: u64,
}

pub(crate) fn map_report(maps: AccessMaps, counted: Counted<'_>) -> MapReport {
    let Counted { report, leaders, lookup } = counted;
    let mut events = Vec::new();
    for (event, leader) in report.events.iter().zip(leaders) {
        let Some(maps) = maps.events.get(leader) else { continue };
        let counted = event.totals.counted.saturating_sub(maps.without_address);
        if counted > 0 {
            events.push(EventMap { event: event.name.clone(), counted, ..of_event(maps, lookup) });
        }
    }
    MapReport { report, events }
}

fn of_event(maps: &EventMaps, lookup: &mut Lookup) -> EventMap {
    let first = maps.columns.first();
    let sets = maps.shape.map(|shape| SetMap {
        shape,
        sets_of_row: sets_of_row(shape),
        cells: cells(&maps.sets, 0, first),
    });
    let mut all: Vec<(&BandKey, &BandCells)> = maps.bands.iter().collect();
    all.sort_by_key(|(key, band)| (std::cmp::Reverse(band.cells.total()), **key));
    let (shown, rest) = all.split_at(all.len().min(MOST_BANDS));
    let mut bands: Vec<ObjectBand> = shown
        .iter()
        .map(|(key, band)| ObjectBand {
            name: key.holder.name(lookup),
            from: Some(band.rows.first().saturating_mul(band.rows.step)),
            span: band.rows.step,
            rows: band.rows.len(),
            count: band.cells.total(),
            cells: cells(&band.cells, band.rows.first(), first),
        })
        .collect();
    bands.sort_by_key(|band| band.from);
    let mut others = maps.others.clone();
    for (_, band) in rest {
        let mut flat = band.cells.clone();
        flat.halve(u64::BITS, 0);
        others.join(&flat);
    }
    if others.total() > 0 {
        bands.push(ObjectBand {
            name: "all others".to_owned(),
            from: None,
            span: 0,
            rows: 1,
            count: others.total(),
            cells: cells(&others, 0, first),
        });
    }
    EventMap {
        event: String::new(),
        counted: 0,
        without_address: maps.without_address,
        began: first.saturating_mul(maps.columns.step),
        step: maps.columns.step,
        columns: maps.columns.len(),
        sets,
        bands,
    }
}

fn cells(of: &MapCells, first_row: u64, first_column: u64) -> Vec<MapCell> {
    let cell = |(at, count): (&crate::maps::map_cells::CellPlace, &u64)| MapCell {
        row: at.row.saturating_sub(first_row),
        column: at.column.saturating_sub(first_column),
        count: *count,
    };
    of.counts.iter().map(cell).collect()
}
