//! A line between the supervisor and a worker. What a worker says goes
//! through a pipe, which carries bytes and nothing else; what it is told
//! comes through a socket that carries nothing the other way. So whatever a
//! worker holds, and in whose hands it is: none of it ever lies where the
//! supervisor would have to close it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::fd_passing::{self, ReceivedMessage};

/// Bytes that a pipe takes whole or not at all (pipe(7)), on every system.
pub(crate) const MAX_MESSAGE: usize = 4096;

/// The supervisor's end, which never waits.
#[derive(Debug)]
pub(crate) struct SupervisorEnd {
    receiver: OwnedFd,
    sender: OwnedFd,
}

#[derive(Debug)]
pub(crate) struct WorkerEnd {
    receiver: OwnedFd,
    sender: OwnedFd,
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
    let (receiver, other_sender) = pipe_with(PipeFlags::CLOEXEC)?;
    let (sender, other_receiver) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    // For good: from now on the other end cannot send (EPIPE), descriptors
    // least of all.
    shutdown(&sender, Shutdown::Read)?;
    // A worker that takes nothing must not hold up everybody else.
    for end in [&receiver, &sender] {
        rustix::io::ioctl_fionbio(end, true)?;
    }
    Ok((
        SupervisorEnd { receiver, sender },
        WorkerEnd { receiver: other_receiver, sender: other_sender },
    ))
}

impl SupervisorEnd {
    /// Takes the next bytes of a message, as many as the buffer has room for.
    /// A worker writes each message at once, so all are there or none.
    ///
    /// # Errors
    /// As read(2).
    pub(crate) fn receive(&self, bytes: &mut [u8]) -> io::Result<LineEvent> {
        match rustix::io::read(&self.receiver, &mut *bytes) {
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
    pub(crate) fn send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        fd_passing::send(&self.sender, bytes, fds).map(|_| ())
    }

    /// For tests that tell what no supervisor would.
    #[cfg(test)]
    pub(crate) fn sender(&self) -> BorrowedFd<'_> {
        self.sender.as_fd()
    }
}

/// Readable when the worker has said something.
impl AsFd for SupervisorEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }
}

impl WorkerEnd {
    /// Says a message of at most [`MAX_MESSAGE`] bytes, once there is room.
    ///
    /// # Errors
    /// EPIPE: the supervisor has gone. A message that is too long.
    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > MAX_MESSAGE {
            let text =
                format!("a message of {} bytes; at most {MAX_MESSAGE} go at once", bytes.len());
            return Err(io::Error::other(text));
        }
        loop {
            match rustix::io::write(&self.sender, bytes) {
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
    pub(crate) fn receive(&self, bytes: &mut [u8]) -> io::Result<ReceivedMessage> {
        fd_passing::receive_with_fds(&self.receiver, bytes)
    }

    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.receiver.as_fd(), self.sender.as_fd()]
    }

    /// The same line for a child that has just been forked, whose other
    /// descriptors are closed.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(crate) fn try_clone(&self) -> io::Result<WorkerEnd> {
        Ok(WorkerEnd { receiver: self.receiver.try_clone()?, sender: self.sender.try_clone()? })
    }

    pub(crate) fn into_halves(self) -> (OwnedFd, OwnedFd) {
        (self.receiver, self.sender)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_both_ways_and_descriptors_one() {
        let (supervisor, worker) = line().unwrap();
        let mut bytes = [0; 5];
        assert_eq!(supervisor.receive(&mut bytes).unwrap(), LineEvent::Silence);
        worker.send(b"hello").unwrap();
        worker.send(b"again").unwrap();
        assert_eq!(supervisor.receive(&mut bytes).unwrap(), LineEvent::Message);
        assert_eq!(&bytes, b"hello");
        assert_eq!(supervisor.receive(&mut bytes).unwrap(), LineEvent::Message);
        assert_eq!(&bytes, b"again");
        let (file, _other) = io::pipe().unwrap();
        supervisor.send(b"take", &[file.as_fd()]).unwrap();
        let received = worker.receive(&mut bytes).unwrap();
        assert_eq!((&bytes[..received.bytes], received.fds.len()), (&b"take"[..], 1));
        // Not a byte, and so nothing that comes with bytes.
        for fds in [&[file.as_fd()][..], &[]] {
            let error = fd_passing::send(&worker.receiver, b"x", fds).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
        }
        let error = fd_passing::send(&worker.sender, b"x", &[file.as_fd()]).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTSOCK));
    }

    #[test]
    fn a_worker_that_ends_or_says_half_a_message_is_told_from_a_silent_one() {
        let mut bytes = [0; 5];
        let (supervisor, worker) = line().unwrap();
        worker.send(b"half").unwrap();
        assert_eq!(supervisor.receive(&mut bytes).unwrap(), LineEvent::End);
        drop(worker);
        assert_eq!(supervisor.receive(&mut bytes).unwrap(), LineEvent::End);
        assert!(supervisor.send(b"x", &[]).is_err());
        let (supervisor, worker) = line().unwrap();
        drop(supervisor);
        assert_eq!(worker.send(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(worker.receive(&mut bytes).unwrap().bytes, 0);
        assert!(worker.send(&[0; MAX_MESSAGE + 1]).unwrap_err().to_string().contains("4097 bytes"));
    }
}
