//! What was counted of stalled accesses becomes words.

use crate::causes::collect::StalledUnit;
use crate::causes::remedy::Remedy;
use crate::causes::split_offsets::OffsetCount;
use crate::causes::stall::{Stall, StallVerdict, alignment, one_width};
use crate::causes::units::Units;
use crate::code::access_shape::AccessShape;
use crate::code::store_before::StoreBefore;
use crate::name::cell::{SiteCell, as_cell};
use crate::name::lookup::Lookup;
use crate::name::place_names::{PlaceKind, PlaceNames};
use crate::report::EventReport;
use serde::Serialize;
use symbolizer::Place;

/// Bytes of a routine in front of a load that are searched for a store, and of the
/// load itself at most.
const SEARCHED: u64 = 4096;
const LONGEST: u64 = 15;
/// Offsets that are listed.
const OFFSETS: usize = 4;

/// What hinders the accesses that an event sampled.
#[derive(Clone, Debug, Serialize)]
pub struct EventStalls {
    /// As the recording names it.
    pub event: String,
    /// What its samples are about.
    #[serde(rename = "hindrance")]
    pub stall: Stall,
    /// Samples of the event that were counted.
    pub samples: u64,
    /// Of these, without a data address.
    pub without_address: u64,
    /// Most events, or cycles where samples have latencies, first.
    pub rows: Vec<StallRow>,
}

/// The stalled accesses of one instruction to one object.
#[derive(Clone, Debug, Serialize)]
pub struct StallRow {
    /// The instruction.
    #[serde(serialize_with = "as_cell")]
    pub site: SiteCell,
    /// The variable, or memory, that it accesses.
    pub data: String,
    /// Samples.
    pub samples: u64,
    /// Events that they stand for.
    pub events: u64,
    /// Of the event's, 0 to 1.
    pub share: f64,
    /// Cycles that the accesses took which the samples stand for; None: nobody
    /// said.
    pub cycles: Option<u64>,
    /// Why.
    pub verdict: StallVerdict,
    /// What it is told by.
    pub evidence: StallEvidence,
    /// What to change.
    pub remedies: Vec<Remedy>,
}

/// What is known of the stalled accesses of an instruction to an object.
#[derive(Clone, Debug, Serialize)]
pub struct StallEvidence {
    /// Bytes that the instruction accesses; None: its code cannot be had.
    pub width: Option<u64>,
    /// Where in a line accesses begin, most samples first.
    pub offsets: Vec<OffsetCount>,
    /// Samples that cross the end of a page; None: the width is not known.
    pub crossing_pages: Option<u64>,
    /// All addresses are a multiple of so many bytes apart; 0: there is one.
    pub apart: u64,
    /// The store that holds a part of what is loaded; None: it is not told.
    pub store: Option<BlockingStore>,
}

/// A store that a load waits for.
#[derive(Clone, Debug, Serialize)]
pub struct BlockingStore {
    /// The instruction.
    #[serde(serialize_with = "as_cell")]
    pub site: SiteCell,
    /// Bytes that it writes.
    pub width: u64,
}

/// The stalls of an event whose samples were counted under this number; None:
/// it is about something else.
pub(crate) fn event_stalls(
    event: &EventReport,
    leader: usize,
    stalled: &Units<Stall, StalledUnit>,
    lookup: &mut Lookup,
) -> Option<EventStalls> {
    let stall = stalled.judged(leader)?;
    let units = stalled.all.iter().filter(|unit| unit.count.key.event == leader);
    let mut rows: Vec<StallRow> = units.map(|unit| row(event, stall, unit, lookup)).collect();
    let weight = |row: &StallRow| (row.cycles.unwrap_or(0), row.events);
    rows.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.site.cmp(&b.site)));
    Some(EventStalls {
        event: event.name.clone(),
        stall,
        samples: event.totals.counted,
        without_address: stalled.without_address(leader),
        rows,
    })
}

fn row(event: &EventReport, stall: Stall, unit: &StalledUnit, lookup: &mut Lookup) -> StallRow {
    let access: Option<AccessShape> = unit.count.access(&mut lookup.places.symbolizer);
    let width = access.map(|access| access.width).filter(|width| *width > 0);
    let site = lookup.places.site_cell(PlaceKind::Code, unit.count.key.site);
    let store = match stall {
        Stall::Forwarding => store_before(unit, &site, &mut lookup.places),
        Stall::Split => None,
    };
    let (verdict, remedy) = match stall {
        Stall::Split => {
            (StallVerdict::of_splits(width, &unit.offsets), alignment(width, &unit.offsets))
        }
        Stall::Forwarding => (
            StallVerdict::of_forwards(unit.count.sum.count, store.as_ref()),
            one_width(width, store.as_ref()),
        ),
    };
    let evidence = StallEvidence {
        width,
        offsets: unit.offsets.commonest(OFFSETS),
        crossing_pages: width.map(|width| unit.offsets.crossing_pages(width)),
        apart: unit.offsets.apart(),
        store: store.map(|store| BlockingStore {
            site: lookup.places.site_cell(
                PlaceKind::Code,
                Place { address: store.address, ..unit.count.key.site },
            ),
            width: store.width,
        }),
    };
    StallRow {
        data: unit.count.key.holder.name(lookup),
        site,
        samples: unit.count.sum.count,
        events: unit.count.sum.period,
        share: event.share_of(unit.count.sum),
        cycles: unit.count.known_cycles(),
        remedies: verdict.cause.map(|_| remedy).into_iter().collect(),
        verdict,
        evidence,
    }
}

fn store_before(
    unit: &StalledUnit,
    site: &SiteCell,
    places: &mut PlaceNames,
) -> Option<StoreBefore> {
    let load = unit.count.key.site.address;
    let offset = site.routine.as_ref().ok()?.offset;
    let start = load.checked_sub(offset).filter(|_| offset <= SEARCHED)?;
    let stretch = start..load.saturating_add(LONGEST);
    let text = places.symbolizer.text(unit.count.witness, &stretch).ok()?;
    StoreBefore::find(&text.bytes, text.bits?, start, load)
}
