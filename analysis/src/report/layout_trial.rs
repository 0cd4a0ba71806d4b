//! The misses of one program with its objects as they are, and as the model saw
//! them in other layouts.

use super::miss_causes::as_cell;
use super::{CauseReport, CauseRow, EventCauses};
use crate::name::cell::SiteCell;
use record::MissClass;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A program's misses before and after changes that were tried.
#[derive(Clone, Debug, Serialize)]
pub struct LayoutTrial {
    /// Version of this shape: [`LayoutTrial::VERSION`].
    pub hardmeter_trial: u32,
    /// What was tried, a run of the program each.
    pub changes: Vec<TriedLayout>,
    /// One an event of the runs.
    pub events: Vec<EventTrial>,
    /// What the reader must know to read it right, in sentences.
    pub notes: Vec<String>,
}

/// Objects in other layouts, in one run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TriedLayout {
    /// As it was typed.
    pub typed: String,
    /// What the model was told, by object.
    pub layouts: Vec<String>,
}

/// The events of one type.
#[derive(Clone, Debug, Serialize)]
pub struct EventTrial {
    /// As the recordings name it.
    pub event: String,
    /// All that the samples stand for, as the program is.
    pub before: u64,
    /// The same after each change, in their order.
    pub after: Vec<u64>,
    /// By instruction and object, those that changed most first.
    pub rows: Vec<TrialRow>,
}

/// An instruction's events on an object.
#[derive(Clone, Debug, Serialize)]
pub struct TrialRow {
    /// The instruction.
    #[serde(serialize_with = "as_cell")]
    pub site: SiteCell,
    /// What it misses on.
    pub data: String,
    /// As the program is.
    pub before: TrialCount,
    /// After each change.
    pub after: Vec<TrialCount>,
}

/// Events, and why they came about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrialCount {
    /// So many.
    pub events: u64,
    /// The class of most of them; None: no one class, or none is known.
    pub cause: Option<&'static str>,
}

impl TrialCount {
    fn of(row: &CauseRow) -> TrialCount {
        TrialCount { events: row.events, cause: row.verdict.cause.map(MissClass::word) }
    }
}

impl TrialRow {
    /// By how much a change moved it, at most.
    fn change(&self) -> u64 {
        let moved = self.after.iter().map(|after| after.events.abs_diff(self.before.events));
        moved.max().unwrap_or(0)
    }
}

impl LayoutTrial {
    /// Counts up when a field changes its meaning or goes; new fields do
    /// not count.
    pub const VERSION: u32 = 1;

    /// Puts the causes of the program as it is beside those of `trials`, which are
    /// of runs of the same program at the same addresses.
    pub fn new(before: &CauseReport, trials: Vec<(TriedLayout, CauseReport)>) -> LayoutTrial {
        let (changes, after): (Vec<TriedLayout>, Vec<CauseReport>) = trials.into_iter().unzip();
        let of_event = |event: &EventCauses| {
            let same = |other: &&EventCauses| other.event == event.event;
            let others: Vec<Option<&EventCauses>> =
                after.iter().map(|report| report.events.iter().find(same)).collect();
            EventTrial::new(event, &others)
        };
        let events = before.events.iter().map(of_event).collect();
        let notes: BTreeSet<&String> =
            std::iter::once(before).chain(&after).flat_map(|report| &report.notes).collect();
        let notes = notes.into_iter().cloned().collect();
        LayoutTrial { hardmeter_trial: LayoutTrial::VERSION, changes, events, notes }
    }
}

/// What makes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TrialKey<'r> {
    site: &'r SiteCell,
    data: &'r str,
}

type CountsByKey<'r> = BTreeMap<TrialKey<'r>, TrialCount>;

fn by_key(event: Option<&EventCauses>) -> CountsByKey<'_> {
    let rows = event.into_iter().flat_map(|event| &event.rows);
    rows.map(|row| (TrialKey { site: &row.site, data: &row.data }, TrialCount::of(row))).collect()
}

fn all_of(event: &EventCauses) -> u64 {
    event.rows.iter().fold(0, |sum, row| sum.saturating_add(row.events))
}

impl EventTrial {
    fn new(before: &EventCauses, after: &[Option<&EventCauses>]) -> EventTrial {
        let was = by_key(Some(before));
        let is: Vec<CountsByKey<'_>> = after.iter().map(|event| by_key(*event)).collect();
        let keys: BTreeSet<&TrialKey<'_>> =
            was.keys().chain(is.iter().flat_map(BTreeMap::keys)).collect();
        let row = |key: &TrialKey<'_>| TrialRow {
            site: key.site.clone(),
            data: key.data.to_owned(),
            before: was.get(key).copied().unwrap_or_default(),
            after: is.iter().map(|counts| counts.get(key).copied().unwrap_or_default()).collect(),
        };
        let mut rows: Vec<TrialRow> = keys.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse([row.change(), row.before.events]));
        EventTrial {
            event: before.event.clone(),
            before: all_of(before),
            after: after.iter().map(|event| event.map_or(0, all_of)).collect(),
            rows,
        }
    }
}
