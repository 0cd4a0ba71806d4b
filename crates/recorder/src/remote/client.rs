//! The client's side of the protocol: one connection, blocking.

use std::cell::RefCell;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::remote::protocol::{
    ErrorReply, FRAME_HEADER, FrameError, FrameKind, MAX_DAEMON_PAYLOAD, OLDEST, Parsed, Reply,
    VERSION, Verb, frame, parse,
};
use crate::session::SessionError;

pub const SOCKET: &str = "/run/ebsd.sock";

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{}: {error}{}", .path.display(), advice(.error))]
    Connect { path: PathBuf, error: io::Error },
    #[error("{}", .0.text)]
    Refused(ErrorReply),
    #[error("the daemon has gone: {0}")]
    Gone(io::Error),
    #[error("the daemon speaks another protocol: {0}; install the same version of both")]
    Frame(#[from] FrameError),
    #[error("the daemon says what this program does not understand: {0}")]
    Message(String),
    #[error(
        "the daemon has not answered within {} s: it hangs, or is not ebsd (systemctl status ebsd)",
        .0.as_secs()
    )]
    Silent(Duration),
    #[error("the daemon answers {0}, which was not asked")]
    Unexpected(String),
}

impl From<serde_json::Error> for ClientError {
    fn from(error: serde_json::Error) -> ClientError {
        ClientError::Message(error.to_string())
    }
}

impl From<ClientError> for SessionError {
    fn from(error: ClientError) -> SessionError {
        SessionError::Elsewhere(error.into())
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "; no daemon runs there: systemctl start ebsd",
        io::ErrorKind::ConnectionRefused => {
            "; the daemon that made this socket has gone: systemctl restart ebsd"
        }
        _ => "",
    }
}

const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, taken apart at once")]
pub(crate) enum DaemonMessage {
    Reply(Reply),
    /// So many bytes of the stream, handed to the caller's function.
    Data,
}

/// A connection, past its hello.
#[derive(Debug)]
pub struct Client {
    stream: UnixStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that were taken already.
    taken: usize,
    uid: u32,
    permissions: Vec<String>,
    /// So long an answer may take.
    timeout: Duration,
}

impl Client {
    /// Connects and says hello.
    ///
    /// # Errors
    /// No daemon there; one of another version.
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        let stream = UnixStream::connect(path)
            .map_err(|error| ClientError::Connect { path: path.to_owned(), error })?;
        let mut client = Client {
            stream,
            buffer: Vec::new(),
            taken: 0,
            uid: 0,
            permissions: Vec::new(),
            timeout: HELLO_TIMEOUT,
        };
        client.wait_for(HELLO_TIMEOUT)?;
        let hello = Verb::Hello {
            oldest: OLDEST,
            newest: VERSION,
            client: concat!("ebs ", env!("CARGO_PKG_VERSION")).into(),
        };
        match client.ask(&hello)? {
            Reply::Welcome { uid, permissions, .. } => {
                (client.uid, client.permissions) = (uid, permissions);
                client.wait_for(ANSWER_TIMEOUT)?;
                Ok(client)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn wait_for(&mut self, timeout: Duration) -> Result<(), ClientError> {
        self.timeout = timeout;
        self.stream.set_read_timeout(Some(timeout)).map_err(ClientError::Gone)
    }

    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// What policy grants that user beyond the kernel's rules.
    pub fn permissions(&self) -> &[String] {
        &self.permissions
    }

    /// Sends a request, and waits for its answer. Not while a stream runs.
    ///
    /// # Errors
    /// A refusal; a connection that broke.
    pub fn ask(&mut self, verb: &Verb) -> Result<Reply, ClientError> {
        let told = match self.send(verb) {
            Err(ClientError::Gone(error)) if has_hung_up(&error) => Err(ClientError::Gone(error)),
            told => Ok(told?),
        };
        loop {
            // A daemon that refuses the connection says why before it closes
            // it, and does not wait for the request.
            let heard = self.receive(&mut |_| Ok(()));
            let heard = match (heard, &told) {
                (Err(_), Err(_)) => return told.and(Err(unexpected(&Reply::Done))),
                (heard, _) => heard?,
            };
            match heard {
                DaemonMessage::Reply(Reply::Refused(complaint)) => {
                    return Err(ClientError::Refused(complaint));
                }
                DaemonMessage::Reply(reply) => return Ok(reply),
                DaemonMessage::Data => {}
            }
        }
    }

    pub(crate) fn send(&mut self, verb: &Verb) -> Result<(), ClientError> {
        let body = serde_json::to_vec(verb)?;
        let header = frame(FrameKind::Control, body.len())?;
        let bytes = [&header[..], &body].concat();
        let mut sent = 0;
        while sent < bytes.len() {
            match send(&self.stream, &bytes[sent..], SendFlags::NOSIGNAL) {
                Ok(more) => sent += more,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(ClientError::Gone(error.into())),
            }
        }
        Ok(())
    }

    /// Waits for a frame; the stream's bytes go to `data`, whose failure is
    /// the caller's to remember.
    pub(crate) fn receive(
        &mut self,
        data: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<DaemonMessage, ClientError> {
        loop {
            match parse(&self.buffer[self.taken..], MAX_DAEMON_PAYLOAD)? {
                Parsed::Frame(frame, length) => {
                    let heard = match frame.kind {
                        FrameKind::Control => {
                            DaemonMessage::Reply(serde_json::from_slice(frame.payload)?)
                        }
                        FrameKind::Data => {
                            let _remembered = data(frame.payload);
                            DaemonMessage::Data
                        }
                    };
                    self.taken += length;
                    return Ok(heard);
                }
                Parsed::NeedMore(needed) => self.fill(needed)?,
            }
        }
    }

    /// Whether a frame is there, or something of one comes in time.
    pub(crate) fn has_frame_within(&self, timeout: Duration) -> Result<bool, ClientError> {
        let mut fds = [PollFd::from_borrowed_fd(self.as_fd(), PollFlags::IN)];
        Ok(self.has_frame() || wait_for(&mut fds, timeout).map_err(ClientError::Gone)?)
    }

    pub(crate) fn has_frame(&self) -> bool {
        matches!(parse(&self.buffer[self.taken..], MAX_DAEMON_PAYLOAD), Ok(Parsed::Frame(..)))
    }

    fn fill(&mut self, needed: usize) -> Result<(), ClientError> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let mut filled = self.buffer.len();
        self.buffer.resize(needed.max(FRAME_HEADER).max(64 * 1024), 0);
        let result = loop {
            if filled >= needed {
                break Ok(());
            }
            match self.stream.read(&mut self.buffer[filled..]) {
                Ok(0) => break Err(ClientError::Gone(io::ErrorKind::UnexpectedEof.into())),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    break Err(ClientError::Silent(self.timeout));
                }
                Err(error) => break Err(ClientError::Gone(error)),
            }
        };
        self.buffer.truncate(filled);
        result
    }
}

impl AsFd for Client {
    /// Readable when the daemon has sent something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// Waits until one of these is ready, or the time is over.
pub(crate) fn wait_for(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<bool> {
    match poll(fds, Timespec::try_from(timeout).ok().as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Whether there may be a last word to read.
fn has_hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}

pub(crate) fn unexpected(reply: &Reply) -> ClientError {
    let text = serde_json::to_string(reply).unwrap_or_default();
    ClientError::Unexpected(text.chars().take(200).collect())
}

#[derive(Clone, Debug, Default)]
pub struct RecordedStreamEnd {
    reason: Rc<RefCell<Option<String>>>,
    damage: Rc<RefCell<Vec<String>>>,
}

impl RecordedStreamEnd {
    /// Why it ended, and what is missing of it; None: it has not ended, or
    /// this was taken before.
    pub fn take(&self) -> Option<String> {
        self.reason.borrow_mut().take()
    }

    pub fn damage(&self) -> Vec<String> {
        self.damage.borrow().clone()
    }
}

#[derive(Debug)]
pub struct RecordedStream {
    client: Client,
    /// Of the last frame, what was not read yet.
    left: Vec<u8>,
    at: usize,
    has_ended: bool,
    ending: RecordedStreamEnd,
}

impl RecordedStream {
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
    ) -> Result<RecordedStream, ClientError> {
        let since_seconds = since.map(|since| since.as_secs());
        let verb = Verb::Follow { name: name.to_owned(), since_seconds, live };
        match client.ask(&verb)? {
            Reply::Joined(_) => Ok(RecordedStream {
                client,
                left: Vec::new(),
                at: 0,
                has_ended: false,
                ending: RecordedStreamEnd::default(),
            }),
            other => Err(unexpected(&other)),
        }
    }

    pub fn ending(&self) -> RecordedStreamEnd {
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
        while !self.has_ended && self.client.has_frame_within(timeout)? {
            timeout = Duration::ZERO;
            self.receive(&mut |bytes| {
                each(bytes);
                Ok(())
            })?;
        }
        Ok(!self.has_ended)
    }

    fn receive(
        &mut self,
        data: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), ClientError> {
        match self.client.receive(data)? {
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

impl Read for RecordedStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.left.len() && !self.has_ended {
            let mut left = std::mem::take(&mut self.left);
            left.clear();
            self.at = 0;
            let heard = self.receive(&mut |bytes| {
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
