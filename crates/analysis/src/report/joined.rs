//! The tables of several events as one: a row a site, a column an event.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::collect::event::request;
use crate::error::Error;
use crate::query::glob::Glob;
use crate::query::key::Key;
use crate::report::{Cell, EventReport, Machine, PeriodUnit, Question, Report, ReportChains};
use crate::share_interval::ratio;

/// What a recorder of ours calls executed instructions: what other counts
/// are told per, where it is there.
const INSTRUCTIONS: &str = "instr_retired";

/// Rows of all events side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JoinedReport {
    /// Version of this shape: [`Report::VERSION`].
    pub hardmeter_joined_report: u32,
    /// The recorded machine.
    pub machine: Machine,
    /// The question, as understood.
    pub query: Question,
    /// The columns, in the stream's order.
    pub events: Vec<JoinedEvent>,
    /// Index of the event that the others are told per.
    pub per: usize,
    /// Rows before the cut to the top ones.
    pub rows_total: usize,
    /// The rows, by the largest of their shares.
    pub rows: Vec<JoinedRow>,
    /// Frames and call chains, which rows name by number.
    #[serde(flatten)]
    pub chains: ReportChains,
}

/// An event of the columns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JoinedEvent {
    /// As recorded.
    pub name: String,
    /// What its periods count.
    pub unit: PeriodUnit,
    /// Samples that went into the rows.
    pub count: u64,
    /// Events that they stand for.
    pub period: u64,
    /// Events that they stand for, per one of [`JoinedReport::per`]; None: of that there is
    /// none.
    pub ratio: Option<f64>,
}

/// One row. As JSON its cells are fields named after the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinedRow {
    /// The table's keys, one a cell.
    pub keys: Arc<[Key]>,
    /// Value of each key.
    pub cells: Vec<Cell>,
    /// What each event counts here, in the order of [`JoinedReport::events`].
    pub events: Vec<JoinedCount>,
}

/// What one event counts in a row; all 0 where it has no such row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct JoinedCount {
    /// Samples.
    pub count: u64,
    /// Events that they stand for.
    pub period: u64,
    /// Part of the event's counted samples or periods, 0 to 1.
    pub share: f64,
    /// Standard error of `share`.
    pub share_error: f64,
    /// As [`JoinedEvent::ratio`], of this row.
    pub ratio: Option<f64>,
}

impl Serialize for JoinedRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.cells.len()))?;
        map.serialize_entry("events", &self.events)?;
        for (key, cell) in self.keys.iter().zip(&self.cells) {
            map.serialize_entry(&key.to_string(), cell)?;
        }
        map.end()
    }
}

impl JoinedReport {
    /// Joins the rows of a report's events, all of which it must have (a query without
    /// [`top`](crate::Query::top)), and keeps so many. Other counts are told per the event
    /// that `per` names; without, per executed instruction where these were sampled, else per
    /// the first event.
    ///
    /// # Errors
    /// No event is called like `per`, or there is none at all.
    pub fn of(
        report: &Report,
        per: Option<&Glob>,
        top: Option<usize>,
    ) -> Result<JoinedReport, Error> {
        let events = &report.events;
        let called = |glob: &Glob| {
            events
                .iter()
                .position(|event| glob.matches(&event.name) || glob.matches(request(&event.name)))
        };
        let of_instructions =
            || events.iter().position(|event| request(&event.name) == INSTRUCTIONS);
        let per = match per {
            Some(glob) => called(glob).ok_or_else(|| Error::Event {
                wanted: glob.to_string(),
                have: events.iter().map(|event| event.name.clone()).collect(),
            })?,
            None => of_instructions().unwrap_or(0),
        };
        let mut rows = joined(events);
        for row in &mut rows {
            let base = row.events.get(per).map_or(0, |count| count.period);
            for count in &mut row.events {
                count.ratio = (base > 0).then(|| ratio(count.period, base));
            }
        }
        let largest =
            |row: &JoinedRow| row.events.iter().map(|count| count.share).fold(0.0, f64::max);
        rows.sort_by(|one, other| {
            largest(other).total_cmp(&largest(one)).then_with(|| one.cells.cmp(&other.cells))
        });
        let rows_total = rows.len();
        rows.truncate(top.unwrap_or(usize::MAX));
        let base = events.get(per).map_or(0, |event| event.totals.period);
        let event = |event: &EventReport| JoinedEvent {
            name: event.name.clone(),
            unit: event.unit,
            count: event.totals.counted,
            period: event.totals.period,
            ratio: (base > 0).then(|| ratio(event.totals.period, base)),
        };
        Ok(JoinedReport {
            hardmeter_joined_report: Report::VERSION,
            machine: report.machine.clone(),
            query: Question { top, ..report.query.clone() },
            events: events.iter().map(event).collect(),
            per,
            rows_total,
            rows,
            chains: report.chains.clone(),
        })
    }
}

/// Rows with the same cells become one.
fn joined(events: &[EventReport]) -> Vec<JoinedRow> {
    let mut by_cells: BTreeMap<&[Cell], JoinedRow> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        for row in &event.rows {
            let joined = by_cells.entry(&row.cells).or_insert_with(|| JoinedRow {
                keys: Arc::clone(&row.keys),
                cells: row.cells.clone(),
                events: vec![JoinedCount::default(); events.len()],
            });
            if let Some(count) = joined.events.get_mut(index) {
                *count = JoinedCount {
                    count: row.count,
                    period: row.period,
                    share: row.share,
                    share_error: row.share_error,
                    ratio: None,
                };
            }
        }
    }
    by_cells.into_values().collect()
}
