//! Where a client's process numbers hold.

use std::io;
use std::os::fd::OwnedFd;

use crate::sys::namespace;

/// The pid namespace of a client (pid_namespaces(7)), as it was when the
/// client connected.
#[derive(Debug)]
pub(crate) enum PidPlace {
    /// The daemon's own.
    Here,
    /// Another, opened by the supervisor.
    Elsewhere(OwnedFd),
}

impl PidPlace {
    /// The number here of the process that the client calls `pid`.
    ///
    /// # Errors
    /// ESRCH: there is none. ENOTTY: a kernel before Linux 6.11 cannot tell.
    pub(super) fn here(&self, pid: i32) -> io::Result<i32> {
        match self {
            PidPlace::Here => Ok(pid),
            PidPlace::Elsewhere(namespace) => namespace::number_here(namespace, pid),
        }
    }
}
