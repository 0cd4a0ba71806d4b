//! Which process mapped what, where, when.
//!
//! Records of one process come from the rings of several CPUs, so in any
//! order of time; what is told late must answer as if told in time. Every
//! stretch of addresses therefore keeps the history of what lay over it, and
//! every process the moments at which its address space began anew.

use crate::ObjectId;
use record::{Pid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Mappings of one process that are kept; a hostile recording could make
/// each overlay cut and copy all earlier ones.
const MOST_ENTRIES: usize = 1 << 20;
/// Forks without exec between a process and the ancestor that made the
/// mapping.
const MOST_FORKS: usize = 4096;

/// A point in time; what was told first comes first among equals, so that
/// streams without times still work in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    time: u64,
    arrival: u64,
}

/// What lies over a stretch of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// What was mapped.
    pub(crate) object: ObjectId,
    /// Address of the file's byte `offset`.
    pub(crate) start: u64,
    /// Offset in the file, bytes.
    pub(crate) offset: u64,
}

/// An answer, and the addresses and times for which it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) mapping: Mapping,
    /// First address.
    pub(crate) first: u64,
    /// Last address, inclusive.
    pub(crate) last: u64,
    /// First time.
    pub(crate) from: Time,
    /// Last time, inclusive.
    pub(crate) until: Time,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Process,
    Mapping,
    Overfull,
}

/// Every process's timeline.
#[derive(Debug, Default)]
pub(crate) struct Timelines {
    processes: FxHashMap<Pid, Timeline>,
    arrivals: u64,
}

#[derive(Debug, Default)]
struct Timeline {
    /// By first address; disjoint.
    pieces: BTreeMap<u64, Piece>,
    beginnings: Vec<(Moment, Beginning)>,
    entries: usize,
    overfull: bool,
}

#[derive(Clone, Debug)]
struct Piece {
    last: u64,
    /// Sorted by moment; none where something was unmapped.
    history: Vec<(Moment, Option<Mapping>)>,
}

/// How an address space began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// Empty.
    Exec,
    /// As a copy of another's.
    Fork(Pid),
}

impl Timelines {
    /// `length` bytes from `start` show `mapping` from `time` on; none takes
    /// them away.
    pub(crate) fn map(
        &mut self,
        pid: Pid,
        time: Time,
        (start, length): (u64, u64),
        mapping: Option<Mapping>,
    ) {
        let moment = self.moment(time);
        let Some(last) = length.checked_sub(1).map(|more| start.saturating_add(more)) else {
            return;
        };
        self.processes.entry(pid).or_default().map(start, last, (moment, mapping));
    }

    /// From `time` on the process's address space is a new one.
    pub(crate) fn exec(&mut self, pid: Pid, time: Time) {
        let moment = self.moment(time);
        self.processes.entry(pid).or_default().begin(moment, Beginning::Exec);
    }

    /// From `time` on the child's address space is a copy of its parent's.
    pub(crate) fn fork(&mut self, child: Pid, parent: Pid, time: Time) {
        let moment = self.moment(time);
        self.processes.entry(child).or_default().begin(moment, Beginning::Fork(parent));
    }

    /// What the process had at `address` at `time`.
    pub(crate) fn find(&self, pid: Pid, address: u64, time: Time) -> Result<Found, Missing> {
        let mut until = Moment { time: time.0, arrival: u64::MAX };
        let mut timeline = self.processes.get(&pid).ok_or(Missing::Process)?;
        // What the first process of the chain says about how long the answer holds.
        let mut window: Option<(Moment, Option<Moment>)> = None;
        let mut stretch = (0, u64::MAX);
        for _ in 0..MOST_FORKS {
            if timeline.overfull {
                return Err(Missing::Overfull);
            }
            let begun = timeline.beginnings.partition_point(|(moment, _)| *moment <= until);
            let beginning = begun.checked_sub(1).map(|index| timeline.beginnings[index]);
            let next_beginning = timeline.beginnings.get(begun).map(|(moment, _)| *moment);
            let floor = beginning.map_or(Moment { time: 0, arrival: 0 }, |(moment, _)| moment);
            let (piece_stretch, piece) = timeline.piece(address);
            stretch = (stretch.0.max(piece_stretch.0), stretch.1.min(piece_stretch.1));
            let told = piece
                .map_or(0, |piece| piece.history.partition_point(|(moment, _)| *moment <= until));
            let next_entry = piece.and_then(|piece| piece.history.get(told)).map(|entry| entry.0);
            let change = [next_beginning, next_entry].into_iter().flatten().min();
            let entry = piece
                .zip(told.checked_sub(1))
                .map(|(piece, index)| piece.history[index])
                .filter(|(moment, _)| *moment >= floor);
            if let Some((since, mapping)) = entry {
                let (from, to) = window.unwrap_or((since, change));
                return mapping.ok_or(Missing::Mapping).map(|mapping| Found {
                    mapping,
                    first: stretch.0,
                    last: stretch.1,
                    from: Time(from.time),
                    until: to.map_or(Time(u64::MAX), |to| Time(to.time.saturating_sub(1))),
                });
            }
            let Some((forked, Beginning::Fork(parent))) = beginning else {
                return Err(Missing::Mapping);
            };
            window = window.or(Some((forked, change)));
            // Strictly before the fork: a cycle of forks told by a damaged
            // stream ends here.
            until = Moment { time: forked.time, arrival: forked.arrival.saturating_sub(1) };
            timeline = self.processes.get(&parent).ok_or(Missing::Mapping)?;
        }
        Err(Missing::Mapping)
    }

    /// The stretch around `address` over which the process never had
    /// anything by itself; none when it once had.
    pub(crate) fn gap(&self, pid: Pid, address: u64) -> Option<(u64, u64)> {
        match self.processes.get(&pid).map(|timeline| timeline.piece(address)) {
            None => Some((0, u64::MAX)),
            Some((stretch, None)) => Some(stretch),
            Some((_, Some(_))) => None,
        }
    }

    fn moment(&mut self, time: Time) -> Moment {
        self.arrivals += 1;
        Moment { time: time.0, arrival: self.arrivals }
    }
}

impl Timeline {
    fn begin(&mut self, moment: Moment, beginning: Beginning) {
        let at = self.beginnings.partition_point(|(other, _)| *other <= moment);
        self.beginnings.insert(at, (moment, beginning));
    }

    fn map(&mut self, first: u64, last: u64, entry: (Moment, Option<Mapping>)) {
        if self.overfull {
            return;
        }
        self.cut(first);
        if let Some(next) = last.checked_add(1) {
            self.cut(next);
        }
        let mut gaps = Vec::new();
        let mut at = Some(first);
        for (&start, piece) in self.pieces.range_mut(first..=last) {
            if let Some(gap) = at.filter(|&at| at < start) {
                gaps.push((gap, start - 1));
            }
            let index = piece.history.partition_point(|(moment, _)| *moment <= entry.0);
            piece.history.insert(index, entry);
            self.entries += 1;
            at = piece.last.checked_add(1);
        }
        gaps.extend(at.filter(|&at| at <= last).map(|at| (at, last)));
        self.entries += gaps.len();
        for (start, last) in gaps {
            self.pieces.insert(start, Piece { last, history: vec![entry] });
        }
        if self.entries > MOST_ENTRIES {
            *self = Timeline { overfull: true, ..Timeline::default() };
        }
    }

    /// Makes `at` the first address of a piece if it is inside one.
    fn cut(&mut self, at: u64) {
        let Some((&start, piece)) = self.pieces.range_mut(..at).next_back() else { return };
        if piece.last < at || start == at {
            return;
        }
        let upper = Piece { last: piece.last, history: piece.history.clone() };
        piece.last = at - 1;
        self.entries += upper.history.len();
        self.pieces.insert(at, upper);
    }

    /// The piece that holds `address` if there is one, and the stretch over
    /// which that answer is the same.
    fn piece(&self, address: u64) -> ((u64, u64), Option<&Piece>) {
        let before = self.pieces.range(..=address).next_back();
        match before {
            Some((&start, piece)) if address <= piece.last => ((start, piece.last), Some(piece)),
            _ => {
                let first = before.map_or(0, |(_, piece)| piece.last.saturating_add(1));
                let next = self.pieces.range(address..).next();
                let last = next.map_or(u64::MAX, |(&start, _)| start - 1);
                ((first, last), None)
            }
        }
    }
}

#[cfg(test)]
mod tests;
