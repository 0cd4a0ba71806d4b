//! A descriptor whose closing lasts as long as its sender likes.

use std::{
    io::{IoSlice, Write},
    net::{TcpListener, TcpStream},
    os::{fd::AsFd, unix::net::UnixStream},
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};

/// A TCP connection with more to send than its other side takes, to be
/// closed no sooner than after so long.
pub(super) fn lingering(time: Duration) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (other, _) = listener.accept().unwrap();
    // Open, and never read.
    std::mem::forget(other);
    stream.set_nonblocking(true).unwrap();
    while stream.write(&[0; 65536]).is_ok() {}
    stream.set_nonblocking(false).unwrap();
    rustix::net::sockopt::set_socket_linger(&stream, Some(time)).unwrap();
    stream
}

/// Sends it with bytes, and keeps none of it. The kernel may refuse to take
/// it (EPERM, since Linux 6.16), or the daemon have hung up.
pub(super) fn send(to: &UnixStream, bytes: &[u8], what: TcpStream) -> Result<(), Errno> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [what.as_fd()];
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let sent = sendmsg(to, &[IoSlice::new(bytes)], &mut control, flags).map(|_| ());
    if sent.is_err() {
        // Here its closing would last as well.
        rustix::net::sockopt::set_socket_linger(&what, None).unwrap();
    }
    assert!(matches!(sent, Ok(()) | Err(Errno::PERM | Errno::PIPE | Errno::CONNRESET)), "{sent:?}");
    sent
}
