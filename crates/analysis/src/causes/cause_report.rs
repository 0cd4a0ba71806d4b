//! What was counted of misses becomes causes.

use crate::cache_shape::{CacheShape, MissedLevel};
use crate::causes::ObjectExtent;
use crate::causes::collect::CountedMisses;
use crate::causes::miss_distances::DistanceCounts;
use crate::causes::miss_recurrence::RecurrenceCounts;
use crate::causes::miss_streams::{MissStreams, MissUnit};
use crate::causes::remedy::{MissEvidence, Remedy, remedies};
use crate::causes::stall_report::EventStalls;
use crate::causes::stall_report::event_stalls;
use crate::causes::verdict::{CauseGrade, MissVerdict};
use crate::causes::way_to_judge::{Judge, UnitPast, WayToJudge};
use crate::code::access_shape::AccessShape;
use crate::error::Error;
use crate::name::cell::{SiteCell, as_cell};
use crate::name::data_holder::DataHolder;
use crate::name::lookup::Lookup;
use crate::name::place_names::{PlaceKind, PlaceNames};
use crate::report::{Counted, EventReport, Report, SamplingMode};
use crate::share_interval::ratio;
use perfdata::MissClass;
use serde::Serialize;

/// The share of steps that makes a stride.
const STEADY: f64 = 0.5;
/// The share of samples whose sets are listed, and how many sets are few.
const MOST_OF_THEM: f64 = 0.95;
const FEW_SETS: usize = 8;

/// Why a recording's misses came about.
#[derive(Clone, Debug, Serialize)]
pub struct CauseReport {
    /// Version of this shape: [`CauseReport::VERSION`].
    pub hardmeter_causes: u32,
    /// One an event that is about a cache or TLB.
    pub events: Vec<EventCauses>,
    /// One an event that is about accesses that something hinders.
    #[serde(rename = "hindrances")]
    pub stalls: Vec<EventStalls>,
    /// What the reader must know to read it right, in sentences.
    pub notes: Vec<String>,
    /// What was counted in all, as `ebs report` says above a table.
    pub report: Report,
}

impl CauseReport {
    /// Counts up when a field changes its meaning or goes; new fields do
    /// not count.
    pub const VERSION: u32 = 1;
}

/// The causes of one event's samples.
#[derive(Clone, Debug, Serialize)]
pub struct EventCauses {
    /// As the recording names it.
    pub event: String,
    /// What its samples missed.
    pub level: MissedLevel,
    /// By which cache they are judged.
    pub shape: CacheShape,
    /// How they are judged, in a sentence.
    pub method: String,
    /// Samples of the event that were counted.
    pub samples: u64,
    /// Of these, without a data address.
    pub without_address: u64,
    /// Most events, or cycles where samples have latencies, first.
    pub rows: Vec<CauseRow>,
}

/// The misses of one instruction on one object.
#[derive(Clone, Debug, Serialize)]
pub struct CauseRow {
    /// The instruction.
    #[serde(serialize_with = "as_cell")]
    pub site: SiteCell,
    /// The variable, or memory, that it misses on.
    pub data: String,
    /// Of a thread's stack: the thread's place, from 1, in the order in which the
    /// recording's threads began. None: it is no stack, or that is not known.
    pub stack_of: Option<u64>,
    /// Where that is; of a variable that several processes have, in the first.
    pub extent: ObjectExtent,
    /// Samples.
    pub samples: u64,
    /// Events that they stand for.
    pub events: u64,
    /// Of the event's, 0 to 1.
    pub share: f64,
    /// Cycles that the accesses took which the samples stand for; None: nobody
    /// said.
    pub cycles: Option<u64>,
    /// Of the event's cycles, 0 to 1.
    pub cycle_share: Option<f64>,
    /// Why.
    pub verdict: MissVerdict,
    /// What it is told by.
    pub evidence: MissEvidence,
    /// What to change.
    pub remedies: Vec<Remedy>,
}

pub(crate) fn cause_report(
    misses: CountedMisses,
    counted: Counted<'_>,
) -> Result<CauseReport, Error> {
    let Counted { report, leaders, lookup } = counted;
    let notes = misses.notes();
    let CountedMisses { mut streams, stalled, .. } = misses;
    let (mut events, mut stalls) = (Vec::new(), Vec::new());
    for (event, leader) in report.events.iter().zip(leaders.iter().copied()) {
        events.extend(event_causes(event, leader, &mut streams, lookup));
        stalls.extend(event_stalls(event, leader, &stalled, lookup));
    }
    if events.is_empty() && stalls.is_empty() {
        let have = report.events.iter().map(|event| event.name.clone()).collect();
        return Err(Error::NoMisses { have });
    }
    let hardmeter_causes = CauseReport::VERSION;
    Ok(CauseReport { hardmeter_causes, events, stalls, notes, report })
}

/// The causes of an event whose samples are in `streams` under this number;
/// None: it is about no cache.
fn event_causes(
    event: &EventReport,
    leader: usize,
    streams: &mut MissStreams,
    lookup: &mut Lookup,
) -> Option<EventCauses> {
    let (level, shape) = streams.units.judged(leader)?;
    let way = WayToJudge::of(event, leader, streams);
    let threads = streams.of_threads(leader);
    let has_each_miss = matches!(way, WayToJudge::Classes | WayToJudge::Distances)
        && event.samples_each()
        && !event.has_gaps()
        && event.left_out() == 0
        && streams.units.left_out == 0;
    let distances = match has_each_miss {
        true => DistanceCounts::of_units(&threads, streams.units.all.len(), level, shape),
        false => Vec::new(),
    };
    let recurrences = match way {
        WayToJudge::Recurrence => {
            let intervals: Vec<f64> = streams.units.all.iter().map(MissUnit::interval).collect();
            RecurrenceCounts::of_units(threads, &intervals, level, shape)
        }
        WayToJudge::Classes | WayToJudge::Distances | WayToJudge::Nothing(_) => Vec::new(),
    };
    let of_event = streams.units.all.iter().filter(|unit| unit.count.key.event == leader);
    let cycles = of_event.fold(0_u64, |sum, unit| sum.saturating_add(unit.count.cycles));
    let judged = JudgedEvent { event, level, shape, way, has_each_miss, cycles };
    let units =
        streams.units.all.iter().enumerate().filter(|(_, unit)| unit.count.key.event == leader);
    let mut rows: Vec<CauseRow> = units
        .map(|(number, unit)| {
            let past =
                UnitPast { distances: distances.get(number), recurrence: recurrences.get(number) };
            judged.row(unit, past, lookup)
        })
        .collect();
    let weight = |row: &CauseRow| (row.cycles.unwrap_or(0), row.events);
    rows.sort_by(|a, b| weight(b).cmp(&weight(a)).then_with(|| a.site.cmp(&b.site)));
    Some(EventCauses {
        event: event.name.clone(),
        level,
        shape,
        method: way.sentence(event),
        samples: event.totals.counted,
        without_address: streams.units.without_address(leader),
        rows,
    })
}

struct JudgedEvent<'e> {
    event: &'e EventReport,
    level: MissedLevel,
    shape: CacheShape,
    way: WayToJudge,
    /// Successive samples are successive misses.
    has_each_miss: bool,
    cycles: u64,
}

impl JudgedEvent<'_> {
    fn row(&self, unit: &MissUnit, past: UnitPast<'_>, lookup: &mut Lookup) -> CauseRow {
        let judge = Judge { level: self.level, shape: self.shape };
        let verdict = self.way.verdict(unit, past, judge);
        let fits_from = past.distances.and_then(DistanceCounts::fits_from);
        let access = unit.count.access(&mut lookup.places.symbolizer);
        let evidence = self.evidence(unit, access, fits_from);
        let conflict = verdict.shares.iter().find(|share| share.class == Some(MissClass::Conflict));
        let conflict = conflict.map_or(0.0, |of| match verdict.grade {
            // Its share is what is proven: more may be.
            CauseGrade::Likely => of.share.high,
            _ => of.share.share,
        });
        let remedies = remedies(verdict.cause, conflict, self.level, self.shape, &evidence);
        CauseRow {
            site: lookup.places.site_cell(PlaceKind::Code, unit.count.key.site),
            data: unit.count.key.holder.name(lookup),
            stack_of: match unit.count.key.holder {
                DataHolder::Stack(tid) => lookup.comms.place(tid),
                _ => None,
            },
            extent: extent(unit, evidence.width, &mut lookup.places),
            samples: unit.count.sum.count,
            events: unit.count.sum.period,
            share: self.event.share_of(unit.count.sum),
            cycles: unit.count.known_cycles(),
            cycle_share: (self.cycles > 0).then(|| ratio(unit.count.cycles, self.cycles)),
            verdict,
            evidence,
            remedies,
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "estimates of lines are not negative, and far below 2^53"
    )]
    fn evidence(
        &self,
        unit: &MissUnit,
        access: Option<AccessShape>,
        fits_from: Option<u64>,
    ) -> MissEvidence {
        let lines = unit.lines.sampled();
        let has_each_miss = self.has_each_miss;
        let estimated = match has_each_miss {
            true => Some(lines),
            false => unit.lines.estimated().map(|it| it.round() as u64),
        };
        let per_line = |lines: u64| unit.count.sum.period as f64 / lines.max(1) as f64;
        let stride = unit.strides.commonest().filter(|_| has_each_miss);
        let stride = stride.filter(|(_, share)| *share >= STEADY);
        // What an even interval picks is no sample of sets, or of distances.
        let is_adapted = self.event.sampling == SamplingMode::Adapted;
        let has_one_interval = self.event.samples_each() || !is_adapted;
        let is_even = !self.event.samples_each() && !self.event.has_drawn_periods() && !is_adapted;
        let effective =
            unit.sets.effective().filter(|_| self.level.is_indexed_virtually() && !is_even);
        let sets = effective.map(|_| unit.sets.fullest(MOST_OF_THEM)).unwrap_or_default();
        let width = access.map(|access| access.width).filter(|width| *width > 0);
        MissEvidence {
            has_each_miss,
            lines,
            // How often a line is sampled again is known of one interval.
            lines_estimated: estimated.filter(|_| !is_even && has_one_interval),
            pages: unit.pages.sampled(),
            misses_per_line: estimated.filter(|_| !is_even && has_one_interval).map(per_line),
            effective_sets: effective,
            sets: if sets.len() <= FEW_SETS { sets } else { Vec::new() },
            stride: stride.map(|(bytes, _)| bytes),
            stride_share: stride.map_or(0.0, |(_, share)| share),
            apart: if is_even { 0 } else { unit.strides.divisor() },
            width,
            is_chase: access.is_some_and(|access| access.is_chase),
            split_share: width
                .map_or(0.0, |width| ratio(unit.offsets.crossing(width), unit.count.sum.count)),
            fits_from: fits_from.map(|lines| lines.saturating_mul(self.shape.unit)),
            remote_share: unit.sources.remote_share(),
            walk_share: unit.sources.walk_share(),
        }
    }
}

fn extent(unit: &MissUnit, width: Option<u64>, places: &mut PlaceNames) -> ObjectExtent {
    if let Some((offset, size)) = unit.place.and_then(|place| places.variable_extent(place)) {
        return ObjectExtent { start: unit.address.wrapping_sub(offset), size, is_variable: true };
    }
    let (start, last) = (*unit.addresses.start(), *unit.addresses.end());
    let size = (last - start).saturating_add(width.unwrap_or(1));
    ObjectExtent { start, size, is_variable: false }
}
