//! Who opens the events of a job: this process, or a daemon.

use crate::ebs::arguments::Serving;
use anyhow::{Context, Error, Result};
use recorder::remote::RemoteSession;
use recorder::remote::client::Client;
use recorder::session::SessionError;
use recorder::{AttachError, Job, OpenError, Refusal, Sampling};
use std::ffi::OsString;
use std::path::Path;

/// Opens a job as `own` does, or by the daemon where that is refused for want
/// of rights, or where the user says so.
///
/// # Errors
/// What this process was refused, when no daemon runs; else what the daemon
/// says.
pub(crate) fn open(
    serving: &Serving,
    job: &Job,
    command: &[OsString],
    own: impl FnOnce() -> Result<Box<dyn Sampling>>,
) -> Result<Box<dyn Sampling>> {
    match serving {
        Serving::Own => own(),
        Serving::Daemon(path) => by_daemon(path, job, command),
        Serving::Auto(path) => match own() {
            // A daemon's worker reads no marks of programs.
            Err(refused) if job.request.regions => Err(refused),
            Err(refused) if is_denied(&refused) && path.exists() => {
                let refused = refused.to_string();
                by_daemon(path, job, command)
                    .with_context(|| format!("{refused}; and the daemon does not help"))
            }
            result => result,
        },
    }
}

fn by_daemon(path: &Path, job: &Job, command: &[OsString]) -> Result<Box<dyn Sampling>> {
    let client = Client::connect(path)?;
    Ok(Box::new(RemoteSession::open(client, job, command)?))
}

fn is_denied(error: &Error) -> bool {
    if let Some(refusal) = error.downcast_ref::<Refusal>() {
        return refusal.is_denial();
    }
    match error.downcast_ref::<SessionError>() {
        Some(SessionError::Open(open) | SessionError::Attach(AttachError::Open(open))) => {
            matches!(open, OpenError::Refused { failure, .. }
                if matches!(failure.errno, libc::EACCES | libc::EPERM))
        }
        _ => false,
    }
}
