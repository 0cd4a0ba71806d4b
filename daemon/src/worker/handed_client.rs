//! A connection that the supervisor hands to a worker.

use std::io;
use std::os::fd::OwnedFd;

use crate::passing::Received;
use crate::sys::namespace;

#[derive(Debug)]
pub(crate) struct HandedClient {
    pub(crate) connection: OwnedFd,
    pub(crate) place: PidPlace,
}

impl HandedClient {
    /// What came with the order to serve it; `elsewhere`: its pid namespace,
    /// too.
    ///
    /// # Errors
    /// EMFILE: there was no room for all of it. Without its namespace, the
    /// client's numbers would be taken for the daemon's.
    pub(crate) fn of(received: Received, elsewhere: bool) -> io::Result<HandedClient> {
        let no_room = || io::Error::from(rustix::io::Errno::MFILE);
        if !received.is_whole {
            return Err(no_room());
        }
        let mut fds = received.fds.into_iter();
        let connection = fds.next().ok_or_else(no_room)?;
        let place = if elsewhere {
            PidPlace::Elsewhere(fds.next().ok_or_else(no_room)?)
        } else {
            PidPlace::Here
        };
        Ok(HandedClient { connection, place })
    }
}

/// The pid namespace of a client (pid_namespaces(7)), as it was when the
/// client connected.
#[derive(Debug)]
pub(crate) enum PidPlace {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn received(descriptors: usize, is_whole: bool) -> Received {
        let fds = (0..descriptors).map(|_| io::pipe().unwrap().0.into()).collect();
        Received { bytes: 1, fds, is_whole }
    }

    #[test]
    fn numbers_of_another_namespace_are_never_taken_for_those_of_this_one() {
        let place = |descriptors, is_whole, elsewhere| {
            HandedClient::of(received(descriptors, is_whole), elsewhere).map(|client| client.place)
        };
        assert!(matches!(place(1, true, false), Ok(PidPlace::Here)));
        assert!(matches!(place(2, true, true), Ok(PidPlace::Elsewhere(_))));
        for (descriptors, is_whole, elsewhere) in [
            (0, false, false),
            (0, true, false),
            (1, true, true),
            (1, false, true),
            (1, false, false),
        ] {
            let error = place(descriptors, is_whole, elsewhere).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        }
    }
}
