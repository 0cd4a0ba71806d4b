//! A job as a worker does it, be it a client's or of its standing session.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use record::Pid;
use sampling::machine::incarnation::Incarnation;
use sampling::machine::pidfd::is_alive;
use sampling::remote::protocol::{Complaint, ComplaintCode, Job, WireInKernel, WireTarget};
use sampling::request::event_spec::RequestedEvent;
use sampling::{Cgroup, EventSpec, Modes, Request, Target};

use super::pid_place::PidPlace;
use crate::broker::Wanted;

/// A job whose target was looked at.
#[derive(Debug)]
pub(crate) struct CheckedJob {
    pub(crate) request: Request,
    /// The process, where there is one.
    pub(crate) process: Option<(Pid, OwnedFd)>,
    /// The control group, where that is sampled.
    pub(crate) cgroup: Option<Arc<Cgroup>>,
    /// Samples after which sampling ends; None: never.
    pub(crate) count: Option<u64>,
    /// Where the kernel counts: so often aggregates are taken, and what else.
    pub(crate) in_kernel: Option<WireInKernel>,
    /// The kernel's symbols go into the stream, where they are shown.
    pub(crate) kernel_symbols: bool,
    /// For the stream's header.
    pub(crate) command_line: Vec<String>,
}

fn complaint(code: ComplaintCode, text: impl Into<String>) -> Complaint {
    Complaint { code, text: text.into() }
}

/// Bytes of a type's name, or of an address to watch, modifiers and all.
const LONGEST_EVENT: usize = 128;

impl CheckedJob {
    /// What the supervisor is asked for, and the path of a control group.
    ///
    /// # Errors
    /// ESRCH: the process has ended.
    pub(super) fn wanted(&self) -> io::Result<(Wanted, &[u8])> {
        use std::os::unix::ffi::OsStrExt;
        let gone = || io::Error::from(rustix::io::Errno::SRCH);
        // The number is still its own while the pidfd says that it lives.
        let process = || {
            let (pid, pidfd) = self.process.as_ref().ok_or_else(gone)?;
            let named = Incarnation::of(pid.0).filter(|_| is_alive(pidfd.as_fd()));
            named.ok_or_else(gone)
        };
        Ok(match self.request.target {
            Target::Command => (Wanted::Held(process()?), &[]),
            Target::Process(_) => (Wanted::Process(process()?), &[]),
            Target::System => (Wanted::System, &[]),
            Target::Cgroup => {
                let group = self.cgroup.as_ref().ok_or_else(gone)?;
                let path = group.path().as_os_str().as_bytes();
                (Wanted::Cgroup { id: group.id()?, path_bytes: path.len() as u64 }, path)
            }
        })
    }
}

/// Checks what a job names, by numbers as the client's place has them.
pub(crate) fn check(job: &Job, place: &PidPlace) -> Result<CheckedJob, Complaint> {
    if job.event.len() > LONGEST_EVENT {
        let text = format!("an event of {} bytes; none is so long", job.event.len());
        return Err(complaint(ComplaintCode::BadRequest, text));
    }
    let event = EventSpec(job.event.clone());
    match event.resolve() {
        Ok(RequestedEvent::Type(_) | RequestedEvent::Breakpoint(_)) => {}
        Ok(_) => {
            let text = format!(
                "{}: the daemon samples types of its table (`ebs -h` lists them) and mem:ADDR; \
                 for others say --no-daemon",
                job.event
            );
            return Err(complaint(ComplaintCode::Unplannable, text));
        }
        Err(error) => return Err(complaint(ComplaintCode::Unplannable, error.to_string())),
    }
    let process = match job.target {
        WireTarget::System => None,
        WireTarget::Held { pid, start_time } | WireTarget::Process { pid, start_time } => {
            Some(named(Incarnation { pid, start_time }, place)?)
        }
    };
    if let Some((pid, _)) = &process {
        check_not_self(*pid)?;
    }
    let target = match (job.target, &process) {
        (WireTarget::Process { .. }, Some((pid, _))) => Target::Process(*pid),
        (WireTarget::Held { .. }, _) => Target::Command,
        _ => Target::System,
    };
    let modes = Modes { user: job.user, kernel: job.kernel };
    let request = Request {
        masks: job.masks.clone(),
        interval: job.interval,
        allow_skid: job.allow_skid,
        data_mappings: job.data_mappings,
        ring_pages: job.ring_pages,
        in_kernel: job.in_kernel.as_ref().map(|asked| asked.meaning()),
        ..Request::new(event, modes, target)
    };
    Ok(CheckedJob {
        request,
        process,
        cgroup: None,
        count: job.count,
        in_kernel: job.in_kernel.as_deref().cloned(),
        kernel_symbols: job.kernel_symbols,
        command_line: job.command_line.clone(),
    })
}

/// The kernel lets any process look at itself, but nobody else of its user's
/// at one that is not dumpable.
fn check_not_self(pid: Pid) -> Result<(), Complaint> {
    if pid.0 != rustix::process::getpid().as_raw_nonzero().get() {
        return Ok(());
    }
    let text = format!(
        "process {pid} is a worker of the daemon, which guards itself (not dumpable): root may \
         sample it with ebs --no-daemon"
    );
    Err(complaint(ComplaintCode::Denied, text))
}

fn named(theirs: Incarnation, place: &PidPlace) -> Result<(Pid, OwnedFd), Complaint> {
    let Incarnation { pid, start_time } = theirs;
    let gone = || {
        let text = format!("there is no process {pid} that started at {start_time}");
        complaint(ComplaintCode::NoTarget, text)
    };
    let pid = place.here(pid).map_err(|error| match error.raw_os_error() {
        Some(libc::ESRCH) => gone(),
        _ => {
            let text = format!(
                "the client is in another pid namespace than the daemon, and its process {pid} \
                 cannot be found from here (that takes Linux 6.11): {error}; say --no-daemon, or \
                 run ebs beside the daemon"
            );
            complaint(ComplaintCode::NoTarget, text)
        }
    })?;
    let pidfd = Incarnation { pid, start_time }.open().map_err(|_| gone())?;
    Ok((Pid(pid), pidfd))
}
