//! Command names of threads, over time.
//!
//! Records may come in any order, so nothing is concluded before a name is
//! asked for: a thread keeps the times at which it got a name, and at which
//! it was forked and took its parent's. Whoever takes records in order, of a
//! recording without times too, gives their places in it for times.

#[cfg(test)]
mod tests {
    //! Names through fork, exec and thread naming, in any order of records.

    use super::{Comms, STEPS, STEPS_A_RECORD};
    use perfdata::{Pid, SampleId, SidebandRecord, Task, Tid, Time};

    fn task(pid: i32, tid: i32) -> Task {
        Task { pid: Pid(pid), tid: Tid(tid) }
    }

    fn at(time: u64) -> SampleId {
        SampleId { time: Some(Time(time)), ..SampleId::default() }
    }

    fn name(tid: i32, time: u64, name: &'static str) -> (SidebandRecord<'static>, SampleId) {
        (SidebandRecord::Comm { task: task(tid, tid), name: name.as_bytes() }, at(time))
    }

    fn fork(child: i32, parent: i32, time: u64) -> (SidebandRecord<'static>, SampleId) {
        let (task, parent) = (task(child, child), task(parent, parent));
        (SidebandRecord::Fork { task, parent, time: Time(time) }, at(time))
    }

    fn comms(records: &[(SidebandRecord<'_>, SampleId)]) -> Comms {
        let mut comms = Comms::default();
        for (record, id) in records {
            comms.side(record, id);
        }
        comms
    }

    fn text(comms: &mut Comms, tid: i32, time: u64) -> String {
        let comm = comms.at(Tid(tid), Time(time));
        comms.text(comm).to_string()
    }

    #[test]
    fn a_child_has_its_parents_name_until_it_execs() {
        let records =
            [name(10, 5, "sh"), fork(11, 10, 20), name(11, 30, "make"), name(10, 25, "bash")];
        let mut backwards = records.clone();
        backwards.reverse();
        for mut comms in [comms(&records), comms(&backwards)] {
            assert_eq!(text(&mut comms, 10, 4), ":10");
            assert_eq!(text(&mut comms, 10, 5), "sh");
            assert_eq!(text(&mut comms, 11, 19), ":11");
            assert_eq!(text(&mut comms, 11, 20), "sh");
            // The parent's later name is not the child's.
            assert_eq!(text(&mut comms, 11, 29), "sh");
            assert_eq!(text(&mut comms, 11, 30), "make");
            assert_eq!(text(&mut comms, 10, 30), "bash");
        }
    }

    #[test]
    fn who_takes_records_in_order_is_answered_between_them() {
        let mut comms = Comms::default();
        let asked = |comms: &mut Comms, tid, time| {
            let comm = comms.at(Tid(tid), Time(time));
            comms.name(comm).map(<[u8]>::to_vec)
        };
        comms.named(Tid(1), Time(1), b"sh");
        comms.forked(Tid(2), Time(2), Tid(1));
        comms.forked(Tid(1), Time(3), Tid(1));
        assert_eq!(asked(&mut comms, 2, 3), Some(b"sh".to_vec()));
        comms.named(Tid(1), Time(4), b"m\xffke");
        assert_eq!(asked(&mut comms, 2, 4), Some(b"sh".to_vec()), "its parent's of then");
        assert_eq!(asked(&mut comms, 1, 4), Some(b"m\xffke".to_vec()), "as it was recorded");
        comms.forked(Tid(2), Time(5), Tid(9));
        assert_eq!(
            asked(&mut comms, 2, 5),
            None,
            "its maker may have had another than its process"
        );
        comms.forked(Tid(2), Time(6), Tid(0));
        assert_eq!(asked(&mut comms, 2, 6), Some(b"swapper".to_vec()));
    }

    #[test]
    fn a_number_used_again_is_another_thread() {
        let mut comms =
            comms(&[name(7, 1, "old"), name(9, 1, "parent"), fork(7, 9, 50), name(7, 60, "new")]);
        assert_eq!(text(&mut comms, 7, 49), "old");
        assert_eq!(text(&mut comms, 7, 55), "parent");
        assert_eq!(text(&mut comms, 7, 60), "new");
    }

    #[test]
    fn synthesized_names_win_over_forks_of_the_same_time() {
        for records in
            [[name(3, 0, "kthreadd"), fork(3, 1, 0)], [fork(3, 1, 0), name(3, 0, "kthreadd")]]
        {
            assert_eq!(text(&mut comms(&records), 3, 9), "kthreadd");
        }
    }

    #[test]
    fn the_unnamed_print_as_perf_does() {
        let mut comms = comms(&[fork(8, 0, 5)]);
        assert_eq!(text(&mut comms, 0, 5), "swapper");
        assert_eq!(text(&mut comms, 8, 6), "swapper");
        assert_eq!(text(&mut comms, 12, 5), ":12");
        assert_eq!(text(&mut comms, -1, 5), ":-1");
    }

    #[test]
    fn circles_of_forks_end() {
        let mut comms = comms(&[fork(1, 2, 5), fork(2, 1, 5), fork(3, 3, 5)]);
        assert_eq!(text(&mut comms, 1, 9), ":1");
        assert_eq!(text(&mut comms, 3, 9), ":3");
    }

    #[test]
    fn long_lines_of_forks_keep_the_name() {
        let mut records = vec![name(1, 0, "first")];
        records.extend((1..9000).map(|tid| fork(tid + 1, tid, u64::from(tid.unsigned_abs()))));
        assert_eq!(text(&mut comms(&records), 9000, 50_000), "first");
    }

    #[test]
    fn the_last_of_names_of_one_time_counts() {
        let mut comms =
            comms(&[name(1, 0, "z"), name(1, 0, "a"), name(2, 0, "a"), name(2, 0, "z")]);
        assert_eq!((text(&mut comms, 1, 5), text(&mut comms, 2, 5)), ("a".into(), "z".into()));
        // A late one, and one of before it.
        for (record, id) in [name(1, 9, "later"), name(1, 0, "z")] {
            comms.side(&record, &id);
        }
        assert_eq!((text(&mut comms, 1, 5), text(&mut comms, 1, 9)), ("z".into(), "later".into()));
    }

    #[test]
    fn what_was_found_is_found_anew_after_a_late_record() {
        let mut comms = comms(&[fork(2, 1, 10), fork(3, 2, 20), name(9, 50, "other")]);
        assert_eq!((text(&mut comms, 3, 30), text(&mut comms, 2, 30)), (":3".into(), ":2".into()));
        for (time, late) in [(15, "a"), (5, "b"), (10, "c")] {
            let (record, id) = name(1, time, late);
            comms.side(&record, &id);
            let expected = if time == 15 { ":3" } else { late };
            assert_eq!(text(&mut comms, 3, 30), expected);
        }
        assert_eq!(text(&mut comms, 1, 30), "a");
    }

    #[test]
    fn a_long_line_is_not_walked_for_each_sample() {
        // Unnamed: each walk goes to the end.
        let records: Vec<_> = (1..20_000).map(|tid| fork(tid + 1, tid, 1)).collect();
        let mut comms = comms(&records);
        for time in 0..20_000 {
            assert_eq!(text(&mut comms, 20_000, 2 + time), ":20000");
            assert_eq!(text(&mut comms, 19_999, 2 + time), ":19999");
        }
        let spent = STEPS + STEPS_A_RECORD * 19_999 - comms.steps;
        assert_eq!(spent, 19_999);
    }

    #[test]
    fn a_hostile_order_of_records_does_not_take_for_ever() {
        let records: Vec<_> = (1..20_000).map(|tid| fork(tid + 1, tid, 1)).collect();
        let mut comms = comms(&records);
        for number in 0..20_000_u64 {
            let (record, id) = name(30_000, 0, "x");
            comms.side(&record, &id);
            assert_eq!(text(&mut comms, 20_000, 2 + number), ":20000");
        }
        // 400 million to walk all of them each time.
        assert!(comms.steps <= STEPS_A_RECORD, "{} steps of {STEPS} are left", comms.steps);
    }

    fn small(most_changes: usize) -> Comms {
        Comms { most_changes, ..Comms::default() }
    }

    #[test]
    fn threads_beyond_the_room_have_no_name_and_that_is_told() {
        let mut comms = small(3);
        for tid in 1..=5 {
            let (record, id) = name(tid, 1, "own");
            comms.side(&record, &id);
        }
        let named: Vec<_> = (1..=5).map(|tid| text(&mut comms, tid, 2)).collect();
        assert_eq!(named, ["own", "own", "own", ":4", ":5"]);
        assert!(comms.note().is_some_and(|note| note.starts_with("2 names and forks")));
        assert_eq!(small(3).note(), None);
    }

    #[test]
    fn a_thread_that_is_renamed_without_room_never_has_a_name_of_before() {
        let mut comms = small(4);
        for (tid, time, new) in [(1, 1, "a"), (2, 1, "b"), (2, 2, "c"), (2, 3, "d")] {
            let (record, id) = name(tid, time, new);
            comms.side(&record, &id);
        }
        for (time, new) in [(5, "e"), (6, "f"), (7, "g"), (8, "h")] {
            for tid in [1, 2] {
                let (record, id) = name(tid, time, new);
                comms.side(&record, &id);
                assert_eq!(text(&mut comms, tid, time), new);
            }
        }
        let kept: usize = comms.timelines.values().map(|it| it.changes.len()).sum();
        assert_eq!(kept, comms.changes);
        assert!(kept <= 4, "{kept}");
        // What was forgotten is no name, and no other's.
        assert_eq!(text(&mut comms, 1, 1), ":1");
    }

    #[test]
    fn a_name_of_no_command_is_not_kept() {
        let mut comms = Comms::default();
        let long = "x".repeat(300);
        for (time, name) in [(1, "first"), (2, &long)] {
            let record = SidebandRecord::Comm { task: task(1, 1), name: name.as_bytes() };
            comms.side(&record, &at(time));
        }
        assert_eq!((text(&mut comms, 1, 1), text(&mut comms, 1, 2)), ("first".into(), ":1".into()));
        assert!(comms.note().is_some());
    }

    /// Numbers differ from run to run, the order does not.
    #[test]
    fn a_thread_has_a_place_in_the_order_of_their_begin() {
        let places = |first: i32| {
            let records =
                [fork(first + 7, first, 5), fork(first + 2, first, 9), name(first, 1, "run")];
            let comms = comms(&records);
            [0, 7, 2, 3].map(|of| comms.place(Tid(first + of)))
        };
        assert_eq!(places(100), [Some(1), Some(2), Some(3), None]);
        assert_eq!(places(200), places(100));
    }
}

use crate::name::names::NumberedNames;
use perfdata::{SampleId, SidebandRecord, Tid, Time};
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
    Name(u32),
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
    pub(crate) fn side(&mut self, record: &SidebandRecord<'_>, id: &SampleId) {
        match record {
            SidebandRecord::Comm { task, name } => {
                self.named(task.tid, id.time.unwrap_or_default(), name);
            }
            // The trailer has the time also where old kernels wrote none
            // into the body; both are of the same clock.
            SidebandRecord::Fork { task, parent, time } => {
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
