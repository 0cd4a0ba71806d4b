//! A process by numbers that no other ever has: its own, and when it was
//! given that.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessIdentity {
    pub pid: i32,
    /// Field 22 of /proc/PID/stat (proc_pid_stat(5)), clock ticks since boot.
    pub start_time: u64,
}

impl ProcessIdentity {
    /// The process that has this number now; None: there is none, or /proc
    /// hides it.
    pub fn of(pid: i32) -> Option<ProcessIdentity> {
        let start_time = start_time(Path::new("/proc"), pid)?;
        Some(ProcessIdentity { pid, start_time })
    }

    /// A pidfd of it. The start time is compared once that is open: from then
    /// on the number cannot become another's.
    ///
    /// # Errors
    /// ESRCH: it has ended, or there never was any.
    pub fn open(self) -> io::Result<OwnedFd> {
        let gone = rustix::io::Errno::SRCH;
        let raw = (self.pid > 0).then(|| Pid::from_raw(self.pid)).flatten().ok_or(gone)?;
        let pidfd = pidfd_open(raw, PidfdFlags::empty())?;
        match ProcessIdentity::of(self.pid) {
            Some(now) if now == self => Ok(pidfd),
            _ => Err(gone.into()),
        }
    }
}

/// Field 22 of /proc/PID/stat.
pub fn start_time(proc: &Path, pid: i32) -> Option<u64> {
    let stat = std::fs::read(proc.join(pid.to_string()).join("stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The name before the last parenthesis may hold anything.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// A pidfd is readable once its process has ended: until then the number is
/// not given to another.
pub fn is_alive(pidfd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(pidfd, PollFlags::IN)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&zero)).is_ok_and(|ready| ready == 0)
}

/// The process of a pidfd, in this pid namespace (`Pid:` of
/// /proc/self/fdinfo); None: it is no pidfd, or its process is not to be seen
/// here.
pub fn pid_of(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    line.trim().parse().ok().filter(|&pid: &i32| pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_its_number_and_its_time() {
        let own = ProcessIdentity::of(std::process::id().cast_signed()).unwrap();
        assert!(own.open().is_ok());
        let absent = |other: ProcessIdentity| other.open().unwrap_err().raw_os_error();
        let later = ProcessIdentity { start_time: own.start_time + 1, ..own };
        for other in [later, ProcessIdentity { pid: 0, ..own }, ProcessIdentity { pid: -1, ..own }]
        {
            assert_eq!(absent(other), Some(libc::ESRCH), "{other:?}");
        }
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let theirs = ProcessIdentity::of(child.id().cast_signed()).unwrap();
        child.wait().unwrap();
        assert_eq!(absent(theirs), Some(libc::ESRCH));
    }
}
