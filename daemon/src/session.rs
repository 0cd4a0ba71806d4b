//! One sampling job from its first descriptor to its last record.
//!
//! Everything runs on the caller's thread: [`Session::wait`] until a ring
//! has filled up somewhat, [`Session::drain`] what there is into the sink.

mod cutoff;
pub(crate) mod error;
mod finish;
pub(crate) mod opener;
mod pass;
mod preamble;
mod rings;
mod sink;
mod wait;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use record::{Pid, Tid};
use rustix::process::{PidfdFlags, pidfd_open};

use crate::attach::{AttachError, Attached, attach};
use crate::command::Command;
use crate::ledger::Ledger;
use crate::{Plan, Target, open_files};
pub use error::{OpenError, SessionError};
pub(crate) use opener::Retired;
use opener::{Attrs, EventSet, Opener};
use pass::Lane;
pub use pass::Pass;
use preamble::Described;
use rings::CpuRings;
use sink::Outbox;
pub use sink::Sink;
pub use wait::{TargetState, Woken};

/// Said of a program that the kernel lets nobody sample from its start on.
const SET_USER_ID: &str = "the command is a set-user-ID or set-group-ID program of another user: \
                           the kernel ends sampling when it starts; run ebs as that user, or \
                           attach to its PID as root";

/// What a session is told beside its plan.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command and its arguments, for [`Target::Command`].
    pub command: Vec<OsString>,
    /// Samples after which sampling stops; None: no limit.
    pub count: Option<u64>,
    /// Where /proc is: `/`.
    pub root: PathBuf,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { command: Vec::new(), count: None, root: "/".into() }
    }
}

/// Open events, their rings, and the account of what came through them.
///
/// In order: [`open`](Session::open), [`preamble`](Session::preamble),
/// [`start`](Session::start), then [`wait`](Session::wait) and
/// [`drain`](Session::drain) in turn, [`finish`](Session::finish). Dropped
/// at any point, it stops sampling and leaves the target running.
#[derive(Debug)]
pub struct Session {
    plan: Plan,
    attrs: Attrs,
    settings: Settings,
    notes: Vec<String>,
    // Events before rings: what writes goes before what is written to.
    sets: Vec<EventSet>,
    retired: Retired,
    rings: Vec<CpuRings>,
    lanes: Vec<Lane>,
    command: Option<Command>,
    /// Of an attached process.
    pidfd: Option<OwnedFd>,
    state: TargetState,
    /// The thread that opened the rings has ended: poll(2) says only that.
    poll_is_deaf: bool,
    /// Records that are alike are one event seen twice.
    drop_twins: bool,
    ids: (Vec<u64>, Vec<u64>),
    /// The attached process and its children, read at once: they may end
    /// before the preamble is written.
    described: Described,
    outbox: Outbox,
    ledger: Ledger,
    seen: Seen,
    started: Option<Instant>,
    stopped: Option<Duration>,
}

/// What the rings have given so far.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Samples accepted, towards the count.
    samples: u64,
    /// Sum of LOST records in the rings of samples.
    told_lost: u64,
    /// The same in the rings of side records.
    told_side_lost: u64,
}

impl Session {
    /// Opens everything: rings, and the events of the plan's target. A
    /// command is forked and waits; its files, signal mask and limits are the
    /// caller's as they are now. A process is sampled from here on, as only
    /// the attach can enable events without missing a thread; the others from
    /// [`start`](Session::start) on. The session must stay with
    /// threads of this process, best the calling one: the rings wake only
    /// while that lives.
    ///
    /// # Errors
    /// What the kernel refused, in words; a target that is not there.
    pub fn open(plan: Plan, settings: Settings) -> Result<Session, SessionError> {
        let command = match plan.target {
            Target::Command => Some(Command::hold(&settings.command)?),
            Target::Process(_) | Target::System => None,
        };
        // After the fork: the command keeps the limit it was given.
        let limit = open_files::raise();
        let (rings, mut notes) = rings::map(&plan)?;
        let mut opener = Opener::new(&plan, &rings, limit)?;
        let mut attached = Attached::default();
        let mut pidfd = None;
        match plan.target {
            Target::System => attached.sets.extend(opener.open(None)?),
            Target::Command => {
                let pid = command.as_ref().map_or(Pid(0), Command::pid);
                let set = opener.open(Some(Tid(pid.0)))?;
                attached.sets.push(set.ok_or(AttachError::Gone { pid })?);
            }
            Target::Process(pid) => {
                attached = attach_on_own_thread(pid, &settings, &mut opener)?;
                pidfd = Some(open_pidfd(pid)?);
            }
        }
        let (attrs, given_up) = opener.into_outcome();
        notes.extend(given_up.iter().map(ToString::to_string));
        notes.extend(attached.certainty.notes());
        if command.as_ref().is_some_and(Command::changes_user) {
            notes.push(SET_USER_ID.into());
        }
        let ids = ids(&attached)?;
        let is_sampled = matches!(plan.target, Target::Process(_));
        let described = match plan.target {
            Target::Process(pid) => Described::tree(&settings.root.join("proc"), &attrs.side, pid),
            Target::Command | Target::System => Described::default(),
        };
        let lanes = rings.iter().map(|_| Lane::default()).collect();
        Ok(Session {
            plan,
            attrs,
            settings,
            notes,
            sets: attached.sets,
            retired: attached.retired,
            rings,
            lanes,
            command,
            pidfd,
            state: TargetState::Running,
            poll_is_deaf: false,
            drop_twins: attached.certainty.untraced,
            ids,
            described,
            outbox: Outbox::default(),
            ledger: Ledger::default(),
            seen: Seen::default(),
            started: is_sampled.then(Instant::now),
            stopped: None,
        })
    }

    /// Lets the command exec, or enables the system's events; then describes
    /// the processes that run already.
    ///
    /// # Errors
    /// A command that cannot be executed; a sink that fails.
    pub fn start(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let now = Instant::now();
        match (&mut self.command, self.plan.target) {
            (Some(command), _) => command.release()?,
            (None, Target::System) => {
                let enabled = self.sets.iter().try_for_each(|set| set.enable(None));
                enabled.map_err(|failure| OpenError::event(failure, &self.plan))?;
            }
            (None, _) => {}
        }
        self.started.get_or_insert(now);
        self.describe_processes(sink)
    }

    /// Stops sampling, in all threads and children; the command runs on.
    /// What the rings hold stays to be drained.
    pub fn stop(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        for set in &self.sets {
            for pair in &set.pairs {
                // Fails for no open event (perf_ioctl(), kernel/events/core.c).
                let _always_works = pair.sampled.disable();
            }
        }
        self.stopped = Some(self.started.map_or(Duration::ZERO, |at| at.elapsed()));
    }

    /// What was asked for and planned.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Said to the user, beside the plan's own notes: smaller rings, older
    /// kernels, doubts about an attach.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The command, for its status; None for other targets.
    pub fn command(&mut self) -> Option<&mut Command> {
        self.command.as_mut()
    }

    /// The account so far; complete only after [`finish`](Session::finish).
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

/// A tracer must be one thread, and lets its target go by ending.
fn attach_on_own_thread(
    pid: Pid,
    settings: &Settings,
    opener: &mut Opener<'_>,
) -> Result<Attached, AttachError> {
    let proc = settings.root.join("proc");
    std::thread::scope(|scope| {
        let tracer = scope.spawn(|| attach(pid, &proc, opener));
        tracer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn open_pidfd(pid: Pid) -> Result<OwnedFd, AttachError> {
    let raw = rustix::process::Pid::from_raw(pid.0).ok_or(AttachError::Absent { pid })?;
    pidfd_open(raw, PidfdFlags::empty()).map_err(|errno| match errno {
        rustix::io::Errno::SRCH => AttachError::Gone { pid },
        other => AttachError::Look { pid, error: other.into() },
    })
}

/// Ids of all sampled and of all side events, closed ones included.
fn ids(attached: &Attached) -> Result<(Vec<u64>, Vec<u64>), SessionError> {
    let mut ids: (Vec<u64>, Vec<u64>) = attached.retired.ids.iter().copied().unzip();
    for set in &attached.sets {
        ids.extend(set.ids().map_err(SessionError::system("PERF_EVENT_IOC_ID"))?);
    }
    Ok(ids)
}

#[cfg(test)]
mod tests;
