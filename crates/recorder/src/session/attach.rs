//! Attaching to a process that runs: every thread gets its events exactly
//! once, and what it starts from then on inherits them whole.
//!
//! The difficulty: a thread that clones while its events are being opened
//! passes on some of them, so its child would be counted twice or in part.
//! The answer has three steps, all on one thread of ours, the tracer:
//!
//! 1. Watch. PTRACE_SEIZE every thread, which stops none of them. From then
//!    on each clone and fork halts parent and child until we let them go.
//! 2. Open all events, then enable them. Where a thread clones meanwhile,
//!    both stand still: its events are closed, which takes away what the
//!    child inherited, and opened anew on both.
//! 3. Wait until no thread can be inside a clone that began before its
//!    events were enabled. Then the tracer ends; the kernel sets all free.
//!
//! Enabling later, with the target free, would lose threads: a clone whose
//! context the scheduler has swapped (perf_event_context_sched_out(),
//! kernel/events/core.c) copies a disabled event while ENABLE walks the list
//! that the copy is not on yet.
//!
//! Nothing is interrupted, so no system call of the target returns EINTR.

mod clone_tracer;
mod task;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfdata::{Pid, Tid};

use crate::session::AttachError;
use crate::session::closed_event_totals::ClosedEventTotals;
use crate::session::event_set::EventSet;
use crate::session::opener::Opener;
use clone_tracer::CloneTracer;
use task::TaskState;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachBudget {
    /// So long it may take to seize all threads, and as long to become
    /// certain. Waiting costs the target nothing but the halts at its clones.
    pub seize: Duration,
    /// So long it may take to open all events: 2,400 took 13.6 s while 1,200
    /// busy threads shared 2 CPUs.
    pub open: Duration,
    /// So many events are opened, and those of one thread at least.
    pub events: usize,
}

impl Default for AttachBudget {
    fn default() -> AttachBudget {
        AttachBudget {
            seize: Duration::from_secs(5),
            open: Duration::from_secs(20),
            events: usize::MAX,
        }
    }
}

impl AttachBudget {
    /// One of so long altogether.
    pub fn within(all: Duration, events: usize) -> AttachBudget {
        AttachBudget { seize: all / 4, open: all / 2, events }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttachGaps {
    /// The target may not be traced: threads that were born during the
    /// attach may be counted twice (removed where records are alike) or not
    /// at all.
    pub(crate) untraced: bool,
    /// Threads not shown to be outside a clone when time was up.
    pub(crate) unproven: usize,
    /// Threads without events when time, or the number of events, was up.
    pub(crate) unopened: usize,
    pub(crate) attach_budget: AttachBudget,
}

impl AttachGaps {
    /// For the user; nothing when there is no doubt.
    pub(crate) fn notes(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.untraced {
            notes.push(
                "the process may not be traced (a debugger holds it, or ptrace is restricted): \
                 threads started during the attach may be missing; what they reported twice is \
                 counted as duplicate"
                    .into(),
            );
        }
        if self.unproven > 0 {
            notes.push(format!(
                "{} threads were too busy for a certain attach within {} s: what they started \
                 meanwhile may be counted in part",
                self.unproven,
                self.attach_budget.seize.as_secs_f64()
            ));
        }
        if self.unopened > 0 {
            notes.push(format!(
                "{} threads are not sampled: the process is too busy, or has too many threads, to \
                 attach to all within {} s{}; attach again when it does less",
                self.unopened,
                (self.attach_budget.seize + self.attach_budget.open).as_secs_f64(),
                match self.attach_budget.events {
                    usize::MAX => String::new(),
                    events => format!(" and {events} events"),
                }
            ));
        }
        notes
    }
}

#[derive(Debug, Default)]
pub(crate) struct AttachedEvents {
    pub(crate) sets: Vec<EventSet>,
    /// Counts of events that were closed on the way.
    pub(crate) closed_totals: ClosedEventTotals,
    pub(crate) gaps: AttachGaps,
}

/// Opens and enables the events of `pid` on each of its threads. Runs on a thread of
/// its own, which must end afterwards to let the target go.
pub(crate) fn attach(
    pid: Pid,
    proc: &Path,
    opener: &mut Opener<'_>,
    attach_budget: AttachBudget,
) -> Result<AttachedEvents, AttachError> {
    let state = TaskState::read(proc, pid.0)
        .map_err(|error| AttachError::Look { pid, error })?
        .ok_or(AttachError::Absent { pid })?;
    if state.leader != pid.0 {
        return Err(AttachError::Thread { tid: Tid(pid.0), leader: Pid(state.leader) });
    }
    let target = TargetProcess { pid, proc: proc.to_owned(), attach_budget };
    if state.dead && target.threads()?.len() <= 1 {
        return Err(AttachError::Zombie { pid });
    }
    // A kernel thread cannot be traced, and has no threads.
    let traced = if state.kernel_thread { None } else { CloneTracer::new(&target).run(opener)? };
    let attached = match traced {
        Some(attached) => attached,
        None => untraced(&target, opener, !state.kernel_thread)?,
    };
    if attached.sets.is_empty() && attached.closed_totals.ids.side.is_empty() {
        return Err(AttachError::Gone { pid });
    }
    Ok(attached)
}

/// Opens until a scan of the threads finds none without events.
fn untraced(
    target: &TargetProcess,
    opener: &mut Opener<'_>,
    may_clone: bool,
) -> Result<AttachedEvents, AttachError> {
    let deadline = Instant::now() + target.attach_budget.open;
    let mut seen = BTreeSet::new();
    let mut sets = Vec::new();
    let mut late = 0;
    loop {
        let fresh: Vec<i32> = target.threads()?.into_iter().filter(|t| !seen.contains(t)).collect();
        if fresh.is_empty() {
            break;
        }
        let is_full = |opener: &Opener<'_>| opener.opened() >= target.attach_budget.events;
        if (Instant::now() > deadline || is_full(opener)) && !sets.is_empty() {
            late = fresh.len();
            break;
        }
        for (done, &tid) in fresh.iter().enumerate() {
            if is_full(opener) && !sets.is_empty() {
                late = fresh.len() - done;
                break;
            }
            seen.insert(tid);
            let set = opener.open(Some(Tid(tid)))?;
            if let Some(set) = &set {
                opener.enable(set, Tid(tid))?;
            }
            sets.extend(set);
        }
        if late > 0 {
            break;
        }
    }
    let gaps = AttachGaps {
        untraced: may_clone,
        unproven: 0,
        unopened: late,
        attach_budget: target.attach_budget,
    };
    Ok(AttachedEvents { sets, closed_totals: ClosedEventTotals::default(), gaps })
}

#[derive(Debug)]
struct TargetProcess {
    pid: Pid,
    proc: PathBuf,
    attach_budget: AttachBudget,
}

impl TargetProcess {
    /// Its threads as /proc lists them now; none when it is gone.
    fn threads(&self) -> Result<Vec<i32>, AttachError> {
        let directory = self.proc.join(self.pid.to_string()).join("task");
        task::list(&directory).map_err(|error| AttachError::Look { pid: self.pid, error })
    }
}
