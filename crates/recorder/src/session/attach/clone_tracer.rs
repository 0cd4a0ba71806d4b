//! The tracer: seizes every thread, keeps clones halted until their events
//! are in order.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use emulator::ptrace::{self, TraceeStop};
use perfdata::Tid;

use super::{AttachGaps, AttachedEvents, TargetProcess};
use crate::session::AttachError;
use crate::session::attach::task::{self, TaskState};
use crate::session::closed_event_totals::ClosedEventTotals;
use crate::session::event_set::EventSet;
use crate::session::opener::Opener;

/// Clones, forks and execs stop a task, and what it makes is watched too.
const STOPS: i32 = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC;
/// A task that has run so long since is taken to be out of any clone that it
/// was in: copy_process() takes tens of microseconds for a thread, and about
/// a millisecond for a process of some hundred MiB. Nanoseconds.
const LONG_ENOUGH: u64 = 3_000_000;
/// Between two looks at tasks that are not proven yet.
const PAUSE: Duration = Duration::from_micros(100);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StopState {
    #[default]
    Runs,
    /// At the end of the clone that made `child`.
    Cloned { child: i32 },
    /// Before its first instruction.
    NewTask,
}

#[derive(Debug, Default)]
struct Tracee {
    stop_state: StopState,
    events: Option<EventSet>,
    /// Time on CPU when it was seized, or when its events were complete.
    since: Option<u64>,
    /// It cannot be inside a clone that began before that.
    proven: bool,
    /// It is left in its group's stop, and runs nothing before it reports
    /// again.
    stopped: bool,
    /// Its birth has been dealt with; further traps mean nothing.
    settled: bool,
}

pub(super) struct CloneTracer<'t> {
    target: &'t TargetProcess,
    /// Of the present phase.
    deadline: Instant,
    tracees: BTreeMap<i32, Tracee>,
    /// Events of tasks that ended, on which events of children hang.
    ended: Vec<EventSet>,
    closed_totals: ClosedEventTotals,
    /// Threads that were listed and not seized when time was up.
    unseized: usize,
    /// Events are being opened: a clone must be put in order.
    opening: bool,
    /// Events that are opened now are to count at once.
    enabled: bool,
}

impl<'t> CloneTracer<'t> {
    pub(super) fn new(target: &'t TargetProcess) -> CloneTracer<'t> {
        CloneTracer {
            target,
            deadline: Instant::now() + target.attach_budget.seize,
            tracees: BTreeMap::new(),
            ended: Vec::new(),
            closed_totals: ClosedEventTotals::default(),
            unseized: 0,
            opening: false,
            enabled: false,
        }
    }

    /// None: the target may not be traced.
    pub(super) fn run(
        mut self,
        opener: &mut Opener<'_>,
    ) -> Result<Option<AttachedEvents>, AttachError> {
        if !self.seize_all(opener)? {
            return Ok(None);
        }
        self.opening = true;
        self.deadline = Instant::now() + self.target.attach_budget.open;
        self.open_all(opener)?;
        self.enable_all(opener)?;
        self.deadline = Instant::now() + self.target.attach_budget.seize;
        self.wait_until_proven(opener)?;
        let settled = || self.tracees.values().filter(|t| t.settled);
        let unopened = self.unseized + settled().filter(|t| t.events.is_none()).count();
        let unproven = settled().filter(|t| t.events.is_some() && !t.proven && !t.stopped).count();
        let open = self.tracees.into_values().filter_map(|tracee| tracee.events);
        let sets = open.chain(self.ended).collect();
        let gaps = AttachGaps {
            untraced: false,
            unproven,
            unopened,
            attach_budget: self.target.attach_budget,
        };
        Ok(Some(AttachedEvents { sets, closed_totals: self.closed_totals, gaps }))
    }

    /// Seizes until a whole scan finds nothing that was not seized before
    /// it; a thread made by a clone that began before its parent was seized
    /// is listed by then, as every parent has been waited for.
    fn seize_all(&mut self, opener: &mut Opener<'_>) -> Result<bool, AttachError> {
        loop {
            let mut fresh = false;
            for tid in self.target.threads()? {
                if self.tracees.contains_key(&tid) {
                    continue;
                }
                match self.seize(tid)? {
                    Seized::Yes => fresh = true,
                    Seized::NewTask | Seized::Gone => {}
                    Seized::Refused => return Ok(false),
                }
            }
            self.wait_until_proven(opener)?;
            if !fresh {
                return Ok(true);
            }
            if self.is_past_deadline() {
                self.unseized = self.unseized_threads()?;
                return Ok(true);
            }
        }
    }

    fn unseized_threads(&self) -> Result<usize, AttachError> {
        let mut count = 0;
        for tid in self.target.threads()? {
            let known = self.tracees.contains_key(&tid);
            let is_unseized = |state: TaskState| !state.dead && state.tracer != tracer();
            count += usize::from(!known && self.look(tid)?.is_some_and(is_unseized));
        }
        Ok(count)
    }

    fn seize(&mut self, tid: i32) -> Result<Seized, AttachError> {
        let error = match ptrace::seize(tid, STOPS) {
            Ok(()) => {
                let since = task::time_on_cpu(&self.target.proc, tid);
                self.tracees.insert(tid, Tracee { since, settled: true, ..Tracee::default() });
                return Ok(Seized::Yes);
            }
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(Seized::Gone),
            Some(libc::EPERM | libc::EACCES) => match self.look(tid)? {
                None => Ok(Seized::Gone),
                Some(state) if state.dead => Ok(Seized::Gone),
                // Made by a tracee of ours; its report is still to come.
                Some(state) if state.tracer == tracer() => {
                    self.tracees.entry(tid).or_default();
                    Ok(Seized::NewTask)
                }
                Some(_) => Ok(Seized::Refused),
            },
            _ => Err(self.error(error)),
        }
    }

    /// Opens the events of each task, of one at least however late it is.
    fn open_all(&mut self, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        loop {
            let next = self.tracees.iter().find(|(_, t)| t.settled && t.events.is_none());
            let Some((&tid, _)) = next else { return Ok(()) };
            self.open(tid, opener)?;
            self.pump(opener)?;
            if self.is_past_deadline() || opener.opened() >= self.target.attach_budget.events {
                return Ok(());
            }
        }
    }

    fn open(&mut self, tid: i32, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        let events = opener.open(Some(Tid(tid)))?;
        if let Some(events) = events.as_ref().filter(|_| self.enabled) {
            opener.enable(events, Tid(tid))?;
        }
        let since = task::time_on_cpu(&self.target.proc, tid);
        if events.is_none() {
            self.tracees.remove(&tid);
        } else if let Some(tracee) = self.tracees.get_mut(&tid) {
            (tracee.events, tracee.since, tracee.proven) = (events, since, false);
        }
        Ok(())
    }

    /// Starts counting. A clone meanwhile may pass on events of which some
    /// are disabled still; so nothing is proven any more, and the clone is
    /// put in order when it halts.
    fn enable_all(&mut self, opener: &Opener<'_>) -> Result<(), AttachError> {
        self.enabled = true;
        for (&tid, tracee) in &mut self.tracees {
            if let Some(events) = &tracee.events {
                opener.enable(events, Tid(tid))?;
                tracee.since = task::time_on_cpu(&self.target.proc, tid);
                tracee.proven = false;
            }
        }
        Ok(())
    }

    /// Handles reports until each task is proven, or time is up. Tasks whose
    /// birth is not settled need no proof: if their parent has one, they
    /// inherited everything, else it is waited for.
    fn wait_until_proven(&mut self, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        loop {
            self.pump(opener)?;
            let proc = &self.target.proc;
            let mut waiting = false;
            for (&tid, tracee) in self.tracees.iter_mut().filter(|(_, t)| t.settled && !t.proven) {
                tracee.proven = tracee.stopped
                    || is_quiet(proc, tid, tracee.since)
                        .map_err(|error| AttachError::Look { pid: self.target.pid, error })?;
                waiting |= !tracee.proven;
            }
            if !waiting || self.is_past_deadline() {
                return Ok(());
            }
            thread::sleep(PAUSE);
        }
    }

    /// Handles every report there is. All are taken before the first task is
    /// let go: the kernel gives the youngest task's first, so makers of
    /// threads would starve the others, and never let the reports end. As it
    /// is, each task stands still after its one.
    fn pump(&mut self, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        let mut reports = Vec::new();
        while let Some(report) = ptrace::poll_any().map_err(|e| self.error(e))? {
            reports.push(report);
        }
        for (tid, report) in reports {
            if let Some(tracee) = self.tracees.get_mut(&tid) {
                tracee.stopped = false;
            }
            self.handle(tid, report, opener)?;
        }
        Ok(())
    }

    fn handle(
        &mut self,
        tid: i32,
        stop: TraceeStop,
        opener: &mut Opener<'_>,
    ) -> Result<(), AttachError> {
        match stop {
            TraceeStop::Exited(_) | TraceeStop::Killed(_) => {
                let gone = self.tracees.remove(&tid);
                self.close_events_of(gone, opener)?;
                self.settle_parent_of(tid, opener)
            }
            TraceeStop::Cloned { child, .. } => {
                self.tracees.entry(tid).or_default().stop_state = StopState::Cloned { child };
                if child != 0 && !self.tracees.contains_key(&child) && self.is_mine(child)? {
                    self.tracees.insert(child, Tracee::default());
                }
                self.settle(tid, opener)
            }
            TraceeStop::Interrupted | TraceeStop::Other => self.on_new_task(tid, opener),
            TraceeStop::Exec { former } => {
                self.on_exec(former, tid, opener)?;
                self.resume(tid, 0)
            }
            TraceeStop::Group(_) => {
                let tracee = self.tracees.entry(tid).or_default();
                tracee.stopped = true;
                // A thread that is born while its group stops reports this
                // instead (do_jobctl_trap(), kernel/signal.c).
                if !tracee.settled {
                    return self.on_new_task(tid, opener);
                }
                tracee.proven = true;
                self.release(tid)
            }
            TraceeStop::Signal(signal) => {
                self.mark_proven(tid);
                self.resume(tid, signal)
            }
        }
    }

    /// Whether a child that was made is there still: its end may have been
    /// reported before its making.
    fn is_mine(&self, child: i32) -> Result<bool, AttachError> {
        let is_mine = |state: TaskState| !state.dead && state.tracer == tracer();
        Ok(self.look(child)?.is_some_and(is_mine))
    }

    /// Closes the events of a task that has ended, which have counted all
    /// they will: its children have events of their own, as each clone was
    /// put in order. But where the task was killed before it could report a
    /// clone, the child's events hang on its own, and end when they do.
    fn close_events_of(
        &mut self,
        gone: Option<Tracee>,
        opener: &mut Opener<'_>,
    ) -> Result<(), AttachError> {
        let Some(events) = gone.and_then(|tracee| tracee.events) else { return Ok(()) };
        if events.hung_up().map_err(|e| self.error(e))? {
            opener.close_set(events, &mut self.closed_totals);
        } else {
            self.ended.push(events);
        }
        Ok(())
    }

    /// It stands where no clone is: at the delivery of a signal.
    fn mark_proven(&mut self, tid: i32) {
        if let Some(tracee) = self.tracees.get_mut(&tid) {
            tracee.proven = true;
        }
    }

    fn on_new_task(&mut self, tid: i32, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        let tracee = self.tracees.entry(tid).or_default();
        if tracee.settled {
            return self.release(tid);
        }
        tracee.stop_state = StopState::NewTask;
        self.settle_parent_of(tid, opener)
    }

    fn settle_parent_of(&mut self, child: i32, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        let made = StopState::Cloned { child };
        match self.tracees.iter().find(|(_, t)| t.stop_state == made).map(|(&parent, _)| parent) {
            Some(parent) => self.settle(parent, opener),
            None => Ok(()),
        }
    }

    /// Once parent and child both stand still, puts their events in order
    /// and lets them go.
    fn settle(&mut self, parent: i32, opener: &mut Opener<'_>) -> Result<(), AttachError> {
        let Some(StopState::Cloned { child }) = self.tracees.get(&parent).map(|t| t.stop_state)
        else {
            return Ok(());
        };
        let child_is_here =
            self.tracees.get(&child).is_none_or(|c| c.stop_state == StopState::NewTask);
        if !child_is_here {
            return Ok(());
        }
        if self.opening {
            // Closing takes away what the child inherited.
            if let Some(events) = self.tracees.get_mut(&parent).and_then(|t| t.events.take()) {
                opener.close_set(events, &mut self.closed_totals);
            }
        }
        for tid in [parent, child] {
            if self.opening && self.tracees.contains_key(&tid) {
                self.open(tid, opener)?;
            }
            if let Some(tracee) = self.tracees.get_mut(&tid) {
                (tracee.stop_state, tracee.settled, tracee.proven) = (StopState::Runs, true, true);
            }
            self.release(tid)?;
        }
        Ok(())
    }

    /// exec gave the caller its leader's id and ended all other threads. It
    /// stands still, and gets new events: those under the leader's id may be
    /// the caller's too, if the id had passed over when they were opened.
    fn on_exec(
        &mut self,
        former: i32,
        tid: i32,
        opener: &mut Opener<'_>,
    ) -> Result<(), AttachError> {
        if former == tid {
            return Ok(());
        }
        let old = [self.tracees.remove(&former), self.tracees.remove(&tid)];
        for events in old.into_iter().flatten().filter_map(|tracee| tracee.events) {
            opener.close_set(events, &mut self.closed_totals);
        }
        let caller = Tracee { settled: true, proven: true, ..Tracee::default() };
        self.tracees.insert(tid, caller);
        if self.opening {
            self.open(tid, opener)?;
            self.mark_proven(tid);
        }
        Ok(())
    }

    /// Lets a task run on, or stay in its group's stop.
    fn release(&self, tid: i32) -> Result<(), AttachError> {
        match self.tracees.get(&tid) {
            Some(tracee) if tracee.stopped => self.unless_killed(ptrace::listen(tid)),
            _ => self.resume(tid, 0),
        }
    }

    fn resume(&self, tid: i32, signal: i32) -> Result<(), AttachError> {
        self.unless_killed(ptrace::resume(tid, signal))
    }

    /// A tracee can be killed at any moment; its end is reported later.
    fn unless_killed(&self, result: io::Result<()>) -> Result<(), AttachError> {
        match result {
            Err(e) if e.raw_os_error() != Some(libc::ESRCH) => Err(self.error(e)),
            _ => Ok(()),
        }
    }

    fn look(&self, tid: i32) -> Result<Option<TaskState>, AttachError> {
        TaskState::read(&self.target.proc, tid).map_err(|e| self.error(e))
    }

    fn is_past_deadline(&self) -> bool {
        Instant::now() > self.deadline
    }

    fn error(&self, error: io::Error) -> AttachError {
        AttachError::Look { pid: self.target.pid, error }
    }
}

/// Thread id of the caller, as its tracees' /proc files give it.
fn tracer() -> i32 {
    rustix::thread::gettid().as_raw_pid()
}

enum Seized {
    Yes,
    /// Not needed: a tracee has made it since.
    NewTask,
    Gone,
    Refused,
}

/// Whether the task has been seen outside of clone since it had been on a
/// CPU for `since` nanoseconds.
fn is_quiet(proc: &Path, tid: i32, since: Option<u64>) -> io::Result<bool> {
    if task::is_at_rest(proc, tid)? {
        return Ok(true);
    }
    let now = task::time_on_cpu(proc, tid);
    Ok(now.zip(since).is_some_and(|(now, since)| now.saturating_sub(since) >= LONG_ENOUGH))
}
