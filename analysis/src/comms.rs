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

/// Forks in a row, none of them named, that are followed back.
const GENERATIONS: usize = 4096;

/// Where a thread's name comes from, from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// From the parent as it was at that time.
    Fork(Tid),
    /// A name of its own. Greater than a fork, since a synthesized fork and
    /// name share the time 0.
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

#[derive(Debug, Default)]
struct Timeline {
    changes: Vec<(Time, Origin)>,
    unsorted: bool,
}

impl Timeline {
    fn add(&mut self, time: Time, origin: Origin) {
        let change = (time, origin);
        self.unsorted |= self.changes.last().is_some_and(|last| *last > change);
        self.changes.push(change);
    }

    fn at(&mut self, time: Time) -> Option<(Time, Origin)> {
        if self.unsorted {
            self.changes.sort();
            self.unsorted = false;
        }
        let later = self.changes.partition_point(|(from, _)| *from <= time);
        self.changes[..later].last().copied()
    }
}

/// All threads' names.
#[derive(Debug, Default)]
pub(crate) struct Comms {
    timelines: FxHashMap<Tid, Timeline>,
    names: Names,
}

impl Comms {
    /// Takes in COMM and FORK records; others tell nothing of names.
    pub(crate) fn side(&mut self, record: &SideRecord<'_>, id: &SampleId) {
        match record {
            SideRecord::Comm { task, name } => {
                let name = self.names.number(&String::from_utf8_lossy(name));
                let time = id.time.unwrap_or_default();
                self.timelines.entry(task.tid).or_default().add(time, Origin::Name(name));
            }
            SideRecord::Fork { task, parent, time } if task.tid != parent.tid => {
                // The trailer has the time also where old kernels wrote none
                // into the body; both are of the same clock.
                let time = id.time.unwrap_or(*time);
                self.timelines.entry(task.tid).or_default().add(time, Origin::Fork(parent.tid));
            }
            _ => {}
        }
    }

    /// What a thread was called at a time.
    pub(crate) fn at(&mut self, tid: Tid, time: Time) -> Comm {
        let (mut thread, mut until) = (tid, time);
        for _ in 0..GENERATIONS {
            let change = self.timelines.get_mut(&thread).and_then(|timeline| timeline.at(until));
            match change {
                Some((_, Origin::Name(name))) => return Comm::Named(name),
                Some((from, Origin::Fork(parent))) => (thread, until) = (parent, from),
                None if thread == Tid(0) => return Comm::Unnamed(thread),
                None => return Comm::Unnamed(tid),
            }
        }
        Comm::Unnamed(tid)
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
