//! A line between the supervisor and a worker. What a worker says goes
//! through a pipe, which carries bytes and nothing else; what it is told
//! comes through a socket that carries nothing the other way. So whatever a
//! worker holds, and in whose hands it is: none of it ever lies where the
//! supervisor would have to close it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::passing::{self, Received};

/// Bytes that a pipe takes whole or not at all (pipe(7)), on every system.
pub(crate) const LONGEST: usize = 4096;

/// The supervisor's end, which never waits.
#[derive(Debug)]
pub(crate) struct SupervisorEnd {
    ear: OwnedFd,
    mouth: OwnedFd,
}

#[derive(Debug)]
pub(crate) struct WorkerEnd {
    ear: OwnedFd,
    mouth: OwnedFd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEvent {
    /// The buffer is full.
    Message,
    Silence,
    /// The worker says no more: it has closed its end, or says what no
    /// message is.
    End,
}

/// Both ends of a line.
///
/// # Errors
/// No descriptors are left.
pub(crate) fn line() -> io::Result<(SupervisorEnd, WorkerEnd)> {
    let (ear, their_mouth) = pipe_with(PipeFlags::CLOEXEC)?;
    let (mouth, their_ear) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // For good: from now on the other end cannot send (EPIPE), descriptors
    // least of all.
    shutdown(&mouth, Shutdown::Read)?;
    // A worker that takes nothing must not hold up everybody else.
    for end in [&ear, &mouth] {
        rustix::io::ioctl_fionbio(end, true)?;
    }
    Ok((SupervisorEnd { ear, mouth }, WorkerEnd { ear: their_ear, mouth: their_mouth }))
}

impl SupervisorEnd {
    /// Takes the next bytes of a message, as many as the buffer has room for.
    /// A worker writes each message at once, so all are there or none.
    ///
    /// # Errors
    /// As read(2).
    pub(crate) fn hear(&self, bytes: &mut [u8]) -> io::Result<LineEvent> {
        match rustix::io::read(&self.ear, &mut *bytes) {
            Ok(read) if read == bytes.len() && read > 0 => Ok(LineEvent::Message),
            Ok(_) => Ok(LineEvent::End),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(LineEvent::Silence),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the worker something, where there is room at once.
    ///
    /// # Errors
    /// As sendmsg(2); `WouldBlock`: the worker takes nothing.
    pub(crate) fn tell(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        passing::send(&self.mouth, bytes, fds).map(|_| ())
    }

    /// For tests that tell what no supervisor would.
    #[cfg(test)]
    pub(crate) fn mouth(&self) -> BorrowedFd<'_> {
        self.mouth.as_fd()
    }
}

/// Readable when the worker has said something.
impl AsFd for SupervisorEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.ear.as_fd()
    }
}

impl WorkerEnd {
    /// Says a message of at most [`LONGEST`] bytes, once there is room.
    ///
    /// # Errors
    /// EPIPE: the supervisor has gone. A message that is too long.
    pub(crate) fn say(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > LONGEST {
            let text = format!("a message of {} bytes; at most {LONGEST} go at once", bytes.len());
            return Err(io::Error::other(text));
        }
        loop {
            match rustix::io::write(&self.mouth, bytes) {
                Ok(written) if written == bytes.len() => return Ok(()),
                Ok(_) => return Err(io::ErrorKind::WriteZero.into()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for what the supervisor tells.
    ///
    /// # Errors
    /// As recvmsg(2).
    pub(crate) fn hear(&self, bytes: &mut [u8]) -> io::Result<Received> {
        passing::receive_handed(&self.ear, bytes)
    }

    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.ear.as_fd(), self.mouth.as_fd()]
    }

    /// The same line for a child that has just been forked, whose other
    /// descriptors are closed.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(crate) fn try_clone(&self) -> io::Result<WorkerEnd> {
        Ok(WorkerEnd { ear: self.ear.try_clone()?, mouth: self.mouth.try_clone()? })
    }

    pub(crate) fn into_halves(self) -> (OwnedFd, OwnedFd) {
        (self.ear, self.mouth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_both_ways_and_descriptors_one() {
        let (supervisor, worker) = line().unwrap();
        let mut bytes = [0; 5];
        assert_eq!(supervisor.hear(&mut bytes).unwrap(), LineEvent::Silence);
        worker.say(b"hello").unwrap();
        worker.say(b"again").unwrap();
        assert_eq!(supervisor.hear(&mut bytes).unwrap(), LineEvent::Message);
        assert_eq!(&bytes, b"hello");
        assert_eq!(supervisor.hear(&mut bytes).unwrap(), LineEvent::Message);
        assert_eq!(&bytes, b"again");
        let (file, _other) = io::pipe().unwrap();
        supervisor.tell(b"take", &[file.as_fd()]).unwrap();
        let received = worker.hear(&mut bytes).unwrap();
        assert_eq!((&bytes[..received.bytes], received.fds.len()), (&b"take"[..], 1));
        // Not a byte, and so nothing that comes with bytes.
        for fds in [&[file.as_fd()][..], &[]] {
            let error = passing::send(&worker.ear, b"x", fds).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
        let error = passing::send(&worker.mouth, b"x", &[file.as_fd()]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
    }

    #[test]
    fn a_worker_that_ends_or_says_half_a_message_is_told_from_a_silent_one() {
        let mut bytes = [0; 5];
        let (supervisor, worker) = line().unwrap();
        worker.say(b"half").unwrap();
        assert_eq!(supervisor.hear(&mut bytes).unwrap(), LineEvent::End);
        drop(worker);
        assert_eq!(supervisor.hear(&mut bytes).unwrap(), LineEvent::End);
        assert!(supervisor.tell(b"x", &[]).is_err());
        let (supervisor, worker) = line().unwrap();
        drop(supervisor);
        assert_eq!(worker.say(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(worker.hear(&mut bytes).unwrap().bytes, 0);
        assert!(worker.say(&[0; LONGEST + 1]).unwrap_err().to_string().contains("4097 bytes"));
    }
}
