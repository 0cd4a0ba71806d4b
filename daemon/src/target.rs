//! A target that was found, and is held: it cannot become another one.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use perfdata::Pid;
use recorder::machine::process_identity::ProcessIdentity;
use recorder::machine::process_identity::is_alive;
use recorder::remote::protocol::NamedTarget;
use recorder::{Cgroup, Target};
use rustix::process::{Pid as RawPid, PidfdFlags, pidfd_open};

#[derive(Debug)]
pub(crate) enum FoundTarget {
    /// A child of a client that waits before its exec.
    Held(FoundProcess),
    Process(FoundProcess),
    System,
    Cgroup(Arc<Cgroup>),
}

/// A process, and what keeps its number its own.
#[derive(Debug)]
pub(crate) struct FoundProcess {
    pid: Pid,
    pidfd: Arc<OwnedFd>,
}

impl FoundProcess {
    /// The process of this name.
    ///
    /// # Errors
    /// ESRCH: it has ended, or there never was any.
    pub(crate) fn open(named: ProcessIdentity) -> io::Result<FoundProcess> {
        Ok(FoundProcess { pid: Pid(named.pid), pidfd: Arc::new(named.open()?) })
    }

    /// The process that has this number now.
    ///
    /// # Errors
    /// ESRCH: there is none.
    pub(crate) fn running(pid: i32) -> io::Result<FoundProcess> {
        let raw = RawPid::from_raw(pid).filter(|_| pid > 0).ok_or(rustix::io::Errno::SRCH)?;
        let pidfd = Arc::new(pidfd_open(raw, PidfdFlags::empty())?);
        Ok(FoundProcess { pid: Pid(pid), pidfd })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn pidfd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.pidfd)
    }

    pub(crate) fn is_alive(&self) -> bool {
        is_alive(self.pidfd.as_fd())
    }

    pub(crate) fn has_thread(&self, tid: i32) -> bool {
        tid > 0 && Path::new(&format!("/proc/{}/task/{tid}", self.pid)).exists()
    }

    /// The number is still its own while the pidfd says that it lives.
    fn named(&self) -> io::Result<ProcessIdentity> {
        let named = ProcessIdentity::of(self.pid.0).filter(|_| self.is_alive());
        named.ok_or_else(|| rustix::io::Errno::SRCH.into())
    }
}

impl FoundTarget {
    /// What is named, opened here; `path` is a group's.
    ///
    /// # Errors
    /// It is not there, or another one is.
    pub(crate) fn open(named: NamedTarget, path: &[u8]) -> io::Result<FoundTarget> {
        match named {
            NamedTarget::Held(process) => FoundProcess::open(process).map(FoundTarget::Held),
            NamedTarget::Process(process) => FoundProcess::open(process).map(FoundTarget::Process),
            NamedTarget::System => Ok(FoundTarget::System),
            NamedTarget::Cgroup { id, .. } => {
                let path = Path::new(std::ffi::OsStr::from_bytes(path));
                let group = Cgroup::open(Path::new("/"), path)?;
                // Another may have been made in its place.
                if group.id()? != id {
                    return Err(rustix::io::Errno::NOENT.into());
                }
                Ok(FoundTarget::Cgroup(Arc::new(group)))
            }
        }
    }

    /// The name by which another process can find it, and a group's path.
    ///
    /// # Errors
    /// ESRCH: the process has ended.
    pub(crate) fn named(&self) -> io::Result<(NamedTarget, &[u8])> {
        Ok(match self {
            FoundTarget::Held(process) => (NamedTarget::Held(process.named()?), &[]),
            FoundTarget::Process(process) => (NamedTarget::Process(process.named()?), &[]),
            FoundTarget::System => (NamedTarget::System, &[]),
            FoundTarget::Cgroup(group) => {
                let path = group.path().as_os_str().as_bytes();
                (NamedTarget::Cgroup { id: group.id()? }, path)
            }
        })
    }

    pub(crate) fn target(&self) -> Target {
        match self {
            FoundTarget::Held(_) => Target::Command,
            FoundTarget::Process(process) => Target::Process(process.pid),
            FoundTarget::System => Target::System,
            FoundTarget::Cgroup(_) => Target::Cgroup,
        }
    }

    pub(crate) fn process(&self) -> Option<&FoundProcess> {
        match self {
            FoundTarget::Held(process) | FoundTarget::Process(process) => Some(process),
            FoundTarget::System | FoundTarget::Cgroup(_) => None,
        }
    }

    pub(crate) fn cgroup(&self) -> Option<&Arc<Cgroup>> {
        match self {
            FoundTarget::Cgroup(group) => Some(group),
            FoundTarget::Held(_) | FoundTarget::Process(_) | FoundTarget::System => None,
        }
    }

    pub(crate) fn is_there(&self) -> bool {
        self.process().is_none_or(FoundProcess::is_alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_by_its_name_has_that_name() {
        let own = ProcessIdentity::of(std::process::id().cast_signed()).unwrap();
        for named in [NamedTarget::Process(own), NamedTarget::Held(own), NamedTarget::System] {
            let found = FoundTarget::open(named, &[]).unwrap();
            assert_eq!(found.named().unwrap(), (named, &[][..]));
            assert!(found.is_there());
        }
        let later = ProcessIdentity { start_time: own.start_time + 1, ..own };
        let absent = FoundTarget::open(NamedTarget::Process(later), &[]).unwrap_err();
        assert_eq!(absent.raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn a_process_that_has_ended_has_no_name_any_more() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let found = FoundTarget::Process(FoundProcess::running(child.id().cast_signed()).unwrap());
        child.wait().unwrap();
        assert!(!found.is_there());
        assert_eq!(found.named().unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert_eq!(FoundProcess::running(0).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }
}
