//! Command names of threads, over time.
//!
//! Records may come in any order, so nothing is concluded before a name is
//! asked for: a thread keeps the times at which it got a name, and at which
//! it was forked and took its parent's.

#[cfg(test)]
mod tests;

use crate::names::Names;
use record::{SampleId, SideRecord, Tid, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Generations that may be walked through before any record, and for each
/// one more. In a stream whose records come by rounds, each fork is walked
/// through once; a hostile one could have long lines walked for each sample.
const STEPS: u64 = 1 << 20;
const STEPS_A_RECORD: u64 = 64;

/// Where a thread's name comes from, from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// From the parent as it was at that time.
    Fork(Tid),
    /// A name of its own.
    Name(u32),
}

/// What a thread was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Comm {
    /// A name that a record gave, by its number.
    Named(u32),
    /// No record gave a name; perf prints `:TID`.
    Unnamed(Tid),
}

/// A thread gets a name.
#[derive(Clone, Copy, Debug)]
struct Change {
    time: Time,
    origin: Origin,
    /// What a fork's name was found to be, none included, and in which era.
    known: (u64, Option<Comm>),
}

impl Change {
    /// Among changes of one time the last told counts, but a name comes
    /// after a fork: synthesized ones share the time 0 in either order.
    fn order(&self) -> (Time, bool) {
        (self.time, matches!(self.origin, Origin::Name(_)))
    }
}

#[derive(Debug, Default)]
struct Timeline {
    changes: Vec<Change>,
    unsorted: bool,
}

impl Timeline {
    fn add(&mut self, time: Time, origin: Origin) {
        let change = Change { time, origin, known: (0, None) };
        self.unsorted |= self.changes.last().is_some_and(|last| last.order() > change.order());
        self.changes.push(change);
    }

    /// The last change up to `time`, by its place.
    fn at(&mut self, time: Time) -> Option<(usize, &mut Change)> {
        if self.unsorted {
            // Stable: what was told later stays behind its equals.
            self.changes.sort_by_key(Change::order);
            self.unsorted = false;
        }
        let later = self.changes.partition_point(|change| change.time <= time);
        let last = later.checked_sub(1)?;
        Some((last, self.changes.get_mut(last)?))
    }
}

/// All threads' names.
#[derive(Debug)]
pub(crate) struct Comms {
    timelines: FxHashMap<Tid, Timeline>,
    names: Names,
    /// Counts up when what was found for forks may hold no more.
    era: u64,
    /// Changes up to this time have been looked at for forks.
    settled: Option<Time>,
    steps: u64,
    /// Forks on the way to a name, by thread and place.
    walked: Vec<(Tid, usize)>,
}

impl Default for Comms {
    fn default() -> Comms {
        Comms {
            timelines: FxHashMap::default(),
            names: Names::default(),
            era: 1,
            settled: None,
            steps: STEPS,
            walked: Vec::new(),
        }
    }
}

impl Comms {
    /// Takes in COMM and FORK records; others tell nothing of names.
    pub(crate) fn side(&mut self, record: &SideRecord<'_>, id: &SampleId) {
        match record {
            SideRecord::Comm { task, name } => {
                let name = self.names.number(&String::from_utf8_lossy(name));
                self.add(task.tid, id.time.unwrap_or_default(), Origin::Name(name));
            }
            SideRecord::Fork { task, parent, time } if task.tid != parent.tid => {
                // The trailer has the time also where old kernels wrote none
                // into the body; both are of the same clock.
                self.add(task.tid, id.time.unwrap_or(*time), Origin::Fork(parent.tid));
            }
            _ => {}
        }
    }

    fn add(&mut self, tid: Tid, time: Time, origin: Origin) {
        if self.settled.is_some_and(|settled| time <= settled) {
            self.era += 1;
            self.settled = None;
        }
        self.steps = self.steps.saturating_add(STEPS_A_RECORD);
        self.timelines.entry(tid).or_default().add(time, origin);
    }

    /// What a thread was called at a time.
    pub(crate) fn at(&mut self, tid: Tid, time: Time) -> Comm {
        self.walked.clear();
        let (mut thread, mut until) = (tid, time);
        let found = loop {
            let timeline = self.timelines.get_mut(&thread);
            let Some((place, change)) = timeline.and_then(|timeline| timeline.at(until)) else {
                break (thread == Tid(0)).then_some(Comm::Unnamed(thread));
            };
            match change.origin {
                Origin::Name(name) => break Some(Comm::Named(name)),
                Origin::Fork(_) if change.known.0 == self.era => break change.known.1,
                Origin::Fork(parent) => {
                    // Forks in a circle come back here, and find no name.
                    change.known = (self.era, None);
                    self.settled = self.settled.max(Some(change.time));
                    self.walked.push((thread, place));
                    (thread, until) = (parent, change.time);
                }
            }
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                break None;
            }
        };
        for (thread, place) in self.walked.drain(..) {
            let timeline = self.timelines.get_mut(&thread);
            if let Some(change) = timeline.and_then(|it| it.changes.get_mut(place)) {
                change.known.1 = found;
            }
        }
        found.unwrap_or(Comm::Unnamed(tid))
    }

    /// The name as it is shown: the idle task is `swapper`, a thread without
    /// a name is `:TID`, as perf has it.
    pub(crate) fn text(&self, comm: Comm) -> Arc<str> {
        match comm {
            Comm::Named(name) => self.names.name(name),
            Comm::Unnamed(Tid(0)) => Arc::from("swapper"),
            Comm::Unnamed(tid) => Arc::from(format!(":{tid}")),
        }
    }
}
