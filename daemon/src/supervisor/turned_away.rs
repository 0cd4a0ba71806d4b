//! Connections that nobody serves.
//!
//! Closing one closes the descriptors that lie in it unread, and closing
//! those may last as long as whoever sent them likes (SO_LINGER, FUSE). From
//! Linux 6.16 on nobody can send any before a worker takes the connection.
//! Before that a child does the closing: it is ending, so nothing lingers.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::process::{Pid, WaitOptions, waitpid};

use super::door::refuse;
use crate::protocol::ComplaintCode;
use crate::sys::child;

/// Turns connections away without waiting for anybody.
#[derive(Debug)]
pub(super) struct TurnedAway {
    /// Nothing can lie in a connection that no worker has taken.
    pub(super) empty: bool,
    /// Children that close one each.
    closing: Vec<Pid>,
}

impl TurnedAway {
    pub(super) fn new(empty: bool) -> TurnedAway {
        TurnedAway { empty, closing: Vec::new() }
    }

    /// Says why, if that finds room at once, and lets the connection go.
    pub(super) fn refuse(&mut self, stream: UnixStream, code: ComplaintCode, why: &str) {
        refuse(&stream, code, why);
        self.close(stream);
    }

    /// Lets it go.
    pub(super) fn close(&mut self, stream: UnixStream) {
        if self.empty {
            return;
        }
        match close_elsewhere(stream) {
            Ok(child) => self.closing.extend(child),
            Err(error) => tracing::error!(%error, "a connection is closed here, which may last"),
        }
    }

    /// Buries children that have ended.
    pub(super) fn reap(&mut self) {
        let runs = |child: &Pid| matches!(waitpid(Some(*child), WaitOptions::NOHANG), Ok(None));
        self.closing.retain(runs);
    }
}

/// The child outlives this process's copy, and closes the last one by ending.
fn close_elsewhere(stream: UnixStream) -> io::Result<Option<Pid>> {
    let (held, holder) = io::pipe()?;
    let child = child::fork(|| {
        child::close_all_but(&[held.as_fd(), stream.as_fd()]);
        // Until the parent has closed its end, and the connection before it.
        let _end = rustix::io::read(&held, &mut [0]);
        0
    })?;
    drop(stream);
    drop(holder);
    Ok(Pid::from_raw(child))
}
