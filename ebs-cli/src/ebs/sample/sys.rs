//! Descriptors by number.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// Below are the three that every program has.
const FIRST: RawFd = 3;

/// A copy of a descriptor that whoever started us has left open, close-on-exec
/// itself.
pub(super) fn copy_of(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes no pointer; a number that is not open is
    // EBADF.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, FIRST) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor; nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}
