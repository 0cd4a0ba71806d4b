//! A connection that the supervisor hands to a worker.

use std::io;
use std::os::fd::OwnedFd;

use crate::sys::namespace;

/// What came with the order to serve a client: the connection, and where it is
/// `elsewhere`, its pid namespace.
///
/// # Errors
/// EMFILE: there was no room for all of it. Without its namespace, the client's
/// numbers would be taken for the daemon's.
pub(crate) fn passed_client(
    fds: Vec<OwnedFd>,
    elsewhere: bool,
) -> io::Result<(OwnedFd, PidNamespace)> {
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or(rustix::io::Errno::MFILE);
    let connection = next()?;
    let namespace = if elsewhere { PidNamespace::Foreign(next()?) } else { PidNamespace::Own };
    Ok((connection, namespace))
}

/// The pid namespace of a client (pid_namespaces(7)), as it was when the
/// client connected.
#[derive(Debug)]
pub(crate) enum PidNamespace {
    Own,
    /// Another, opened by the supervisor.
    Foreign(OwnedFd),
}

impl PidNamespace {
    /// The number here of the process that the client calls `pid`.
    ///
    /// # Errors
    /// ESRCH: there is none. ENOTTY: a kernel before Linux 6.11 cannot tell.
    pub(super) fn to_own(&self, pid: i32) -> io::Result<i32> {
        match self {
            PidNamespace::Own => Ok(pid),
            PidNamespace::Foreign(namespace) => namespace::number_here(namespace, pid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_another_namespace_are_never_taken_for_those_of_this_one() {
        let namespace = |descriptors, elsewhere| {
            let fds = (0..descriptors).map(|_| io::pipe().unwrap().0.into()).collect();
            passed_client(fds, elsewhere).map(|(_, namespace)| namespace)
        };
        assert!(matches!(namespace(1, false), Ok(PidNamespace::Own)));
        assert!(matches!(namespace(2, true), Ok(PidNamespace::Foreign(_))));
        for (descriptors, elsewhere) in [(0, false), (1, true)] {
            let error = namespace(descriptors, elsewhere).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
    }
}
