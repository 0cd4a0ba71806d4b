//! Messages with descriptors over Unix sockets (SCM_RIGHTS, unix(7)).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Descriptors that one message of a client or a worker may carry.
pub(crate) const MOST_FDS: usize = 2;
/// Those that one of the supervisor may: a program, and its maps.
pub(crate) const MOST_HANDED: usize = 8;

/// What one recvmsg(2) gave.
#[derive(Debug)]
pub(crate) struct Received {
    /// Bytes in the caller's buffer; 0: the other side has closed.
    pub(crate) bytes: usize,
    /// Descriptors that came with them, close-on-exec.
    pub(crate) fds: Vec<OwnedFd>,
    /// More descriptors came than anybody may send; the rest is closed.
    pub(crate) too_many: bool,
}

/// Sends bytes and descriptors in one message; gives the bytes that went.
///
/// # Errors
/// As sendmsg(2); EPIPE instead of SIGPIPE.
pub(crate) fn send(socket: impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_HANDED))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    // The buffer is aligned up, and may have room for more.
    let fits = fds.len() <= MOST_HANDED;
    let mut is_packed = || fits && control.push(SendAncillaryMessage::ScmRights(fds));
    if !(fds.is_empty() || is_packed()) {
        return Err(io::Error::other("more descriptors than a message may carry"));
    }
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// Receives what there is, up to the buffer's length, from whom nobody
/// trusts.
///
/// # Errors
/// As recvmsg(2).
pub(crate) fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_FDS))];
    receive_at_most(socket, buffer, (&mut space, MOST_FDS))
}

/// The same from the supervisor, which hands over more.
///
/// # Errors
/// As recvmsg(2).
pub(crate) fn receive_handed(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST_HANDED))];
    receive_at_most(socket, buffer, (&mut space, MOST_HANDED))
}

fn receive_at_most(
    socket: impl AsFd,
    buffer: &mut [u8],
    (space, most): (&mut [MaybeUninit<u8>], usize),
) -> io::Result<Received> {
    let mut control = RecvAncillaryBuffer::new(space);
    let mut slices = [IoSliceMut::new(buffer)];
    let message = recvmsg(socket, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let mut fds = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = part {
            fds.extend(rights);
        }
    }
    // The buffer is aligned up, and may have room for more than were asked for.
    let too_many = message.flags.contains(ReturnFlags::CTRUNC) || fds.len() > most;
    fds.truncate(most);
    Ok(Received { bytes: message.bytes, fds, too_many })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_and_descriptors_arrive_together() {
        let (one, other) = UnixStream::pair().unwrap();
        let (mut reader, writer) = std::io::pipe().unwrap();
        assert_eq!(send(&one, b"hello", &[writer.as_fd()]).unwrap(), 5);
        drop(writer);
        let mut buffer = [0; 64];
        let received = receive(&other, &mut buffer).unwrap();
        assert_eq!((&buffer[..received.bytes], received.fds.len()), (&b"hello"[..], 1));
        let mut passed = std::fs::File::from(received.fds.into_iter().next().unwrap());
        passed.write_all(b"through").unwrap();
        drop(passed);
        let text = std::io::read_to_string(&mut reader).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn more_descriptors_than_allowed_are_told_and_closed() {
        let (one, other) = UnixStream::pair().unwrap();
        let files: Vec<_> = (0..20).map(|_| std::io::pipe().unwrap().0).collect();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(20))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&one, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL).unwrap();
        let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let received = receive(&other, &mut [0; 8]).unwrap();
        assert!(received.too_many);
        assert!(received.fds.len() <= MOST_FDS);
        let after = std::fs::read_dir("/proc/self/fd").unwrap().count();
        assert!(after <= before + MOST_FDS);
    }

    #[test]
    fn the_supervisor_hands_over_a_program_and_its_maps() {
        let (one, other) = UnixStream::pair().unwrap();
        let files: Vec<_> = (0..=MOST_HANDED).map(|_| std::io::pipe().unwrap().0).collect();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        send(&one, b"x", &fds[..MOST_HANDED]).unwrap();
        let received = receive_handed(&other, &mut [0; 8]).unwrap();
        assert_eq!((received.fds.len(), received.too_many), (MOST_HANDED, false));
        send(&one, b"x", &fds[..MOST_HANDED]).unwrap();
        assert!(receive(&other, &mut [0; 8]).unwrap().too_many, "nobody else does");
        let error = send(&one, b"x", &fds).unwrap_err();
        assert!(error.to_string().contains("more descriptors"), "{error}");
    }

    #[test]
    fn a_closed_peer_is_no_signal() {
        let (one, other) = UnixStream::pair().unwrap();
        drop(other);
        let error = send(&one, b"x", &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(receive(&one, &mut [0; 8]).unwrap().bytes, 0);
    }
}
