//! A job of the protocol becomes a request to plan.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use record::Pid;

use crate::broker::pid_of;
use crate::event_spec::Event;
use crate::protocol::{Complaint, ComplaintCode, Job, WireTarget};
use crate::{Cgroup, EventSpec, Modes, Request, Target};

/// A job whose target was looked at.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) request: Request,
    /// The process, where there is one.
    pub(crate) process: Option<(Pid, OwnedFd)>,
    /// The control group, where that is sampled.
    pub(crate) cgroup: Option<Arc<Cgroup>>,
}

fn complaint(code: ComplaintCode, text: impl Into<String>) -> Complaint {
    Complaint { code, text: text.into() }
}

/// Bytes of a type's name, or of an address to watch, modifiers and all.
const LONGEST_EVENT: usize = 128;

/// Checks what a job names; `pidfd` came with it.
pub(crate) fn check(job: &Job, pidfd: Option<OwnedFd>) -> Result<Checked, Complaint> {
    if job.event.len() > LONGEST_EVENT {
        let text = format!("an event of {} bytes; none is so long", job.event.len());
        return Err(complaint(ComplaintCode::BadRequest, text));
    }
    let event = EventSpec(job.event.clone());
    match event.resolve() {
        Ok(Event::Type(_) | Event::Breakpoint(_)) => {}
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
        WireTarget::Held => Some(by_pidfd(pidfd)?),
        WireTarget::Process { pid, start_time } => Some(match (pidfd, start_time) {
            (Some(pidfd), _) => by_pidfd(Some(pidfd))?,
            (None, Some(start_time)) => by_number(pid, start_time)?,
            (None, None) => {
                let text = "a process is named by a pidfd, or by number and start time";
                return Err(complaint(ComplaintCode::BadRequest, text));
            }
        }),
    };
    if let Some((pid, _)) = &process {
        check_not_self(*pid)?;
    }
    let target = match (job.target, &process) {
        (WireTarget::Process { .. }, Some((pid, _))) => Target::Process(*pid),
        (WireTarget::Held, _) => Target::Command,
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
    Ok(Checked { request, process, cgroup: None })
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

fn by_pidfd(pidfd: Option<OwnedFd>) -> Result<(Pid, OwnedFd), Complaint> {
    use std::os::fd::AsFd;
    let missing = || complaint(ComplaintCode::BadRequest, "no pidfd came with the request");
    let pidfd = pidfd.ok_or_else(missing)?;
    let pid = pid_of(pidfd.as_fd()).ok_or_else(|| {
        complaint(
            ComplaintCode::NoTarget,
            "the descriptor that came with the request is no pidfd of a process that the daemon \
             can see",
        )
    })?;
    Ok((Pid(pid), pidfd))
}

/// The start time is compared after the pidfd is open: then the number
/// cannot become another's.
fn by_number(pid: i32, start_time: u64) -> Result<(Pid, OwnedFd), Complaint> {
    use rustix::process::{Pid as RawPid, PidfdFlags, pidfd_open};
    let gone = || {
        let text = format!("there is no process {pid} that started at {start_time}");
        complaint(ComplaintCode::NoTarget, text)
    };
    let raw = (pid > 0).then(|| RawPid::from_raw(pid)).flatten().ok_or_else(gone)?;
    let pidfd = pidfd_open(raw, PidfdFlags::empty()).map_err(|_| gone())?;
    if started(pid) != Some(start_time) {
        return Err(gone());
    }
    Ok((Pid(pid), pidfd))
}

/// Field 22 of /proc/PID/stat.
fn started(pid: i32) -> Option<u64> {
    let stat = std::fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}
