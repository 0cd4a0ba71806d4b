//! fork(2) of a process that goes on in this program.
//!
//! No exec: between that and the first instruction of `main` the child would
//! be an ordinary process of its user, who could take it over. A child that
//! is forked is never dumpable.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Forks; the child runs `life`, whose result is its exit status. Only for
/// processes with one thread: a lock that another thread held would stay
/// locked in the child for ever.
///
/// # Errors
/// More than one thread; what fork(2) says.
pub fn fork(life: impl FnOnce() -> u8) -> io::Result<i32> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("{threads} threads where a fork needs just one")));
    }
    // SAFETY: no other thread exists, so that no lock is held by one.
    let pid = unsafe { libc::fork() };
    match pid {
        0 => {
            let status = catch_unwind(AssertUnwindSafe(life)).unwrap_or(101);
            // SAFETY: takes no pointer, and does not return; what is
            // registered for exit belongs to the parent.
            unsafe { libc::_exit(i32::from(status)) }
        }
        pid if pid < 0 => Err(io::Error::last_os_error()),
        pid => Ok(pid),
    }
}

/// Waits for a child's end; None: a signal ended it.
pub fn status_of(pid: i32) -> io::Result<Option<i32>> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(rustix::io::Errno::CHILD)?;
    loop {
        match rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(status.exit_status()),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Closes all descriptors above stderr but these. For a child that has just
/// been forked: what it closes are its copies.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) {
    let mut kept: Vec<u32> =
        kept.iter().filter_map(|fd| u32::try_from(fd.as_raw_fd()).ok()).collect();
    kept.sort_unstable();
    let mut from = 3;
    for fd in kept.into_iter().chain([u32::MAX]) {
        if let Some(to) = fd.checked_sub(1).filter(|&to| to >= from) {
            // SAFETY: takes numbers only. What owns these descriptors in this
            // process is never used again: it is the parent's.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0) };
        }
        from = fd.saturating_add(1);
    }
}
