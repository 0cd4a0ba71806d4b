//! What a pidfd tells of its process.

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

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
