//! A job as a worker does it, be it a client's or of its standing session.

use perfdata::Pid;
use recorder::machine::process_identity::ProcessIdentity;
use recorder::remote::protocol::{ErrorCode, ErrorReply, NamedTarget};
use recorder::request::event_spec::RequestedEvent;
use recorder::{EventSpec, Job};

use super::passed_client::PidNamespace;
use crate::target::FoundTarget;

#[derive(Debug)]
pub(crate) struct CheckedJob {
    pub(super) job: Job,
    pub(super) target: FoundTarget,
}

/// Bytes of a type's name, or of an address to watch, modifiers and all.
const MAX_EVENT_LEN: usize = 128;

impl CheckedJob {
    pub(crate) fn new(mut job: Job, target: FoundTarget) -> CheckedJob {
        job.request.target = target.target();
        CheckedJob { job, target }
    }

    /// Of a client, by numbers as the client's place has them.
    ///
    /// # Errors
    /// What the daemon does not sample for clients, or cannot find.
    pub(super) fn of_client(
        job: Job,
        named: NamedTarget,
        namespace: &PidNamespace,
    ) -> Result<CheckedJob, ErrorReply> {
        for one in job.request.each() {
            check_event(&one.event)?;
        }
        Ok(CheckedJob::new(job, found(named, namespace)?))
    }
}

fn check_event(event: &EventSpec) -> Result<(), ErrorReply> {
    if event.text().len() > MAX_EVENT_LEN {
        let text = format!("an event of {} bytes; none is so long", event.text().len());
        return Err(ErrorReply::new(ErrorCode::BadRequest, text));
    }
    match event.event() {
        Ok(RequestedEvent::Type(_) | RequestedEvent::Breakpoint(_)) => {}
        Ok(_) => {
            let text = format!(
                "{event}: the daemon samples types of its table (`ebs -h` lists them) and \
                     mem:ADDR; for others say --no-daemon",
            );
            return Err(ErrorReply::new(ErrorCode::Unplannable, text));
        }
        Err(error) => return Err(ErrorReply::new(ErrorCode::Unplannable, error)),
    }
    Ok(())
}

/// The kernel lets any process look at itself, but no other process of its
/// user at one that is not dumpable.
fn check_not_self(pid: Pid) -> Result<(), ErrorReply> {
    if pid.0 != rustix::process::getpid().as_raw_nonzero().get() {
        return Ok(());
    }
    let text = format!(
        "process {pid} is a worker of the daemon, which guards itself (not dumpable): root may \
         sample it with ebs --no-daemon"
    );
    Err(ErrorReply::new(ErrorCode::Denied, text))
}

fn found(theirs: NamedTarget, namespace: &PidNamespace) -> Result<FoundTarget, ErrorReply> {
    let (ProcessIdentity { pid, start_time }, name): (_, fn(ProcessIdentity) -> NamedTarget) =
        match theirs {
            NamedTarget::Held(process) => (process, NamedTarget::Held),
            NamedTarget::Process(process) => (process, NamedTarget::Process),
            NamedTarget::System => return Ok(FoundTarget::System),
            NamedTarget::Cgroup { .. } => {
                let text = "the daemon samples control groups for standing sessions alone";
                return Err(ErrorReply::new(ErrorCode::Unplannable, text));
            }
        };
    let gone = || {
        let text = format!("there is no process {pid} that started at {start_time}");
        ErrorReply::new(ErrorCode::NoTarget, text)
    };
    let pid = namespace.to_own(pid).map_err(|error| match error.raw_os_error() {
        Some(libc::ESRCH) => gone(),
        _ => {
            let text = format!(
                "the client is in another pid namespace than the daemon, and its process {pid} \
                 cannot be found from here (that takes Linux 6.11): {error}; say --no-daemon, or \
                 run ebs beside the daemon"
            );
            ErrorReply::new(ErrorCode::NoTarget, text)
        }
    })?;
    let named = name(ProcessIdentity { pid, start_time });
    let found = FoundTarget::open(named, &[]).map_err(|_| gone())?;
    check_not_self(Pid(pid))?;
    Ok(found)
}
