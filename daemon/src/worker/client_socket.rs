//! Bytes to and from a client, and no descriptors.

use std::io;
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// So long a client may take nothing of what is left for it once its session
/// is over, or of a standing session.
pub(crate) const LINGER_TIMEOUT: Duration = Duration::from_secs(60);

/// Sends as much as finds room, once there is room. Cancelled, it has sent
/// nothing.
///
/// # Errors
/// As send(2); EPIPE instead of SIGPIPE.
pub(super) async fn send_bytes(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let send = || Ok(send(stream, bytes, SendFlags::NOSIGNAL)?);
    stream.async_io(Interest::WRITABLE, send).await
}

/// Receives bytes, up to the buffer's length; 0: the client has closed.
/// There is no room for descriptors: before Linux 6.16, where they can be sent
/// all the same, the kernel closes them in the caller, for as long as their
/// sender likes. So only a process of that user calls it.
///
/// # Errors
/// As recv(2).
pub(super) async fn receive_bytes(stream: &UnixStream, buffer: &mut [u8]) -> io::Result<usize> {
    let receive = || Ok(recv(stream, &mut *buffer, RecvFlags::empty())?.0);
    stream.async_io(Interest::READABLE, receive).await
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;

    use rustix::cmsg_space;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, sendmsg};

    use super::*;

    fn open_files() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[tokio::test]
    async fn bytes_are_received_and_no_descriptor() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        let before = open_files();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [writer.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&one, &[IoSlice::new(b"hello")], &mut control, SendFlags::empty()).unwrap();
        let mut buffer = [0; 64];
        assert_eq!(receive_bytes(&other, &mut buffer).await.unwrap(), 5);
        assert_eq!((&buffer[..5], open_files()), (&b"hello"[..], before));
        drop(writer);
        assert_eq!(io::Read::read(&mut reader, &mut [0]).unwrap(), 0, "nobody has it");
    }

    #[tokio::test]
    async fn a_closed_peer_is_no_signal() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(other);
        let error = send_bytes(&one, b"x").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
