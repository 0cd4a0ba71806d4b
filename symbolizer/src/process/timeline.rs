//! Which process mapped what, where, when.
//!
//! Records of one process come from the rings of several CPUs, so in any
//! order of time; what is told late must answer as if told in time. Every
//! stretch of addresses therefore keeps the history of what lay over it, and
//! every process the moments at which its address space began anew.

mod alive;

use crate::ObjectId;
use perfdata::{Pid, Time};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Mappings of one process that are kept; a hostile recording could make
/// each overlay cut and copy all earlier ones.
const MOST_ENTRIES: usize = 1 << 20;
/// The same of all processes, some 150 bytes each. A system makes as many in
/// hours; a packed recording of a few megabytes may tell of more than memory
/// holds.
const MOST_OF_ALL: usize = 1 << 21;
/// Address spaces that are looked at for one address: a process's own and
/// its ancestors', from fork to fork without exec. A hostile recording could
/// make every look-up walk through all of them.
const MOST_FORKS: usize = 256;

/// A point in time; what was told first comes first among equals, so that
/// streams without times still work in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Moment {
    time: u64,
    arrival: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AddressExtent {
    pub(crate) start: u64,
    /// Bytes.
    pub(crate) length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectMapping {
    pub(crate) object: ObjectId,
    /// Address of the file's byte `offset`.
    pub(crate) start: u64,
    /// Offset in the file, bytes.
    pub(crate) offset: u64,
    pub(crate) executable: bool,
}

/// An answer, and the addresses and times for which it is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundMapping {
    pub(crate) what: Result<ObjectMapping, NoMapping>,
    pub(crate) first: u64,
    /// Last address, inclusive.
    pub(crate) last: u64,
    pub(crate) from: Time,
    /// Last time, inclusive.
    pub(crate) until: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoMapping {
    /// Nothing was told of the process.
    Process,
    /// Nothing was mapped there.
    Mapping,
    /// More was told than is kept or followed.
    Overfull,
}

#[derive(Debug)]
pub(crate) struct Timelines {
    processes: FxHashMap<Pid, Timeline>,
    /// In all of them, and how many there may be.
    entries: usize,
    most: usize,
    /// There were so many: nothing more is kept, so that what is not known of
    /// a process has one beginning.
    is_full: bool,
    /// What was told since.
    left_out: u64,
    /// The earliest time of what was told of processes of which nothing is
    /// kept.
    others_from: Option<u64>,
    /// Counts what was told.
    arrivals: u64,
    /// The last answer that a process's ancestors gave, and what was told by
    /// then.
    inherited: FxHashMap<Pid, (u64, FoundMapping)>,
    /// When the last thread ended that was told of.
    ends: FxHashMap<Pid, Time>,
}

impl Default for Timelines {
    fn default() -> Timelines {
        Timelines {
            processes: FxHashMap::default(),
            entries: 0,
            most: MOST_OF_ALL,
            is_full: false,
            left_out: 0,
            others_from: None,
            arrivals: 0,
            inherited: FxHashMap::default(),
            ends: FxHashMap::default(),
        }
    }
}

#[derive(Debug, Default)]
struct Timeline {
    /// By first address; disjoint.
    pieces: BTreeMap<u64, Piece>,
    beginnings: History<Beginning>,
    /// In `beginnings` and in all pieces.
    entries: usize,
    overfull: bool,
    /// The earliest time of what was told and not kept: what holds from then
    /// on is not known.
    unknown_from: Option<u64>,
}

#[derive(Clone, Debug)]
struct Piece {
    last: u64,
    /// None where something was unmapped.
    history: History<Option<ObjectMapping>>,
}

/// Values by the moment from which each holds. Told backwards in time, each
/// would push all others aside: so they are sorted when first asked for.
#[derive(Clone, Debug)]
struct History<T> {
    entries: Vec<(Moment, T)>,
    is_unsorted: bool,
}

struct SpaceAnswer {
    what: Result<Option<ObjectMapping>, Beginning>,
    /// Addresses for which it says the same.
    stretch: (u64, u64),
    since: Moment,
    /// Until before what.
    change: Option<Moment>,
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
    /// Addresses show `mapping` from `time` on; none takes it away.
    pub(crate) fn map(
        &mut self,
        pid: Pid,
        time: Time,
        extent: AddressExtent,
        mapping: Option<ObjectMapping>,
    ) {
        let AddressExtent { start, length } = extent;
        let moment = self.moment(time);
        let Some(last) = length.checked_sub(1).map(|more| start.saturating_add(more)) else {
            return;
        };
        self.tell(pid, moment, |timeline| timeline.map(start, last, moment, mapping));
    }

    /// From `time` on the process's address space is a new one.
    pub(crate) fn exec(&mut self, pid: Pid, time: Time) {
        let moment = self.moment(time);
        self.tell(pid, moment, |timeline| timeline.begin(moment, Beginning::Exec));
    }

    /// From `time` on the child's address space is a copy of its parent's.
    pub(crate) fn fork(&mut self, child: Pid, parent: Pid, time: Time) {
        let moment = self.moment(time);
        self.tell(child, moment, |timeline| timeline.begin(moment, Beginning::Fork(parent)));
    }

    /// What was told and not kept because of how much there is.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What may be kept of all processes.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// Keeps what is told of a process, if there is room.
    fn tell(&mut self, pid: Pid, moment: Moment, told: impl FnOnce(&mut Timeline)) {
        if self.is_full {
            self.left_out += 1;
            let from = match self.processes.get_mut(&pid) {
                Some(timeline) => &mut timeline.unknown_from,
                None => &mut self.others_from,
            };
            *from = Some(from.map_or(moment.time, |from| from.min(moment.time)));
            return;
        }
        let timeline = self.processes.entry(pid).or_default();
        let before = timeline.entries;
        told(timeline);
        self.entries = (self.entries + timeline.entries).saturating_sub(before);
        self.is_full = self.entries >= self.most;
    }

    pub(crate) fn find(&mut self, pid: Pid, address: u64, time: Time) -> FoundMapping {
        if let Some((told, found)) = self.inherited.get(&pid)
            && *told == self.arrivals
            && (found.first..=found.last).contains(&address)
            && (found.from..=found.until).contains(&time)
        {
            return *found;
        }
        let (found, generation) = self.walk(pid, address, time);
        if generation > 0 {
            self.inherited.insert(pid, (self.arrivals, found));
        }
        found
    }

    /// The answer, and how many forks back it was found.
    fn walk(&mut self, pid: Pid, address: u64, time: Time) -> (FoundMapping, usize) {
        let mut found = FoundMapping {
            what: Err(NoMapping::Process),
            first: 0,
            last: u64::MAX,
            from: Time(0),
            until: Time(u64::MAX),
        };
        let (mut pid, mut until) = (pid, Moment { time: time.0, arrival: u64::MAX });
        for generation in 0..MOST_FORKS {
            let Some(timeline) = self.processes.get_mut(&pid) else {
                // Or what was told of it had no room.
                let is_hidden = self.others_from.is_some_and(|from| until.time >= from);
                let missing = if is_hidden { NoMapping::Overfull } else { NoMapping::Process };
                if let (0, Some(from)) = (generation, self.others_from) {
                    match is_hidden {
                        true => found.from = Time(from),
                        false => found.until = Time(from - 1),
                    }
                }
                return (FoundMapping { what: Err(missing), ..found }, generation);
            };
            let unknown = timeline.unknown_from.filter(|from| until.time >= *from);
            if timeline.overfull || unknown.is_some() {
                if let (0, false) = (generation, timeline.overfull) {
                    found.from = Time(unknown.unwrap_or_default());
                }
                return (FoundMapping { what: Err(NoMapping::Overfull), ..found }, generation);
            }
            let known_until = timeline.unknown_from.map_or(u64::MAX, |from| from - 1);
            let SpaceAnswer { what, stretch, since, change } = timeline.find(address, until);
            found.first = found.first.max(stretch.0);
            found.last = found.last.min(stretch.1);
            // The address space at the fork does not change any more.
            if generation == 0 {
                found.from = Time(since.time);
                found.until =
                    change.map_or(found.until, |change| Time(change.time.saturating_sub(1)));
                found.until = found.until.min(Time(known_until));
            }
            found.what = Err(NoMapping::Mapping);
            match what {
                Ok(mapping) => {
                    let what = mapping.ok_or(NoMapping::Mapping);
                    return (FoundMapping { what, ..found }, generation);
                }
                Err(Beginning::Exec) => return (found, generation),
                Err(Beginning::Fork(parent)) => {
                    pid = parent;
                    // Strictly before the fork: a cycle of forks told by a
                    // damaged stream ends here.
                    let Some(arrival) = since.arrival.checked_sub(1) else {
                        return (found, generation);
                    };
                    until = Moment { arrival, ..since };
                }
            }
        }
        (FoundMapping { what: Err(NoMapping::Overfull), ..found }, MOST_FORKS)
    }

    fn moment(&mut self, time: Time) -> Moment {
        self.arrivals += 1;
        Moment { time: time.0, arrival: self.arrivals }
    }
}

impl<T> Default for History<T> {
    fn default() -> History<T> {
        History { entries: Vec::new(), is_unsorted: false }
    }
}

impl<T: Copy> History<T> {
    fn push(&mut self, moment: Moment, value: T) {
        self.is_unsorted |= self.entries.last().is_some_and(|(last, _)| *last > moment);
        self.entries.push((moment, value));
    }

    /// What holds at a moment and since when, and when something else does.
    fn at(&mut self, moment: Moment) -> (Option<(Moment, T)>, Option<Moment>) {
        if std::mem::take(&mut self.is_unsorted) {
            self.entries.sort_by_key(|&(moment, _)| moment);
        }
        let told = self.entries.partition_point(|&(other, _)| other <= moment);
        let last = told.checked_sub(1).map(|index| self.entries[index]);
        (last, self.entries.get(told).map(|&(next, _)| next))
    }
}

impl Timeline {
    fn begin(&mut self, moment: Moment, beginning: Beginning) {
        if !self.overfull {
            self.beginnings.push(moment, beginning);
            self.count(1);
        }
    }

    fn map(&mut self, first: u64, last: u64, moment: Moment, mapping: Option<ObjectMapping>) {
        if self.overfull {
            return;
        }
        self.cut(first);
        if let Some(next) = last.checked_add(1) {
            self.cut(next);
        }
        let (mut gaps, mut more) = (Vec::new(), 0);
        let mut at = Some(first);
        for (&start, piece) in self.pieces.range_mut(first..=last) {
            if let Some(gap) = at.filter(|&at| at < start) {
                gaps.push((gap, start - 1));
            }
            piece.history.push(moment, mapping);
            more += 1;
            at = piece.last.checked_add(1);
        }
        gaps.extend(at.filter(|&at| at <= last).map(|at| (at, last)));
        more += gaps.len();
        for (start, last) in gaps {
            // Most have one entry for ever: with room for no more.
            let history = History { entries: vec![(moment, mapping)], is_unsorted: false };
            self.pieces.insert(start, Piece { last, history });
        }
        self.count(more);
    }

    fn count(&mut self, more: usize) {
        self.entries += more;
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
        self.entries += upper.history.entries.len();
        self.pieces.insert(at, upper);
    }

    /// What lies at `address` at a moment, or how the address space began
    /// that has nothing there.
    fn find(&mut self, address: u64, moment: Moment) -> SpaceAnswer {
        let (beginning, next_beginning) = self.beginnings.at(moment);
        // What nothing was told of began empty.
        let floor = beginning.map_or(Moment { time: 0, arrival: 0 }, |(moment, _)| moment);
        let (stretch, piece) = self.piece(address);
        let (entry, next_entry) = piece.map_or((None, None), |piece| piece.history.at(moment));
        let change = [next_beginning, next_entry].into_iter().flatten().min();
        let (what, since) = match entry.filter(|(moment, _)| *moment >= floor) {
            Some((since, mapping)) => (Ok(mapping), since),
            None => (Err(beginning.map_or(Beginning::Exec, |(_, beginning)| beginning)), floor),
        };
        SpaceAnswer { what, stretch, since, change }
    }

    /// The piece that holds `address` if there is one, and the stretch over
    /// which that answer is the same.
    fn piece(&mut self, address: u64) -> ((u64, u64), Option<&mut Piece>) {
        let next = self.pieces.range(address..).next();
        let ceiling = next.map_or(u64::MAX, |(&start, _)| start.saturating_sub(1));
        match self.pieces.range_mut(..=address).next_back() {
            Some((&start, piece)) if address <= piece.last => ((start, piece.last), Some(piece)),
            before => {
                let first = before.map_or(0, |(_, piece)| piece.last.saturating_add(1));
                ((first, ceiling), None)
            }
        }
    }
}

#[cfg(test)]
mod tests;
