//! What several processes had at one address over a stretch of time.

use super::{Moment, ObjectMapping, Timelines};
use perfdata::{Pid, Time};
use std::ops::RangeInclusive;

/// Mappings of one process that are looked at for one address and stretch of
/// time: a hostile recording could have each record change them.
const MOST_CHANGES: usize = 1 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessLife {
    /// The first time it was told of; 0 if without a time.
    pub(crate) first: Time,
    /// Its fork, or its first exec, if that was told.
    pub(crate) began: Option<Time>,
    /// It was forked more than once: several processes had its number.
    pub(crate) is_reborn: bool,
}

impl Timelines {
    /// What was told of a process's life. Looks at all that was told of it.
    pub(crate) fn life(&self, pid: Pid) -> ProcessLife {
        let Some(timeline) = self.processes.get(&pid) else { return ProcessLife::default() };
        let beginnings = timeline.beginnings.entries.iter();
        let began = beginnings.clone().map(|(moment, _)| moment.time).min();
        let forks =
            beginnings.filter(|(_, beginning)| matches!(beginning, super::Beginning::Fork(_)));
        let pieces = timeline.pieces.values();
        let mapped =
            pieces.filter_map(|piece| piece.history.entries.iter().map(|it| it.0.time).min());
        ProcessLife {
            first: Time(mapped.chain(began).min().unwrap_or(0)),
            began: began.map(Time),
            is_reborn: forks.count() > 1,
        }
    }

    /// A thread of the process ended. Threads end in any order, and a number
    /// is given again: see [`Timelines::alive`].
    pub(crate) fn exit(&mut self, pid: Pid, time: Time) {
        if self.ends.len() >= self.most && !self.ends.contains_key(&pid) {
            // It counts as alive for ever: what it mapped is looked at where
            // it need not be.
            self.left_out += 1;
            return;
        }
        let end = self.ends.entry(pid).or_insert(time);
        *end = (*end).max(time);
    }

    /// Processes that were told of and had not ended before a span of time, or
    /// began anew within it.
    pub(crate) fn alive(&mut self, span: &RangeInclusive<Time>) -> Vec<Pid> {
        let (from, until) = (*span.start(), *span.end());
        let ends = &self.ends;
        let is_alive = |pid: &Pid, timeline: &mut super::Timeline| {
            let Some(end) = ends.get(pid).filter(|end| **end < from) else { return true };
            let now = Moment { time: until.0, arrival: u64::MAX };
            let (beginning, _) = timeline.beginnings.at(now);
            beginning.is_some_and(|(moment, _)| moment.time > end.0)
        };
        let all = self.processes.iter_mut();
        all.filter_map(|(pid, timeline)| is_alive(pid, timeline).then_some(*pid)).collect()
    }

    /// Whether there may have been processes up to a time that are not kept.
    pub(crate) fn hides_others(&self, until: Time) -> bool {
        self.others_from.is_some_and(|from| from <= until.0)
    }

    /// Every mapping that the process had at `address` at some time of a span,
    /// repeated ones included. None: more than are looked
    /// at, or than were kept.
    pub(crate) fn during(
        &mut self,
        pid: Pid,
        address: u64,
        span: &RangeInclusive<Time>,
    ) -> Option<Vec<(ObjectMapping, Time)>> {
        let (from, until) = (*span.start(), *span.end());
        let (mut mappings, mut time) = (Vec::new(), from);
        for _ in 0..MOST_CHANGES {
            let found = self.find(pid, address, time);
            match found.what {
                Ok(mapping) => mappings.push((mapping, time)),
                Err(super::NoMapping::Overfull) => return None,
                Err(_) => {}
            }
            match found.until.0.checked_add(1) {
                Some(next) if found.until < until => time = Time(next.max(time.0 + 1)),
                _ => return Some(mappings),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObjectId;
    use crate::process::timeline::AddressExtent;

    fn mapping(object: u32) -> ObjectMapping {
        ObjectMapping { object: ObjectId(object), start: 0x1000, offset: 0, executable: true }
    }

    fn objects(timelines: &mut Timelines, pid: i32, from: u64, until: u64) -> Vec<u32> {
        let found = timelines.during(Pid(pid), 0x1010, &(Time(from)..=Time(until))).unwrap();
        found.into_iter().map(|(mapping, _)| mapping.object.0).collect()
    }

    #[test]
    fn all_that_was_there_in_between_is_found() {
        let mut timelines = Timelines::default();
        for (time, object) in [(10, 1), (20, 2), (30, 3)] {
            timelines.exec(Pid(7), Time(time));
            timelines.map(
                Pid(7),
                Time(time + 1),
                AddressExtent { start: 0x1000, length: 0x100 },
                Some(mapping(object)),
            );
        }
        timelines.fork(Pid(8), Pid(7), Time(25));
        assert_eq!(objects(&mut timelines, 7, 0, 10), Vec::<u32>::new());
        assert_eq!(objects(&mut timelines, 7, 12, 19), [1]);
        assert_eq!(objects(&mut timelines, 7, 12, 21), [1, 2]);
        assert_eq!(objects(&mut timelines, 7, 0, 99), [1, 2, 3]);
        assert_eq!(objects(&mut timelines, 8, 26, 99), [2]);
        assert_eq!(objects(&mut timelines, 9, 0, 99), Vec::<u32>::new());
    }

    #[test]
    fn who_ended_before_is_not_alive() {
        let mut timelines = Timelines::default();
        for pid in [1, 2, 3] {
            timelines.exec(Pid(pid), Time(10));
        }
        // Threads of 2 end one after the other, told in another order; the
        // number 3 is given again.
        for (pid, time) in [(1, 20), (2, 40), (2, 20), (3, 20)] {
            timelines.exit(Pid(pid), Time(time));
        }
        timelines.fork(Pid(3), Pid(2), Time(35));
        let mut alive = |from, until| {
            let mut pids = timelines.alive(&(Time(from)..=Time(until)));
            pids.sort();
            pids.into_iter().map(|pid| pid.0).collect::<Vec<_>>()
        };
        assert_eq!(alive(15, 16), [1, 2, 3]);
        assert_eq!(alive(21, 30), [2]);
        assert_eq!(alive(21, 35), [2, 3]);
        assert_eq!(alive(41, 50), [3]);
    }
}
