//! Connections that the supervisor lets go: those that are not served, and its
//! copies of those that a worker has.
//!
//! Closing the last copy of one closes the descriptors that lie in it unread,
//! and closing those may last as long as whoever sent them likes (SO_LINGER).
//! From Linux 6.16 on nobody can send any to connections that are born without
//! SO_PASSRIGHTS, and keep to that. Before, and where somebody connected before
//! the listener lost it (a service manager's listens before the daemon
//! starts), a child does the closing: it is ending, so nothing lingers.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use recorder::remote::protocol::{ErrorCode, ErrorReply, FrameKind, Reply, frame};
use recorder::sys::child;
use rustix::net::{SendFlags, send};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::sys::peer::takes_descriptors;

/// Lets connections go without waiting for anybody.
#[derive(Debug, Default)]
pub(super) struct RejectedConnections {
    /// For which there was no child yet.
    waiting: Vec<UnixStream>,
    /// Children that close some each.
    closing: Vec<Pid>,
}

impl RejectedConnections {
    /// Says why, if that finds room at once, and lets the connection go.
    pub(super) fn refuse(&mut self, stream: UnixStream, code: ErrorCode, why: &str) {
        send_refusal(&stream, code, why);
        self.close(stream);
    }

    pub(super) fn close(&mut self, stream: UnixStream) {
        // Its own setting says so: a connected socket's does not change.
        if takes_descriptors(&stream) {
            self.waiting.push(stream);
            self.close_waiting();
        }
    }

    pub(super) fn reap(&mut self) {
        let runs = |child: &Pid| matches!(waitpid(Some(*child), WaitOptions::NOHANG), Ok(None));
        self.closing.retain(runs);
        self.close_waiting();
    }

    /// Those for which no child can be made now are kept: closed here, one
    /// could hold up everybody.
    fn close_waiting(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        match close_elsewhere(&mut self.waiting) {
            Ok(child) => self.closing.extend(child),
            Err(error) => tracing::warn!(
                %error,
                connections = self.waiting.len(),
                "no child to close connections that are over: they stay open for a while"
            ),
        }
    }
}

fn send_refusal(stream: &UnixStream, code: ErrorCode, why: &str) {
    let error = ErrorReply { code, text: format!("refused: {why}") };
    let Ok(body) = serde_json::to_vec(&Reply::Refused(error)) else { return };
    let Ok(header) = frame(FrameKind::Control, body.len()) else { return };
    if stream.set_nonblocking(true).is_ok() {
        // Who does not listen does not need to know.
        let _deaf = send(stream, &[&header[..], &body].concat(), SendFlags::NOSIGNAL);
    }
}

/// The child outlives this process's copies, and closes the last ones by
/// ending.
fn close_elsewhere(streams: &mut Vec<UnixStream>) -> io::Result<Option<Pid>> {
    let (held, holder) = io::pipe()?;
    let child = child::fork(|| {
        let kept: Vec<BorrowedFd<'_>> =
            [held.as_fd()].into_iter().chain(streams.iter().map(AsFd::as_fd)).collect();
        child::close_all_but(&kept);
        // Until the parent has closed its end, and the connections before it.
        let _end = rustix::io::read(&held, &mut [0]);
        0
    })?;
    streams.clear();
    drop(holder);
    Ok(Pid::from_raw(child))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::sys::peer::take_descriptors;

    #[test]
    fn a_child_closes_what_nobody_may_wait_for() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        // Tests have threads, of which a child has but one: it is let go
        // nonetheless once there is none.
        let mut rejected = RejectedConnections::default();
        rejected.close(ours);
        assert_eq!(rejected.waiting.len() + rejected.closing.len(), 1);
        drop(rejected);
        assert_eq!(theirs.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "a test that skips says why")]
    fn who_connected_before_may_have_sent_what_later_ones_cannot() {
        let scene = tempfile::tempdir().unwrap();
        let path = scene.path().join("sock");
        let listener = UnixListener::bind(&path).unwrap();
        let _early = UnixStream::connect(&path).unwrap();
        if take_descriptors(&listener, false).is_err() {
            eprintln!("skipped: SO_PASSRIGHTS is of Linux 6.16");
            return;
        }
        let _later = UnixStream::connect(&path).unwrap();
        let mut rejected = RejectedConnections::default();
        for kept in [1, 1] {
            rejected.close(listener.accept().unwrap().0);
            assert_eq!(rejected.waiting.len() + rejected.closing.len(), kept);
        }
    }
}
