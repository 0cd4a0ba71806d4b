//! The misses of one program with its objects as they are, and as the model saw
//! them in other layouts.

use crate::causes::cause_report::{CauseReport, CauseRow, EventCauses};
use crate::name::cell::{RoutineOffset, SiteCell, as_cell};
use perfdata::MissClass;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::btree_map::Entry;
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
    /// What it misses on. Of a stack that of which thread, by its place in the
    /// order in which the program's threads began.
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
        TrialCount { events: row.events, cause: row.verdict.cause.map(MissClass::name) }
    }

    /// Those of another row that is told with it: the cause of both, if it is
    /// one.
    fn add(&mut self, other: TrialCount) {
        self.events = self.events.saturating_add(other.events);
        self.cause = self.cause.filter(|cause| other.cause == Some(cause));
    }
}

impl TrialRow {
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

/// What makes a row: the same in all runs, which the number of a thread or a
/// process is not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TrialKey<'r> {
    address: u64,
    object: &'r str,
    routine: Result<&'r RoutineOffset, &'static str>,
    data: Cow<'r, str>,
}

impl<'r> TrialKey<'r> {
    fn of(row: &'r CauseRow) -> TrialKey<'r> {
        let SiteCell { address, object, routine } = &row.site;
        let data = match row.stack_of {
            Some(place) => Cow::Owned(format!("stack of thread no. {place}")),
            None => Cow::Borrowed(row.data.as_str()),
        };
        let routine = routine.as_ref().map_err(|unresolved| unresolved.tag);
        TrialKey { address: *address, object, routine, data }
    }
}

struct KeyedRow<'r> {
    site: &'r SiteCell,
    count: TrialCount,
}

type RowsByKey<'r> = BTreeMap<TrialKey<'r>, KeyedRow<'r>>;

fn by_key(event: Option<&EventCauses>) -> RowsByKey<'_> {
    let mut keyed = RowsByKey::new();
    for row in event.into_iter().flat_map(|event| &event.rows) {
        let new = KeyedRow { site: &row.site, count: TrialCount::of(row) };
        match keyed.entry(TrialKey::of(row)) {
            Entry::Vacant(free) => {
                free.insert(new);
            }
            Entry::Occupied(known) => known.into_mut().count.add(new.count),
        }
    }
    keyed
}

fn all_of(event: &EventCauses) -> u64 {
    event.rows.iter().fold(0, |sum, row| sum.saturating_add(row.events))
}

impl EventTrial {
    fn new(before: &EventCauses, after: &[Option<&EventCauses>]) -> EventTrial {
        let was = by_key(Some(before));
        let is: Vec<RowsByKey<'_>> = after.iter().map(|event| by_key(*event)).collect();
        let keyed = || std::iter::once(&was).chain(&is);
        let keys: BTreeSet<&TrialKey<'_>> = keyed().flat_map(BTreeMap::keys).collect();
        let count = |rows: &RowsByKey<'_>, key: &TrialKey<'_>| {
            rows.get(key).map_or_else(TrialCount::default, |row| row.count)
        };
        let row = |key: &TrialKey<'_>| {
            let site = keyed().find_map(|rows| rows.get(key)).map(|row| row.site.clone())?;
            Some(TrialRow {
                site,
                data: key.data.clone().into_owned(),
                before: count(&was, key),
                after: is.iter().map(|rows| count(rows, key)).collect(),
            })
        };
        let mut rows: Vec<TrialRow> = keys.into_iter().filter_map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse([row.change(), row.before.events]));
        EventTrial {
            event: before.event.clone(),
            before: all_of(before),
            after: after.iter().map(|event| event.map_or(0, all_of)).collect(),
            rows,
        }
    }
}
