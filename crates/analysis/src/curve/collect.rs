//! Accesses in order, for what caches of other sizes would miss of them.

use crate::collect::collector::{Collector, NewEvent};
use crate::collect::event::says;
use crate::collect::sampled::CountedSample;
use crate::curve::curve_subject::CurveSubject;
use crate::curve::miss_curve::DistanceSums;
use crate::curve::stack_distances::StackDistances;
use crate::error::Error;
use crate::name::lookup::Lookup;
use crate::query::needs::Needs;
use perfdata::attr::SamplingRate;
use perfdata::data_src::{Operation, Snoop};
use perfdata::stream::EventDescription;
use perfdata::{MissClass, Pid, Tid};
use rustc_hash::FxHashMap;

/// Accesses that are kept, of all events: 24 bytes each.
pub(crate) const MOST_ACCESSES: usize = 1 << 22;

/// Bytes of a line of the modelled caches.
pub(crate) const LINE: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CurveAccess {
    pub(crate) time: u64,
    pub(crate) line: u64,
    pub(crate) tid: Tid,
    pub(crate) writes: bool,
    /// The line was taken away by another thread since, as the sample tells.
    pub(crate) is_taken: bool,
}

#[derive(Debug, Default)]
pub(crate) struct CurveStreams {
    events: FxHashMap<usize, EventAccesses>,
    kept: usize,
}

#[derive(Debug, Default)]
struct EventAccesses {
    of: FxHashMap<Pid, Vec<CurveAccess>>,
    left_out: u64,
}

impl CurveStreams {
    /// Accesses of an event that there was no room for.
    pub(crate) fn left_out(&self, event: usize) -> u64 {
        self.events.get(&event).map_or(0, |of| of.left_out)
    }

    /// What the accesses of an event come to, in caches that each thread has one
    /// of, or that all threads of a process share. They are gone then.
    pub(crate) fn distances(&mut self, event: usize, is_shared: bool) -> DistanceSums {
        let mut sums = DistanceSums::default();
        let Some(of) = self.events.remove(&event) else { return sums };
        for mut accesses in of.of.into_values() {
            // Rings of several CPUs are emptied one after the other.
            accesses.sort_by_key(|it| it.time);
            match is_shared {
                true => {
                    accesses.iter_mut().for_each(|it| *it = it.of_one_thread());
                    add_process(&accesses, &mut sums);
                }
                false => add_process(&accesses, &mut sums),
            }
        }
        sums
    }
}

impl Collector for CurveStreams {
    fn needs(&self) -> Needs {
        Needs::ACCESS | Needs::CLASS
    }

    fn learn(&mut self, new: &NewEvent<'_>) {
        if has_each_access(new.description) && CurveSubject::of_event(&new.event.name).is_ok() {
            self.events.entry(new.event.leader).or_default();
        }
    }

    fn take(&mut self, sample: &mut CountedSample<'_>, _: &mut Lookup) -> Result<(), Error> {
        let Some(of) = self.events.get_mut(&sample.event) else { return Ok(()) };
        let Ok(address) = sample.address() else { return Ok(()) };
        if self.kept >= MOST_ACCESSES {
            of.left_out += 1;
            return Ok(());
        }
        self.kept += 1;
        let source = sample.words.data_src;
        let is_taken = match sample.words.class {
            Some(class) => class == MissClass::Sharing,
            None => source.is_some_and(|it| it.snoop().contains(Snoop::HITM)),
        };
        of.of.entry(sample.held.pid()).or_default().push(CurveAccess {
            time: sample.held.time.0,
            line: address / LINE,
            tid: sample.held.tid(),
            writes: source.is_some_and(|it| it.operation().contains(Operation::STORE)),
            is_taken,
        });
        Ok(())
    }
}

/// Whether a recording's model made a sample of each of an event's accesses.
fn has_each_access(event: &EventDescription) -> bool {
    let is_each = event.attr.sampling() == SamplingRate::Period(1);
    is_each && says(event, "source") == Some("emulated") && says(event, "burst").is_none()
}

impl CurveAccess {
    /// As if there were one thread.
    fn of_one_thread(self) -> CurveAccess {
        CurveAccess { tid: Tid(0), is_taken: false, ..self }
    }
}

#[derive(Debug)]
struct ThreadAccesses {
    distances: StackDistances,
    last: Option<u64>,
    /// By line: when it was accessed last, where other threads may write it.
    times: FxHashMap<u64, u64>,
}

#[derive(Clone, Copy, Debug)]
struct LastWrites {
    tid: Tid,
    at: u64,
    others: Option<u64>,
}

impl LastWrites {
    fn add(&mut self, access: CurveAccess) {
        let others = if self.tid == access.tid { self.others } else { Some(self.at) };
        *self = LastWrites { tid: access.tid, at: access.time, others };
    }

    fn by_others(self, tid: Tid) -> Option<u64> {
        if self.tid == tid { self.others } else { Some(self.at) }
    }
}

/// Adds the accesses of a process, by time.
fn add_process(accesses: &[CurveAccess], sums: &mut DistanceSums) {
    let mut counts: FxHashMap<Tid, usize> = FxHashMap::default();
    accesses.iter().for_each(|access| *counts.entry(access.tid).or_default() += 1);
    let has_others = counts.len() > 1;
    let mut writes: FxHashMap<u64, LastWrites> = FxHashMap::default();
    let mut threads: FxHashMap<Tid, ThreadAccesses> = FxHashMap::default();
    for access in accesses {
        let thread = threads.entry(access.tid).or_insert_with(|| ThreadAccesses {
            distances: StackDistances::new(counts.get(&access.tid).copied().unwrap_or(0)),
            last: None,
            times: FxHashMap::default(),
        });
        let by_others = writes.get(&access.line).and_then(|it| it.by_others(access.tid));
        let before = match has_others {
            true => thread.times.insert(access.line, access.time),
            false => None,
        };
        let was_written = before.zip(by_others).is_some_and(|(before, wrote)| wrote >= before);
        match thread.next(access.line) {
            None => sums.first += 1,
            Some(_) if access.is_taken || was_written => sums.taken += 1,
            Some(distance) => sums.add(distance),
        }
        if has_others && access.writes {
            let first = LastWrites { tid: access.tid, at: access.time, others: None };
            writes.entry(access.line).or_insert(first).add(*access);
        }
    }
}

impl ThreadAccesses {
    /// The distinct lines since the last access to this one.
    fn next(&mut self, line: u64) -> Option<u64> {
        // Most accesses are to the line of the one before: nothing moves.
        match self.last.replace(line) == Some(line) {
            true => Some(1),
            false => self.distances.next(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::miss_curve::CurveSizes;

    fn access(time: u64, tid: i32, line: u64, writes: bool) -> CurveAccess {
        CurveAccess { time, line, tid: Tid(tid), writes, is_taken: false }
    }

    fn told(accesses: &[CurveAccess], is_shared: bool) -> [u64; 4] {
        let of = accesses.iter().fold(EventAccesses::default(), |mut of, access| {
            of.of.entry(Pid(1)).or_default().push(*access);
            of
        });
        let events = FxHashMap::from_iter([(3, of)]);
        let mut streams = CurveStreams { events, kept: 0 };
        let sums = streams.distances(3, is_shared);
        let curve = sums.curve(&CurveSizes { line: LINE, from: 1, besides: &[], fits: 10 });
        [curve.first, curve.taken, curve.again, curve.points[0].left]
    }

    #[test]
    fn each_thread_has_a_cache_of_its_own_or_all_have_one() {
        let reads = [
            access(1, 1, 7, false),
            access(2, 2, 8, false),
            access(3, 1, 7, false),
            access(4, 2, 8, false),
        ];
        assert_eq!(told(&reads, false), [2, 0, 2, 0]);
        assert_eq!(told(&reads, true), [2, 0, 2, 2], "they are in each other's way");
        let mut late = reads;
        late.reverse();
        assert_eq!(told(&late, true), [2, 0, 2, 2], "time decides");
    }

    #[test]
    fn what_another_thread_wrote_since_is_missed_at_any_size() {
        let written = [
            access(1, 1, 7, false),
            access(2, 2, 7, true),
            access(3, 1, 7, false),
            access(4, 1, 7, true),
            access(5, 1, 7, false),
            access(6, 2, 7, false),
        ];
        assert_eq!(told(&written, false), [2, 2, 2, 0]);
        assert_eq!(told(&written, true), [1, 0, 5, 0], "a cache of all has it");
        let mut told_so = [access(1, 1, 7, false), access(2, 1, 7, false)];
        told_so[1].is_taken = true;
        assert_eq!(told(&told_so, false), [1, 1, 0, 0]);
    }
}
