//! What a standing session's worker writes, on its way to a client of another
//! one: bytes, so that neither has anything of the other's.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::connection::LINGER_TIMEOUT;
use crate::fd_passing;

/// Bytes on the way.
const ROOM: usize = 64 * 1024;

/// Passes on what comes, to its end; until the client goes, says what nobody
/// asked for while it is sent what is sampled (`live`), or takes nothing for
/// too long.
pub(super) async fn relay(stream: &UnixStream, source: OwnedFd, live: bool) -> io::Result<()> {
    let source = pipe::Receiver::from_owned_fd(source)?;
    let mut room = vec![0; ROOM];
    loop {
        let read = tokio::select! {
            ready = source.readable() => {
                ready?;
                match source.try_read(&mut room) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    read => read?,
                }
            }
            spoken = has_spoken(stream), if live => return spoken,
        };
        if read == 0 {
            return Ok(());
        }
        let mut rest = &room[..read];
        while !rest.is_empty() {
            let send = || fd_passing::send(stream.as_fd(), rest, &[]);
            let sent = timeout(LINGER_TIMEOUT, stream.async_io(Interest::WRITABLE, send)).await;
            rest = &rest[sent.map_err(|_| io::ErrorKind::TimedOut)??..];
        }
    }
}

/// Waits until the client says something, or goes.
async fn has_spoken(stream: &UnixStream) -> io::Result<()> {
    let mut word = [0; 64];
    let receive = || fd_passing::receive(stream.as_fd(), &mut word);
    stream.async_io(Interest::READABLE, receive).await.map(|_| ())
}
