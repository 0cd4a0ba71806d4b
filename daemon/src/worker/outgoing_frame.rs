//! One frame on its way to a client, as far as the client takes it.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use recorder::remote::protocol::{FRAME_HEADER, FrameKind, MAX_DAEMON_PAYLOAD, Reply, frame};
use tokio::net::UnixStream;

use super::client_socket::send_bytes;

/// A frame, and how much of it has been sent.
#[derive(Debug)]
pub(super) struct OutgoingFrame {
    header: [u8; FRAME_HEADER],
    bytes: Arc<[u8]>,
    /// Of the bytes, the payload.
    payload: Range<usize>,
    sent: usize,
}

impl OutgoingFrame {
    pub(super) fn control(reply: &Reply) -> io::Result<OutgoingFrame> {
        let bytes: Arc<[u8]> = serde_json::to_vec(reply)?.into();
        let payload = 0..bytes.len();
        OutgoingFrame::new(FrameKind::Control, bytes, payload)
    }

    /// The first frame of a chunk of the stream; None: it is empty.
    pub(super) fn data(bytes: Arc<[u8]>) -> io::Result<Option<OutgoingFrame>> {
        OutgoingFrame::data_from(bytes, 0)
    }

    /// The frame that goes on with what this one has no room for.
    pub(super) fn rest(&self) -> io::Result<Option<OutgoingFrame>> {
        OutgoingFrame::data_from(Arc::clone(&self.bytes), self.payload.end)
    }

    fn data_from(bytes: Arc<[u8]>, from: usize) -> io::Result<Option<OutgoingFrame>> {
        let most = usize::try_from(MAX_DAEMON_PAYLOAD).unwrap_or(usize::MAX);
        let payload = from..bytes.len().min(from.saturating_add(most));
        match payload.is_empty() {
            true => Ok(None),
            false => OutgoingFrame::new(FrameKind::Data, bytes, payload).map(Some),
        }
    }

    fn new(kind: FrameKind, bytes: Arc<[u8]>, payload: Range<usize>) -> io::Result<OutgoingFrame> {
        let header = frame(kind, payload.len()).map_err(io::Error::other)?;
        Ok(OutgoingFrame { header, bytes, payload, sent: 0 })
    }

    /// What is to be sent next; empty: all has been.
    fn left(&self) -> &[u8] {
        match self.header.get(self.sent..) {
            Some(header) if !header.is_empty() => header,
            _ => {
                let from = self.payload.start + (self.sent - FRAME_HEADER);
                self.bytes.get(from..self.payload.end).unwrap_or(&[])
            }
        }
    }
}

/// Sends as much as finds room, once there is room; what has been sent whole
/// is taken away. Cancelled, it has sent nothing.
pub(super) async fn send_some(
    stream: &UnixStream,
    sending: &mut Option<OutgoingFrame>,
) -> io::Result<()> {
    let Some(frame) = sending else { return Ok(()) };
    frame.sent += send_bytes(stream, frame.left()).await?;
    if frame.left().is_empty() {
        *sending = None;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All frames of a chunk, sent so many bytes at a time.
    fn sent(chunk: usize, step: usize) -> Vec<u8> {
        let bytes: Arc<[u8]> = (0..=250u8).cycle().take(chunk).collect();
        let mut next = OutgoingFrame::data(bytes).unwrap();
        let mut all = Vec::new();
        while let Some(mut frame) = next {
            next = frame.rest().unwrap();
            while !frame.left().is_empty() {
                let taken = frame.left().len().min(step);
                all.extend_from_slice(&frame.left()[..taken]);
                frame.sent += taken;
            }
        }
        all
    }

    #[test]
    fn chunks_become_frames_however_few_bytes_find_room() {
        let most = usize::try_from(MAX_DAEMON_PAYLOAD).unwrap();
        for (chunk, frames) in [(0, 0), (1, 1), (most, 1), (most + 1, 2), (3 * most, 3)] {
            let all = sent(chunk, usize::MAX);
            assert_eq!(all.len(), chunk + frames * FRAME_HEADER, "{chunk}");
        }
        assert_eq!(sent(most + 9, 7), sent(most + 9, usize::MAX));
    }
}
