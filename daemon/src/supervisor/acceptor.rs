//! Where connections come in, and who is turned away.

use std::fs::File;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

use recorder::remote::protocol::ErrorCode;

use super::rejected::RejectedConnections;

/// After descriptors ran out, no connection is accepted for so long.
const BACK_OFF: Duration = Duration::from_millis(100);

/// The listening socket, with descriptors in reserve: without them, a
/// connection that finds none left could not even be refused, and would keep
/// the socket readable.
#[derive(Debug)]
pub(super) struct Acceptor {
    reserve: Vec<File>,
    paused_until: Option<Instant>,
}

impl Acceptor {
    pub(super) fn new() -> Acceptor {
        Acceptor { reserve: reserve(), paused_until: None }
    }

    /// How long it stays shut; None: it is open.
    pub(super) fn paused_for(&mut self) -> Option<Duration> {
        let left = self.paused_until?.checked_duration_since(Instant::now());
        if left.is_none() {
            self.paused_until = None;
        }
        left
    }

    /// The next connection; None: there is none, or it was refused for want
    /// of descriptors.
    pub(super) fn accept(
        &mut self,
        listener: &UnixListener,
        rejected: &mut RejectedConnections,
    ) -> Option<UnixStream> {
        let error = match listener.accept() {
            Ok((stream, _)) => return Some(stream),
            Err(error) => error,
        };
        match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE) => {
                self.refuse_next(listener, &error, rejected);
            }
            _ if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => tracing::warn!(%error, "no connection could be taken"),
        }
        None
    }

    pub(super) fn pause(&mut self) {
        self.paused_until = Some(Instant::now() + BACK_OFF);
    }

    fn refuse_next(
        &mut self,
        listener: &UnixListener,
        error: &io::Error,
        rejected: &mut RejectedConnections,
    ) {
        self.reserve.clear();
        if let Ok((stream, _)) = listener.accept() {
            rejected.refuse(stream, ErrorCode::Exhausted, &out_of_descriptors(error));
        }
        self.reserve = reserve();
        tracing::warn!(%error, "a connection is refused, and no other taken for a moment");
        self.pause();
    }
}

/// As many as it takes to accept a connection and to have a child close it.
fn reserve() -> Vec<File> {
    (0..4).map_while(|_| File::open("/dev/null").ok()).collect()
}

pub(super) fn is_out_of_descriptors(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

pub(super) fn out_of_descriptors(error: &io::Error) -> String {
    format!(
        "the daemon has no file descriptor left ({error}): try again later, or raise its LimitNOFILE"
    )
}
