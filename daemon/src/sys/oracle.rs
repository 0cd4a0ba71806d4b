//! The kernel's own answer to whether one process may look at another.
//!
//! kcmp(2) makes the check that perf_event_open(2) makes of a task
//! (PTRACE_MODE_READ_REALCREDS), and nothing else that a sysctl could refuse.

use std::io;

/// KCMP_VM of include/uapi/linux/kcmp.h.
const KCMP_VM: libc::c_long = 1;

/// Asks as this process. Never in a thread of a process with rights: the
/// kernel lets a thread look at all of its own process.
///
/// # Errors
/// EPERM: it may not; ESRCH: there is no such process; ENOSYS: the kernel
/// was built without kcmp(2).
pub(crate) fn may_look_at(pid: i32) -> io::Result<()> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // SAFETY: kcmp takes numbers only.
    let result = unsafe { libc::syscall(libc::SYS_kcmp, own, pid, KCMP_VM, 0, 0) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
