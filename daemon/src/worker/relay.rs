//! What a standing session's worker writes, on its way to a client of another
//! one: bytes, so that neither has anything of the other's.

use std::io;
use std::os::fd::OwnedFd;

use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::client_socket::{LINGER_TIMEOUT, receive_bytes, send_bytes};

/// Bytes on the way.
const ROOM: usize = 64 * 1024;

/// Passes on what comes, to its end, or until the client goes, sends something
/// while it gets live records (`live`), or takes nothing for too long.
pub(super) async fn relay(stream: &UnixStream, source: OwnedFd, live: bool) -> io::Result<()> {
    let source = pipe::Receiver::from_owned_fd(source)?;
    let (mut room, mut word) = (vec![0; ROOM], [0; 64]);
    loop {
        let read = tokio::select! {
            ready = source.readable() => {
                ready?;
                match source.try_read(&mut room) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                    read => read?,
                }
            }
            // It says something, or goes.
            spoken = receive_bytes(stream, &mut word), if live => return spoken.map(drop),
        };
        if read == 0 {
            return Ok(());
        }
        let mut rest = &room[..read];
        while !rest.is_empty() {
            let sent = timeout(LINGER_TIMEOUT, send_bytes(stream, rest)).await;
            rest = &rest[sent.map_err(|_| io::ErrorKind::TimedOut)??..];
        }
    }
}
