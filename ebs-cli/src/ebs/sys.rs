//! The edge to the kernel, for every subcommand.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

/// ADDR_NO_RANDOMIZE of personality(2).
const FIXED: libc::c_ulong = 0x0004_0000;
/// Asks for what it is.
const QUERY: libc::c_ulong = 0xffff_ffff;
/// Below are the three descriptors that every program has.
const FIRST: RawFd = 3;

/// Has the programs that this one starts from now on have the same addresses in
/// each run.
///
/// # Errors
/// Of personality(2), where a filter forbids it.
pub(super) fn fix_addresses() -> io::Result<()> {
    // SAFETY: personality(2) takes a number, and touches no memory.
    let was = unsafe { libc::personality(QUERY) };
    let wanted = libc::c_ulong::try_from(was).map_err(|_| io::Error::last_os_error())? | FIXED;
    // SAFETY: as above.
    let done = unsafe { libc::personality(wanted) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

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

/// The descriptor of that number, which the parent left open and nothing
/// else in this process uses.
pub(super) fn inherited(number: RawFd) -> File {
    // SAFETY: the number comes from the parent, which made this process to
    // read or write it; nothing here has opened a file yet that could have
    // the same one. A number that is not open is EBADF at the first use.
    unsafe { File::from_raw_fd(number) }
}
