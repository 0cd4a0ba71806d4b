//! Command names of threads, over time.
//!
//! Records may come in any order, so nothing is concluded before a name is
//! asked for: a thread keeps the times at which it got a name, and at which
//! it was forked and took its parent's. Whoever takes records in order, of a
//! recording without times too, gives their places in it for times.

#[cfg(test)]
mod tests;

use crate::name::names::NumberedNames;
use perfdata::{SampleId, SideRecord, Tid, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Generations that may be walked through before any record, and for each
/// one more. In a stream whose records come by rounds, each fork is walked
/// through once; a hostile one could have long lines walked for each sample.
const STEPS: u64 = 1 << 20;
const STEPS_A_RECORD: u64 = 64;

/// Changes kept of all threads, some 50 to 150 bytes each. A system makes as
/// many processes in hours; a packed recording of a few megabytes may have
/// more than memory holds.
const MOST_CHANGES: usize = 1 << 20;
/// Distinct names kept, and bytes of one: the kernel's have 15.
const MOST_NAMES: usize = 1 << 19;
const LONGEST_NAME: usize = 256;

/// Where a thread's name comes from, from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// From the parent as it was at that time.
    Fork(Tid),
    /// A name of its own.
    Name(u32),
    /// A name that there was no room for.
    NotKept,
}

/// What a thread was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Comm {
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
        (self.time, !matches!(self.origin, Origin::Fork(_)))
    }
}

#[derive(Debug, Default)]
struct Timeline {
    changes: Vec<Change>,
    unsorted: bool,
}

impl Timeline {
    /// Forgets the older half, one change at least: how many.
    fn halve(&mut self) -> usize {
        self.sort();
        let older = self.changes.len().div_ceil(2);
        self.changes.drain(..older);
        older
    }

    fn sort(&mut self) {
        if self.unsorted {
            // Stable: what was told later stays behind its equals.
            self.changes.sort_by_key(Change::order);
            self.unsorted = false;
        }
    }

    fn add(&mut self, time: Time, origin: Origin) {
        let change = Change { time, origin, known: (0, None) };
        self.unsorted |= self.changes.last().is_some_and(|last| last.order() > change.order());
        self.changes.push(change);
    }

    /// The last change up to `time`, by its place.
    fn at(&mut self, time: Time) -> Option<(usize, &mut Change)> {
        self.sort();
        let later = self.changes.partition_point(|change| change.time <= time);
        let last = later.checked_sub(1)?;
        Some((last, self.changes.get_mut(last)?))
    }
}

/// All threads' names.
#[derive(Debug)]
pub struct Comms {
    timelines: FxHashMap<Tid, Timeline>,
    names: NumberedNames<[u8]>,
    /// In all timelines.
    changes: usize,
    most_changes: usize,
    /// Changes that were forgotten, or never kept.
    left_out: u64,
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
            names: NumberedNames::default(),
            changes: 0,
            most_changes: MOST_CHANGES,
            left_out: 0,
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
                self.named(task.tid, id.time.unwrap_or_default(), name);
            }
            // The trailer has the time also where old kernels wrote none
            // into the body; both are of the same clock.
            SideRecord::Fork { task, parent, time } => {
                self.forked(task.tid, id.time.unwrap_or(*time), parent.tid);
            }
            _ => {}
        }
    }

    /// A thread has this name from a time on. One that has ended keeps its
    /// name: its last records may still come.
    pub fn named(&mut self, tid: Tid, time: Time, name: &[u8]) {
        let origin = self.origin(name);
        self.add(tid, time, origin);
    }

    /// A thread starts, with the name that its parent has then, or none: an
    /// older thread of the same id leaves it nothing.
    pub fn forked(&mut self, tid: Tid, time: Time, parent: Tid) {
        if tid != parent {
            self.add(tid, time, Origin::Fork(parent));
        }
    }

    fn add(&mut self, tid: Tid, time: Time, origin: Origin) {
        if self.settled.is_some_and(|settled| time <= settled) {
            self.era += 1;
            self.settled = None;
        }
        self.steps = self.steps.saturating_add(STEPS_A_RECORD);
        if !self.has_room(tid) {
            return;
        }
        self.changes += 1;
        self.timelines.entry(tid).or_default().add(time, origin);
    }

    /// A name by its number, if it is kept.
    fn origin(&mut self, name: &[u8]) -> Origin {
        let is_known = self.names.knows(name);
        if is_known || (self.names.len() < MOST_NAMES && name.len() <= LONGEST_NAME) {
            return Origin::Name(self.names.number(name));
        }
        self.left_out += 1;
        Origin::NotKept
    }

    /// Makes room for one more change of a thread. One that has changes loses
    /// its oldest, so that no name is taken for one it had before; another has
    /// none, and stays without a name.
    fn has_room(&mut self, tid: Tid) -> bool {
        if self.changes < self.most_changes {
            return true;
        }
        let timeline = self.timelines.get_mut(&tid);
        let older = timeline.map_or(0, Timeline::halve);
        self.changes -= older;
        self.left_out = self.left_out.saturating_add(older.max(1) as u64);
        older > 0
    }

    /// What a reader must know of names that are not kept.
    pub fn note(&self) -> Option<String> {
        let (left_out, most) = (self.left_out, self.most_changes);
        (left_out > 0).then(|| {
            format!(
                "{left_out} names and forks of threads were not kept, as the stream tells of more \
                 than {most}, or {MOST_NAMES} different names: threads may be shown as :TID"
            )
        })
    }

    /// A thread's place, from 1, in the order in which all known threads began;
    /// None: it is not known.
    pub(crate) fn place(&self, tid: Tid) -> Option<u64> {
        let begun = |timeline: &Timeline| timeline.changes.iter().map(|change| change.time).min();
        let own = (self.timelines.get(&tid).and_then(begun)?, tid);
        let all = self.timelines.iter().filter_map(|(tid, of)| Some((begun(of)?, *tid)));
        Some(all.filter(|other| *other <= own).count() as u64)
    }

    /// What a thread was called at a time.
    pub fn at(&mut self, tid: Tid, time: Time) -> Comm {
        self.walked.clear();
        let (mut thread, mut until) = (tid, time);
        let found = loop {
            let timeline = self.timelines.get_mut(&thread);
            let Some((place, change)) = timeline.and_then(|timeline| timeline.at(until)) else {
                break (thread == Tid(0)).then_some(Comm::Unnamed(thread));
            };
            match change.origin {
                Origin::Name(name) => break Some(Comm::Named(name)),
                Origin::NotKept => break None,
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

    /// The name, which the kernel holds to no encoding; the idle task is
    /// `swapper`, as perf has it. None: no record gave one.
    pub fn name(&self, comm: Comm) -> Option<&[u8]> {
        match comm {
            Comm::Named(name) => self.names.get(name).map(|name| &**name),
            Comm::Unnamed(tid) => (tid == Tid(0)).then_some(b"swapper"),
        }
    }

    /// The name as it is shown: a thread without one is `:TID`.
    pub(crate) fn text(&self, comm: Comm) -> Arc<str> {
        match (self.name(comm), comm) {
            (Some(name), _) => String::from_utf8_lossy(name).into(),
            (None, Comm::Named(_)) => Arc::default(),
            (None, Comm::Unnamed(tid)) => format!(":{tid}").into(),
        }
    }
}
