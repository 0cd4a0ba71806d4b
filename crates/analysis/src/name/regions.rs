//! Regions that threads are in, over time.
//!
//! Marks, forks and execs may come in any order within a round, so nothing is
//! concluded before a region is asked for.

mod paths;
#[cfg(test)]
mod tests;

use crate::query::glob::Glob;
pub use paths::RegionPath;
use paths::RegionPaths;
use perfdata::{Misc, RegionMark, RegionSide, SampleId, SidebandRecord, Tid, Time};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Marks kept of all threads, some 40 bytes each. Old ones go once no sample
/// that waits can ask for them; one thread that keeps more loses its oldest.
const MOST_MARKS: usize = 1 << 21;
/// Marks after which it is worth looking for old ones.
const MANY: usize = 1 << 16;
/// Forks that are followed to find what a process began in.
const GENERATIONS: u32 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegionStep {
    Begin(u32),
    /// Of the innermost of this name; None: of the innermost of all.
    End(Option<u32>),
    /// A process begins where its parent's thread was.
    Fork(Tid),
    /// A thread, or a program after exec, begins in none.
    Clear,
}

#[derive(Clone, Copy, Debug)]
struct TimedStep {
    time: Time,
    step: RegionStep,
}

/// The steps of one thread, oldest first once they are sorted.
#[derive(Debug, Default)]
struct RegionTimeline {
    steps: Vec<TimedStep>,
    /// Where the thread is after each of the first steps.
    after: Vec<RegionPath>,
    /// Older steps were let go.
    is_cut: bool,
    unsorted: bool,
}

impl RegionTimeline {
    fn add(&mut self, timed: TimedStep) {
        let late = self.steps.last().is_some_and(|last| last.time > timed.time);
        self.unsorted |= late;
        if late {
            let same = self.steps.partition_point(|step| step.time <= timed.time);
            self.after.truncate(same);
        }
        self.steps.push(timed);
    }

    fn sort(&mut self) {
        if self.unsorted {
            // Stable: what one thread marks at one time stays in its order.
            self.steps.sort_by_key(|step| step.time);
            self.unsorted = false;
        }
    }

    /// Lets go of steps before the last one up to `time`: how many.
    fn forget(&mut self, time: Time) -> usize {
        self.sort();
        let later = self.steps.partition_point(|step| step.time <= time);
        let old = later.saturating_sub(1).min(self.after.len().saturating_sub(1));
        self.steps.drain(..old);
        self.after.drain(..old);
        self.is_cut |= old > 0;
        old
    }
}

/// The regions of all threads.
#[derive(Debug, Default)]
pub struct Regions {
    timelines: FxHashMap<Tid, RegionTimeline>,
    paths: RegionPaths,
    /// In all timelines.
    kept: usize,
    /// As many were kept when old ones were looked for last.
    looked: usize,
    /// Marks that found no room.
    left_out: u64,
    /// Ends of regions that the thread was not in.
    unmatched: u64,
}

impl Regions {
    /// Takes in a begin or an end.
    pub fn mark(&mut self, mark: &RegionMark<'_>) {
        let step = match mark.side {
            RegionSide::Begin => RegionStep::Begin(self.paths.name(mark.name)),
            RegionSide::End if mark.name.is_empty() => RegionStep::End(None),
            RegionSide::End => RegionStep::End(Some(self.paths.name(mark.name))),
        };
        self.add(mark.task.tid, TimedStep { time: mark.time, step });
    }

    /// Takes in forks and execs; other records tell nothing of regions.
    pub fn side(&mut self, misc: Misc, record: &SidebandRecord<'_>, id: &SampleId) {
        let (tid, time, step) = match record {
            // The trailer has the time also where old kernels wrote none.
            SidebandRecord::Fork { task, parent, time } if task.pid == parent.pid => {
                (task.tid, id.time.unwrap_or(*time), RegionStep::Clear)
            }
            SidebandRecord::Fork { task, parent, time } => {
                (task.tid, id.time.unwrap_or(*time), RegionStep::Fork(parent.tid))
            }
            SidebandRecord::Comm { task, .. } if misc.0 & Misc::COMM_EXEC.0 != 0 => {
                (task.tid, id.time.unwrap_or_default(), RegionStep::Clear)
            }
            _ => return,
        };
        // Also of whom nothing is known yet: marks of that time may come later.
        self.add(tid, TimedStep { time, step });
    }

    fn add(&mut self, tid: Tid, timed: TimedStep) {
        let timeline = self.timelines.entry(tid).or_default();
        if self.kept >= MOST_MARKS {
            let half = timeline.steps.len() / 2;
            let time = timeline.steps.get(half).map_or(Time(0), |step| step.time);
            let old = timeline.forget(time);
            self.kept -= old;
            self.left_out += old.max(1) as u64;
            if old == 0 {
                timeline.is_cut = true;
                return;
            }
        }
        self.kept += 1;
        timeline.add(timed);
    }

    /// No sample before `time` will be asked for any more.
    pub(crate) fn forget(&mut self, time: Time) {
        if self.kept < self.looked.saturating_add(MANY) {
            return;
        }
        for timeline in self.timelines.values_mut() {
            self.kept -= timeline.forget(time);
        }
        self.looked = self.kept;
    }

    /// The regions that a thread was in at a time.
    pub fn at(&mut self, tid: Tid, time: Time) -> RegionPath {
        self.walk(tid, time, GENERATIONS)
    }

    fn walk(&mut self, tid: Tid, time: Time, generations: u32) -> RegionPath {
        let Some(timeline) = self.timelines.get_mut(&tid) else { return RegionPath::NONE };
        timeline.sort();
        let up_to = timeline.steps.partition_point(|step| step.time <= time);
        let Some(last) = up_to.checked_sub(1) else {
            return if timeline.is_cut { RegionPath::NOT_KEPT } else { RegionPath::NONE };
        };
        if let Some(path) = timeline.after.get(last) {
            return *path;
        }
        // Away meanwhile: who is forked of itself in a circle finds nothing.
        let mut own = std::mem::take(timeline);
        for timed in &own.steps[own.after.len()..up_to] {
            let before = own.after.last().copied().unwrap_or_default();
            let after = match timed.step {
                RegionStep::Begin(name) => self.paths.inside(before, name),
                RegionStep::End(name) => self.paths.without(before, name).unwrap_or_else(|| {
                    self.unmatched += 1;
                    before
                }),
                RegionStep::Fork(_) if generations == 0 => RegionPath::NOT_KEPT,
                RegionStep::Fork(parent) => self.walk(parent, timed.time, generations - 1),
                RegionStep::Clear => RegionPath::NONE,
            };
            own.after.push(after);
        }
        let path = own.after.last().copied().unwrap_or_default();
        if let Some(timeline) = self.timelines.get_mut(&tid) {
            *timeline = own;
        }
        path
    }

    /// The regions of a path as they are shown: `outer/inner`.
    pub fn text(&self, path: RegionPath) -> Arc<str> {
        let mut names = self.paths.names(path);
        names.reverse();
        names.join("/").into()
    }

    /// Their names, innermost first.
    /// Whether a pattern names a region of a path, or the whole of it.
    pub(crate) fn is_in(&self, path: RegionPath, glob: &Glob) -> bool {
        let mut names = self.names(path).into_iter();
        names.any(|name| glob.matches(&name)) || glob.matches(&self.text(path))
    }

    fn names(&self, path: RegionPath) -> Vec<Arc<str>> {
        self.paths.names(path)
    }

    pub(crate) fn notes(&self) -> [Option<String>; 2] {
        let left_out = (self.left_out > 0).then(|| {
            format!(
                "{} marks of regions were not kept: there are more than {MOST_MARKS}",
                self.left_out
            )
        });
        let unmatched = (self.unmatched > 0).then(|| {
            format!("{} ends of regions are of none that its thread was in", self.unmatched)
        });
        [left_out, unmatched]
    }
}
