//! Waiting until no CPU is in the middle of writing a record.

use std::ffi::c_long;
use std::io;

/// Returns once every handler that was running in the kernel when it was
/// called has ended: perf writes records with preemption disabled, which an
/// RCU grace period outlasts (`MEMBARRIER_CMD_GLOBAL`: synchronize_rcu(),
/// kernel/sched/membarrier.c). Takes some 10 ms.
///
/// # Errors
/// EINVAL with `nohz_full` CPUs, ENOSYS where a seccomp filter hides it.
pub(crate) fn wait_for_handlers() -> io::Result<()> {
    let none: c_long = 0;
    // SAFETY: takes three numbers, and touches no memory of ours.
    let failed = unsafe {
        libc::syscall(libc::SYS_membarrier, c_long::from(libc::MEMBARRIER_CMD_GLOBAL), none, none)
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grace_period_ends() {
        match wait_for_handlers() {
            Ok(()) => {}
            Err(error) => assert!(
                [libc::EINVAL, libc::ENOSYS, libc::EPERM].map(Some).contains(&error.raw_os_error()),
                "{error}"
            ),
        }
    }
}
