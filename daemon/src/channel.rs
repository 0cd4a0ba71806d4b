//! The channel between the supervisor and a worker. A worker has two:
//! [`crate::control`] for orders and reports, [`crate::broker`] for requests
//! and replies.
//!
//! A worker sends through a pipe, which carries bytes and nothing else; the
//! supervisor sends through a socket that carries nothing the other way. So
//! the supervisor never has to close a descriptor that a worker sent, even if
//! somebody has taken the worker over.
//!
//! Every message is one packet of at most [`MAX_MESSAGE`] bytes, written by
//! postcard. Message types hold nothing that grows (`ArrayVec`, `ArrayString`),
//! so that no length in a packet allocates anything. A packet is a message only
//! if it is, byte for byte, how that message is written.

use std::io::{self, IoSlice, IoSliceMut};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net;

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType,
    recvmsg, sendmsg, shutdown, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

/// Bytes of the longest packet that a pipe takes (PIPE_BUF, pipe(7)).
pub(crate) const MAX_MESSAGE: usize = 4096;
/// Descriptors beside a message of the supervisor's: a program and its maps.
pub(crate) const MAX_FDS: usize = 9;

/// The supervisor's end, which never waits. It receives `Up`, and sends
/// `Down`.
#[derive(Debug)]
pub(crate) struct SupervisorEnd<Up, Down> {
    receiver: OwnedFd,
    sender: OwnedFd,
    messages: PhantomData<fn(Down) -> Up>,
}

#[derive(Debug)]
pub(crate) struct WorkerEnd<Up, Down> {
    receiver: OwnedFd,
    sender: OwnedFd,
    messages: PhantomData<fn(Up) -> Down>,
}

/// What the supervisor finds in a channel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming<M> {
    Message(M),
    /// A packet that is no message.
    Invalid,
    Empty,
    /// The worker has closed its end.
    Closed,
}

/// What a worker receives.
#[derive(Debug)]
pub(crate) struct Received<M> {
    pub(crate) message: M,
    /// Close-on-exec. EMFILE: this process had no room for all of them, and
    /// some would be taken for others.
    pub(crate) fds: io::Result<Vec<OwnedFd>>,
}

/// Both ends of a channel.
///
/// # Errors
/// No descriptors are left.
pub(crate) fn channel<Up, Down>() -> io::Result<(SupervisorEnd<Up, Down>, WorkerEnd<Up, Down>)> {
    // Packets: a worker that undoes this (F_SETFL) sends what is no message.
    let (receiver, other_sender) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT)?;
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
        SupervisorEnd { receiver, sender, messages: PhantomData },
        WorkerEnd { receiver: other_receiver, sender: other_sender, messages: PhantomData },
    ))
}

impl<Up: Serialize + DeserializeOwned, Down: Serialize> SupervisorEnd<Up, Down> {
    /// Takes the next message.
    ///
    /// # Errors
    /// As read(2).
    pub(crate) fn receive(&self) -> io::Result<Incoming<Up>> {
        let mut bytes = [0; MAX_MESSAGE];
        match rustix::io::read(&self.receiver, &mut bytes) {
            Ok(0) => Ok(Incoming::Closed),
            Ok(read) => Ok(decode(&bytes[..read]).map_or(Incoming::Invalid, Incoming::Message)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Incoming::Empty),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a message and descriptors, where there is room at once.
    ///
    /// # Errors
    /// As sendmsg(2); `WouldBlock`: the worker takes nothing. EPIPE instead of
    /// SIGPIPE.
    pub(crate) fn send(&self, message: &Down, fds: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        // The buffer is aligned up, and may have room for more.
        let fits = fds.len() <= MAX_FDS;
        let mut is_packed = || fits && control.push(SendAncillaryMessage::ScmRights(fds));
        if !(fds.is_empty() || is_packed()) {
            return Err(io::Error::other("more descriptors than a message may carry"));
        }
        let mut bytes = [0; MAX_MESSAGE];
        let packet = IoSlice::new(encode(message, &mut bytes)?);
        sendmsg(&self.sender, &[packet], &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// For tests that send what no supervisor would.
    #[cfg(test)]
    pub(crate) fn sender(&self) -> BorrowedFd<'_> {
        self.sender.as_fd()
    }
}

/// Readable when the worker has sent something.
impl<Up, Down> AsFd for SupervisorEnd<Up, Down> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }
}

impl<Up: Serialize, Down: Serialize + DeserializeOwned> WorkerEnd<Up, Down> {
    /// Sends a message, once there is room.
    ///
    /// # Errors
    /// EPIPE: the supervisor has gone. A message that is too long.
    pub(crate) fn send(&self, message: &Up) -> io::Result<()> {
        let mut bytes = [0; MAX_MESSAGE];
        let packet = encode(message, &mut bytes)?;
        // A packet is written whole.
        rustix::io::retry_on_intr(|| rustix::io::write(&self.sender, packet))?;
        Ok(())
    }

    /// Waits for the next message; None: the supervisor has gone.
    ///
    /// # Errors
    /// As recvmsg(2).
    pub(crate) fn receive(&self) -> io::Result<Option<Received<Down>>> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; MAX_MESSAGE];
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let packet = recvmsg(&self.receiver, &mut slices, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let mut fds = Vec::new();
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = part {
                fds.extend(rights);
            }
        }
        if packet.bytes == 0 {
            return Ok(None);
        }
        let invalid = || io::Error::other("the supervisor sends what is no message");
        let message = decode(&bytes[..packet.bytes]).ok_or_else(invalid)?;
        // The kernel says nothing else of those that it could not install.
        let is_whole = !packet.flags.contains(ReturnFlags::CTRUNC);
        let fds = if is_whole { Ok(fds) } else { Err(Errno::MFILE.into()) };
        Ok(Some(Received { message, fds }))
    }

    /// Its descriptor for a task of the runtime to wait for, so that
    /// [`WorkerEnd::receive`] does not.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(crate) fn readiness(&self) -> io::Result<UnixStream> {
        let socket = net::UnixStream::from(self.receiver.try_clone()?);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket)
    }
}

impl<Up, Down> WorkerEnd<Up, Down> {
    pub(crate) fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.receiver.as_fd(), self.sender.as_fd()]
    }

    /// The same end for a child that has just been forked, whose other
    /// descriptors are closed.
    ///
    /// # Errors
    /// No descriptors are left.
    pub(crate) fn try_clone(&self) -> io::Result<WorkerEnd<Up, Down>> {
        let (receiver, sender) = (self.receiver.try_clone()?, self.sender.try_clone()?);
        Ok(WorkerEnd { receiver, sender, messages: PhantomData })
    }
}

pub(crate) fn encode<'b>(
    message: &impl Serialize,
    bytes: &'b mut [u8; MAX_MESSAGE],
) -> io::Result<&'b [u8]> {
    postcard::to_slice(message, bytes).map(|packet| &*packet).map_err(io::Error::other)
}

/// The message that is written like that; None: there is none.
pub(crate) fn decode<M: Serialize + DeserializeOwned>(packet: &[u8]) -> Option<M> {
    let message: M = postcard::from_bytes(packet).ok()?;
    let mut bytes = [0; MAX_MESSAGE];
    encode(&message, &mut bytes).is_ok_and(|written| written == packet).then_some(message)
}

/// A message as its receiver has it.
#[cfg(test)]
pub(crate) fn passed<M: Serialize + DeserializeOwned>(message: &M) -> Option<M> {
    decode(encode(message, &mut [0; MAX_MESSAGE]).unwrap())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use arrayvec::ArrayVec;
    use serde::Deserialize;

    use super::*;

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum TestMessage {
        Number(u32),
        Pair { first: bool, second: u64 },
        Bytes(Box<ArrayVec<u8, MAX_MESSAGE>>),
    }

    type TestChannel = (SupervisorEnd<TestMessage, u32>, WorkerEnd<TestMessage, u32>);

    fn test_channel() -> TestChannel {
        channel().unwrap()
    }

    fn filled(bytes: usize) -> TestMessage {
        TestMessage::Bytes(Box::new(std::iter::repeat_n(7, bytes).collect()))
    }

    #[test]
    fn messages_go_both_ways_and_descriptors_one() {
        let (supervisor, worker) = test_channel();
        assert_eq!(supervisor.receive().unwrap(), Incoming::Empty);
        let sent = [TestMessage::Number(1), filled(MAX_MESSAGE - 3), TestMessage::Number(2)];
        sent.iter().for_each(|message| worker.send(message).unwrap());
        for message in sent {
            assert_eq!(supervisor.receive().unwrap(), Incoming::Message(message));
        }
        let (mut reader, file) = io::pipe().unwrap();
        supervisor.send(&5, &[file.as_fd()]).unwrap();
        drop(file);
        let Received { message, fds } = worker.receive().unwrap().unwrap();
        let [passed] = <[OwnedFd; 1]>::try_from(fds.unwrap()).unwrap();
        std::fs::File::from(passed).write_all(b"through").unwrap();
        assert_eq!((message, io::read_to_string(&mut reader).unwrap().as_str()), (5, "through"));
        // Not a byte, and so nothing that comes with bytes.
        let (_reader, file) = io::pipe().unwrap();
        let send = |to: &OwnedFd, fds: &[BorrowedFd<'_>]| {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds)));
            sendmsg(to, &[IoSlice::new(b"x")], &mut control, SendFlags::NOSIGNAL).unwrap_err()
        };
        for fds in [&[file.as_fd()][..], &[]] {
            assert_eq!(send(&worker.receiver, fds), Errno::PIPE);
        }
        assert_eq!(send(&worker.sender, &[file.as_fd()]), Errno::NOTSOCK);
    }

    #[test]
    fn a_worker_that_ends_is_told_from_a_silent_one() {
        let (supervisor, worker) = test_channel();
        assert!(worker.send(&filled(MAX_MESSAGE - 2)).is_err(), "a byte too long");
        drop(worker);
        assert_eq!(supervisor.receive().unwrap(), Incoming::Closed);
        assert!(supervisor.send(&1, &[]).is_err());
        let (supervisor, worker) = test_channel();
        drop(supervisor);
        let gone = worker.send(&TestMessage::Number(1)).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::BrokenPipe);
        assert!(worker.receive().unwrap().is_none());
    }

    #[test]
    fn packets_that_a_worker_cuts_or_joins_are_no_messages() {
        let (supervisor, worker) = test_channel();
        let write = |bytes: &[u8]| rustix::io::write(&worker.sender, bytes).unwrap();
        let mut bytes = [0; MAX_MESSAGE];
        let pair = TestMessage::Pair { first: true, second: u64::MAX };
        let pair = encode(&pair, &mut bytes).unwrap();
        write(&pair[..pair.len() - 1]);
        // Longer than a packet: the rest comes as one of its own.
        write(&[0; MAX_MESSAGE + 1]);
        for _ in 0..3 {
            assert_eq!(supervisor.receive().unwrap(), Incoming::Invalid);
        }
        rustix::fs::fcntl_setfl(&worker.sender, rustix::fs::OFlags::empty()).unwrap();
        write(pair);
        write(pair);
        assert_eq!(supervisor.receive().unwrap(), Incoming::Invalid);
        assert_eq!(supervisor.receive().unwrap(), Incoming::Empty);
    }

    #[test]
    fn a_message_has_one_form_and_what_is_not_that_is_refused() {
        let pair = TestMessage::Pair { first: true, second: 7 };
        for message in [TestMessage::Number(300), pair] {
            assert_eq!(passed(&message), Some(message));
        }
        assert_eq!(decode(&[0, 5]), Some(TestMessage::Number(5)));
        for (packet, why) in [
            (&[0, 5, 0][..], "something behind it"),
            (&[0, 0x85, 0], "the same number at length"),
            (&[9, 0], "no such kind"),
            (&[1, 2, 0], "neither true nor false"),
            (&[0], "cut short"),
            (&[2, 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2], "longer than any"),
        ] {
            assert_eq!(decode::<TestMessage>(packet), None, "{why}");
        }
    }

    #[test]
    fn the_supervisor_hands_over_a_program_and_its_maps() {
        let (supervisor, worker) = test_channel();
        let files: Vec<_> = (0..=MAX_FDS).map(|_| io::pipe().unwrap().0).collect();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        supervisor.send(&1, &fds[..MAX_FDS]).unwrap();
        let received = worker.receive().unwrap().unwrap();
        assert_eq!(received.fds.unwrap().len(), MAX_FDS);
        let error = supervisor.send(&1, &fds).unwrap_err();
        assert!(error.to_string().contains("more descriptors"), "{error}");
    }

    #[test]
    fn descriptors_that_found_no_room_are_an_error() {
        let (supervisor, worker) = test_channel();
        let file = io::pipe().unwrap().0;
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS * 2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fds = [file.as_fd(); MAX_FDS * 2];
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let packet = [IoSlice::new(&[5])];
        sendmsg(supervisor.sender(), &packet, &mut control, SendFlags::empty()).unwrap();
        let Received { message, fds } = worker.receive().unwrap().unwrap();
        assert_eq!((message, fds.unwrap_err().raw_os_error()), (5, Some(libc::EMFILE)));
    }
}
