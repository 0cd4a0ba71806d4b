//! Descriptors that the parent left open for this process.

use std::fs::File;
use std::os::fd::{FromRawFd, RawFd};

/// The descriptor of that number, which the parent left open and nothing
/// else in this process uses.
pub(in crate::ebs::selftest) fn inherited(number: RawFd) -> File {
    // SAFETY: the number comes from the parent, which made this process to
    // read or write it; nothing here has opened a file yet that could have
    // the same one. A number that is not open is EBADF at the first use.
    unsafe { File::from_raw_fd(number) }
}
