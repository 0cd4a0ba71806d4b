//! Messages with descriptors over Unix sockets (SCM_RIGHTS, unix(7)).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};

/// Descriptors that one message of the supervisor may carry: a program, and
/// its maps.
pub(crate) const MAX_FDS: usize = 9;

#[derive(Debug)]
pub(crate) struct ReceivedMessage {
    /// Bytes in the caller's buffer; 0: the other side has closed.
    pub(crate) bytes: usize,
    /// Descriptors that came with them, close-on-exec.
    pub(crate) fds: Vec<OwnedFd>,
    /// All that were sent are here; else this process has no room for more.
    pub(crate) is_whole: bool,
}

/// Sends bytes and descriptors in one message; gives the bytes that went.
///
/// # Errors
/// As sendmsg(2); EPIPE instead of SIGPIPE.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // The buffer is aligned up, and may have room for more.
    let fits = fds.len() <= MAX_FDS;
    let mut is_packed = || fits && control.push(SendAncillaryMessage::ScmRights(fds));
    if !(fds.is_empty() || is_packed()) {
        return Err(io::Error::other("more descriptors than a message may carry"));
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives bytes, up to the buffer's length, from whom nobody trusts; 0: the
/// other side has closed. There is no room for descriptors: before Linux 6.16,
/// where they can be sent all the same, the kernel closes them in the caller,
/// for as long as their sender likes. So only a process of that user calls it.
///
/// # Errors
/// As recv(2).
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(recv(socket, buffer, RecvFlags::empty())?.0)
}

/// Receives a message of the supervisor's, which alone sends descriptors.
///
/// # Errors
/// As recvmsg(2).
pub(crate) fn receive_with_fds(
    socket: impl AsFd,
    buffer: &mut [u8],
) -> io::Result<ReceivedMessage> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(buffer)];
    let message = recvmsg(socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = part {
            fds.extend(rights);
        }
    }
    // The kernel says nothing else of those that it could not install.
    let is_whole = !message.flags.contains(ReturnFlags::CTRUNC);
    Ok(ReceivedMessage { bytes: message.bytes, fds, is_whole })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    fn open_files() -> usize {
        std::fs::read_dir("/proc/self/fd").unwrap().count()
    }

    #[test]
    fn bytes_and_descriptors_arrive_together() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        assert_eq!(send(&one, b"hello", &[writer.as_fd()]).unwrap(), 5);
        drop(writer);
        let mut buffer = [0; 64];
        let received = receive_with_fds(&other, &mut buffer).unwrap();
        assert_eq!((&buffer[..received.bytes], received.fds.len()), (&b"hello"[..], 1));
        let mut passed = std::fs::File::from(received.fds.into_iter().next().unwrap());
        passed.write_all(b"through").unwrap();
        drop(passed);
        let text = std::io::read_to_string(&mut reader).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn bytes_are_received_and_no_descriptor() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        let before = open_files();
        send(&one, b"hello", &[writer.as_fd()]).unwrap();
        let mut buffer = [0; 64];
        assert_eq!(receive(&other, &mut buffer).unwrap(), 5);
        assert_eq!((&buffer[..5], open_files()), (&b"hello"[..], before));
        drop(writer);
        assert_eq!(std::io::Read::read(&mut reader, &mut [0]).unwrap(), 0, "nobody has it");
    }

    #[test]
    fn the_supervisor_hands_over_a_program_and_its_maps() {
        let (one, other) = UnixStream::pair().unwrap();
        let files: Vec<_> = (0..=MAX_FDS).map(|_| std::io::pipe().unwrap().0).collect();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        send(&one, b"x", &fds[..MAX_FDS]).unwrap();
        let received = receive_with_fds(&other, &mut [0; 8]).unwrap();
        assert_eq!((received.fds.len(), received.is_whole), (MAX_FDS, true));
        let error = send(&one, b"x", &fds).unwrap_err();
        assert!(error.to_string().contains("more descriptors"), "{error}");
    }

    #[test]
    fn descriptors_that_found_no_room_are_told() {
        let (one, other) = UnixStream::pair().unwrap();
        let file = std::io::pipe().unwrap().0;
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS * 2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [file.as_fd(); MAX_FDS * 2];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&one, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
        let received = receive_with_fds(&other, &mut [0; 8]).unwrap();
        assert!(!received.is_whole && received.fds.len() < fds.len(), "{received:?}");
    }

    #[test]
    fn a_closed_peer_is_no_signal() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(other);
        let error = send(&one, b"x", &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(receive(&one, &mut [0; 8]).unwrap(), 0);
    }
}
