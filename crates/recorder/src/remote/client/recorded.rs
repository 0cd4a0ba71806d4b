//! The stream of a standing session: what was recorded, and what is sampled.

use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Client, ClientError, DaemonMessage, unexpected};
use crate::remote::protocol::{Reply, Verb};

/// What the daemon says at a stream's end, once that was read.
#[derive(Clone, Debug, Default)]
pub struct RecordedEnding {
    reason: Rc<RefCell<Option<String>>>,
    damage: Rc<RefCell<Vec<String>>>,
}

impl RecordedEnding {
    /// Why it ended, and what is missing of it; None: it has not ended, or
    /// this was taken before.
    pub fn take(&self) -> Option<String> {
        self.reason.borrow_mut().take()
    }

    /// What of that the daemon could not read.
    pub fn damage(&self) -> Vec<String> {
        self.damage.borrow().clone()
    }
}

/// A connection that carries such a stream.
#[derive(Debug)]
pub struct Recorded {
    client: Client,
    /// Of the last frame, what was not read yet.
    left: Vec<u8>,
    at: usize,
    has_ended: bool,
    ending: RecordedEnding,
}

impl Recorded {
    /// Asks for what a session recorded since so long ago (None: all that is
    /// kept), or, `live`, for what it samples from now on.
    ///
    /// # Errors
    /// The daemon's refusal: there is no such session, or none that this
    /// user may read.
    pub fn open(
        mut client: Client,
        name: &str,
        since: Option<Duration>,
        live: bool,
    ) -> Result<Recorded, ClientError> {
        let since_seconds = since.map(|since| since.as_secs());
        let verb = Verb::Follow { name: name.to_owned(), since_seconds, live };
        match client.ask(&verb)? {
            Reply::Joined(_) => Ok(Recorded {
                client,
                left: Vec::new(),
                at: 0,
                has_ended: false,
                ending: RecordedEnding::default(),
            }),
            other => Err(unexpected(&other)),
        }
    }

    /// What will be said at the end.
    pub fn ending(&self) -> RecordedEnding {
        self.ending.clone()
    }

    /// Waits for more at most so long, and hands it on; false: nothing more
    /// will come.
    ///
    /// # Errors
    /// The daemon has gone, or says why it breaks off.
    pub fn wait(
        &mut self,
        timeout: Duration,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, ClientError> {
        let mut timeout = timeout;
        while !self.has_ended && (self.client.has_frame() || self.is_ready(timeout)?) {
            timeout = Duration::ZERO;
            self.hear(&mut |bytes| {
                each(bytes);
                Ok(())
            })?;
        }
        Ok(!self.has_ended)
    }

    fn is_ready(&self, timeout: Duration) -> Result<bool, ClientError> {
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut fds = [PollFd::from_borrowed_fd(self.client.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(errno) => Err(ClientError::Gone(errno.into())),
        }
    }

    fn hear(&mut self, data: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), ClientError> {
        match self.client.hear(data)? {
            DaemonMessage::Data => {}
            DaemonMessage::Reply(Reply::End { reason, notes, .. }) => {
                self.has_ended = true;
                *self.ending.reason.borrow_mut() = Some(reason);
                *self.ending.damage.borrow_mut() = notes;
            }
            DaemonMessage::Reply(Reply::Refused(complaint)) => {
                return Err(ClientError::Refused(complaint));
            }
            DaemonMessage::Reply(other) => return Err(unexpected(&other)),
        }
        Ok(())
    }
}

impl Read for Recorded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.left.len() && !self.has_ended {
            let mut left = std::mem::take(&mut self.left);
            left.clear();
            self.at = 0;
            let heard = self.hear(&mut |bytes| {
                left.extend_from_slice(bytes);
                Ok(())
            });
            self.left = left;
            heard.map_err(io::Error::other)?;
        }
        let rest = &self.left[self.at..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        Ok(length)
    }
}
