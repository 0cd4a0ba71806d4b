//! Which places of an object are accessed together: in one visit by a thread.

use perfdata::{Pid, Tid};
use rustc_hash::FxHashMap;

/// Places of a type that are told apart: bits of a [`PointMask`].
const MOST_POINTS: usize = 128;
/// Visits of a thread that may go on, and threads.
const MOST_OPEN: usize = 16;
const MOST_THREADS: usize = 4096;
/// Different visits of a type.
const MOST_VISITS: usize = 1 << 14;
/// Samples of a thread on the type after which a visit is over.
const WINDOW: u64 = 32;
/// Lines that phases are told for are no longer, in bytes.
pub(crate) const PHASES: u64 = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PlaceInType {
    /// Bytes from the start.
    pub(crate) offset: u64,
    /// How many are accessed; 0: not known.
    pub(crate) bytes: u64,
}

/// Places of a type, a bit each.
pub(crate) type PointMask = u128;

/// Accesses to the objects of one type, by object and by visit.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectVisits {
    /// What the bits of masks are.
    pub(crate) points: Vec<PlaceInType>,
    by_place: FxHashMap<PlaceInType, usize>,
    open: FxHashMap<Tid, ThreadVisits>,
    pub(crate) visits: FxHashMap<Visit, u64>,
    pub(crate) objects: FxHashMap<ObjectStart, TouchedObject>,
    /// Samples of which there was no room for the place or the object.
    pub(crate) left_out: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectAccess {
    pub(crate) at: PlaceInType,
    /// Where the object begins; None: no data address tells.
    pub(crate) start: Option<u64>,
    pub(crate) pid: Pid,
    pub(crate) tid: Tid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectStart {
    pub(crate) pid: Pid,
    pub(crate) address: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TouchedObject {
    pub(crate) points: PointMask,
    first: Tid,
    /// By more than one thread.
    pub(crate) is_shared: bool,
}

/// What of an object was accessed one soon after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Visit {
    pub(crate) points: PointMask,
    /// Of the object's start the remainder by [`PHASES`].
    pub(crate) phase: Option<u64>,
}

#[derive(Clone, Debug, Default)]
struct ThreadVisits {
    samples: u64,
    open: Vec<OpenVisit>,
}

#[derive(Clone, Copy, Debug)]
struct OpenVisit {
    start: Option<u64>,
    points: PointMask,
    last: u64,
}

impl ObjectVisits {
    /// Takes in an access; `room`: objects that may be kept yet.
    pub(crate) fn add(&mut self, access: ObjectAccess, room: &mut usize) {
        let known = self.points.len();
        let point = match self.by_place.get(&access.at) {
            Some(point) => *point,
            None if known < MOST_POINTS => {
                self.points.push(access.at);
                self.by_place.insert(access.at, known);
                known
            }
            None => {
                self.left_out += 1;
                return;
            }
        };
        let bit: PointMask = 1 << point;
        if let Some(address) = access.start {
            let at = ObjectStart { pid: access.pid, address };
            match self.objects.get_mut(&at) {
                Some(known) => {
                    known.points |= bit;
                    known.is_shared |= known.first != access.tid;
                }
                None if *room > 0 => {
                    *room -= 1;
                    let new = TouchedObject { points: bit, first: access.tid, is_shared: false };
                    self.objects.insert(at, new);
                }
                None => self.left_out += 1,
            }
        }
        if self.open.len() >= MOST_THREADS && !self.open.contains_key(&access.tid) {
            self.finish();
        }
        let thread = self.open.entry(access.tid).or_default();
        let over = thread.visit(access.start, bit);
        over.into_iter().flatten().for_each(|visit| self.close(visit));
    }

    fn close(&mut self, of: OpenVisit) {
        let OpenVisit { start, points, .. } = of;
        let visit = Visit { points, phase: start.map(|start| start % PHASES) };
        if self.visits.len() < MOST_VISITS || self.visits.contains_key(&visit) {
            *self.visits.entry(visit).or_default() += 1;
        }
    }

    /// Nothing follows: visits that may go on are over.
    pub(crate) fn finish(&mut self) {
        for thread in std::mem::take(&mut self.open).into_values() {
            thread.open.into_iter().for_each(|visit| self.close(visit));
        }
    }
}

impl ThreadVisits {
    /// An access within a visit, or the first of one; gives those that are
    /// over by it.
    fn visit(&mut self, start: Option<u64>, bit: PointMask) -> [Option<OpenVisit>; 2] {
        self.samples += 1;
        let last = self.samples;
        let known = self.open.iter().position(|it| it.start == start);
        let mut over = [None, None];
        if let Some(index) = known {
            let it = &mut self.open[index];
            if it.points & bit == 0 && last - it.last <= WINDOW {
                (it.points, it.last) = (it.points | bit, last);
                return over;
            }
            over[0] = Some(self.open.swap_remove(index));
        }
        if self.open.len() >= MOST_OPEN {
            let oldest = (0..self.open.len()).min_by_key(|index| self.open[*index].last);
            over[1] = oldest.map(|index| self.open.swap_remove(index));
        }
        self.open.push(OpenVisit { start, points: bit, last });
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(accesses: &[(u64, Option<u64>)]) -> Vec<(PointMask, Option<u64>, u64)> {
        let mut all = ObjectVisits::default();
        let mut room = 100;
        for (offset, start) in accesses.iter().copied() {
            let at = PlaceInType { offset, bytes: 8 };
            all.add(ObjectAccess { at, start, pid: Pid(1), tid: Tid(1) }, &mut room);
        }
        all.finish();
        let mut told: Vec<_> =
            all.visits.iter().map(|(it, count)| (it.points, it.phase, *count)).collect();
        told.sort_unstable();
        told
    }

    #[test]
    fn what_follows_soon_on_one_object_is_one_visit() {
        let (a, b) = (Some(0x1000), Some(0x10c0));
        assert_eq!(
            visits(&[(0, a), (128, a), (0, b), (128, b)]),
            [(3, Some(0), 1), (3, Some(0xc0), 1)]
        );
        assert_eq!(visits(&[(0, a), (0, b), (128, a), (128, b)]).len(), 2, "one within the other");
        assert_eq!(visits(&[(0, a), (0, a), (128, a)]), [(1, Some(0), 1), (3, Some(0), 1)]);
        assert_eq!(visits(&[(0, None), (128, None), (0, None)]), [(1, None, 1), (3, None, 1)]);
    }

    #[test]
    fn what_follows_late_is_another_visit() {
        let mut accesses = vec![(0, Some(0x1000))];
        accesses.extend((0..WINDOW + 1).map(|number| (0, Some(0x2000 + number % 2 * 64))));
        accesses.push((128, Some(0x1000)));
        let told = visits(&accesses);
        assert!(told.contains(&(1, Some(0), told[0].2)) && told.iter().all(|it| it.0 != 3));
    }

    #[test]
    fn objects_of_several_threads_are_shared() {
        let mut all = ObjectVisits::default();
        let mut room = 1;
        for (start, tid) in [(0, 1), (0, 2), (64, 1)] {
            let at = PlaceInType { offset: 0, bytes: 8 };
            let access = ObjectAccess { at, start: Some(start), pid: Pid(1), tid: Tid(tid) };
            all.add(access, &mut room);
        }
        assert_eq!((all.objects.len(), all.left_out), (1, 1), "no room for a second");
        assert!(all.objects.values().all(|it| it.is_shared));
    }
}
