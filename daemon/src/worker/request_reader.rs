//! Frames of one client, read into a buffer of fixed size.

use std::io;
use std::time::Duration;

use recorder::remote::protocol::{
    ClientRequest, FRAME_HEADER, FrameError, FrameKind, MAX_CLIENT_PAYLOAD, Parsed, parse, request,
};
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout_at};

use super::client_socket::receive_bytes;

/// A frame that has begun must be whole by then.
const PARTIAL_FRAME_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestReadError {
    #[error("the client has gone")]
    Closed,
    #[error("the connection ended inside a frame")]
    Cut,
    #[error("a frame was not whole within {} s", PARTIAL_FRAME_TIMEOUT.as_secs())]
    Dribble,
    #[error("no hello within 5 s")]
    Late,
    #[error(transparent)]
    ProtocolFrame(#[from] FrameError),
    #[error("a data frame from a client")]
    Data,
    #[error("no request: {0}")]
    Message(serde_json::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
}

#[derive(Debug)]
pub(crate) struct RequestReader {
    buffer: Box<[u8]>,
    filled: usize,
    /// When the rest of a frame was waited for first.
    begun: Option<Instant>,
}

impl RequestReader {
    pub(crate) fn new() -> RequestReader {
        let size = FRAME_HEADER + usize::try_from(MAX_CLIENT_PAYLOAD).unwrap_or(0);
        RequestReader { buffer: vec![0; size].into(), filled: 0, begun: None }
    }

    /// The next request. Cancelled, it loses nothing.
    pub(crate) async fn next(
        &mut self,
        stream: &UnixStream,
    ) -> Result<ClientRequest, RequestReadError> {
        loop {
            if let Some(asked) = self.parsed()? {
                self.begun = None;
                return Ok(asked);
            }
            let free = &mut self.buffer[self.filled..];
            let received = if self.filled == 0 {
                receive_bytes(stream, free).await?
            } else {
                // Of the frame, not of each of its bytes.
                let deadline = *self.begun.get_or_insert_with(Instant::now) + PARTIAL_FRAME_TIMEOUT;
                let received = timeout_at(deadline, receive_bytes(stream, free)).await;
                received.map_err(|_| RequestReadError::Dribble)??
            };
            match received {
                0 if self.filled == 0 => return Err(RequestReadError::Closed),
                0 => return Err(RequestReadError::Cut),
                bytes => self.filled += bytes,
            }
        }
    }

    fn parsed(&mut self) -> Result<Option<ClientRequest>, RequestReadError> {
        match parse(&self.buffer[..self.filled], MAX_CLIENT_PAYLOAD)? {
            Parsed::NeedMore(_) => Ok(None),
            Parsed::Frame(frame, taken) => {
                if frame.kind != FrameKind::Control {
                    return Err(RequestReadError::Data);
                }
                let asked = request(frame.payload).map_err(RequestReadError::Message)?;
                self.buffer.copy_within(taken..self.filled, 0);
                self.filled -= taken;
                Ok(Some(asked))
            }
        }
    }
}
