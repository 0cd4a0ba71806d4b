//! A connection that the supervisor hands to a worker.

use std::io;
use std::os::fd::OwnedFd;

use crate::fd_passing::ReceivedMessage;
use crate::sys::namespace;

#[derive(Debug)]
pub(crate) struct PassedClient {
    pub(crate) connection: OwnedFd,
    pub(crate) namespace: PidNamespace,
}

impl PassedClient {
    /// What came with the order to serve it; `elsewhere`: its pid namespace,
    /// too.
    ///
    /// # Errors
    /// EMFILE: there was no room for all of it. Without its namespace, the
    /// client's numbers would be taken for the daemon's.
    pub(crate) fn of(received: ReceivedMessage, elsewhere: bool) -> io::Result<PassedClient> {
        let no_room = || io::Error::from(rustix::io::Errno::MFILE);
        if !received.is_whole {
            return Err(no_room());
        }
        let mut fds = received.fds.into_iter();
        let connection = fds.next().ok_or_else(no_room)?;
        let namespace = if elsewhere {
            PidNamespace::Foreign(fds.next().ok_or_else(no_room)?)
        } else {
            PidNamespace::Own
        };
        Ok(PassedClient { connection, namespace })
    }
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

    fn received(descriptors: usize, is_whole: bool) -> ReceivedMessage {
        let fds = (0..descriptors).map(|_| io::pipe().unwrap().0.into()).collect();
        ReceivedMessage { bytes: 1, fds, is_whole }
    }

    #[test]
    fn numbers_of_another_namespace_are_never_taken_for_those_of_this_one() {
        let namespace = |descriptors, is_whole, elsewhere| {
            PassedClient::of(received(descriptors, is_whole), elsewhere)
                .map(|client| client.namespace)
        };
        assert!(matches!(namespace(1, true, false), Ok(PidNamespace::Own)));
        assert!(matches!(namespace(2, true, true), Ok(PidNamespace::Foreign(_))));
        for (descriptors, is_whole, elsewhere) in [
            (0, false, false),
            (0, true, false),
            (1, true, true),
            (1, false, true),
            (1, false, false),
        ] {
            let error = namespace(descriptors, is_whole, elsewhere).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
    }
}
