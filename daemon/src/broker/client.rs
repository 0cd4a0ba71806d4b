//! The worker's side: a kernel that asks the supervisor where it is refused.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{ANSWER_BYTES, Answer, Ask, JobWords, KernelFile};
use crate::passing;
use crate::permission::Permissions;
use crate::session::kernel::{Kernel, Linux};
use crate::standing::{Line, NAME_BYTES, STATUS_WORDS};
use crate::sys::event::{EncodedAttr, Event, Place};

/// The line to the supervisor. One request at a time: it answers at once,
/// as it waits for nobody.
#[derive(Debug)]
pub(crate) struct Broker {
    line: Mutex<OwnedFd>,
    /// Bytes that are set aside for this worker.
    pub(super) reserved: AtomicU64,
}

/// Why a job was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotGranted {
    /// Policy grants this user none of these.
    Missing(Permissions),
    /// The supervisor, or the kernel, refused for another reason.
    Refused(i32),
}

impl Broker {
    /// Over a connected SOCK_SEQPACKET socket.
    pub(crate) fn new(line: OwnedFd) -> Broker {
        Broker { line: Mutex::new(line), reserved: AtomicU64::new(0) }
    }

    /// Bytes that are set aside for this worker.
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    pub(super) fn ask(
        &self,
        ask: &Ask,
        fd: Option<BorrowedFd<'_>>,
    ) -> io::Result<(Answer, Option<OwnedFd>)> {
        self.ask_for(ask, fd, &mut [])
    }

    /// The same; what comes behind the answer goes into `more`.
    fn ask_for(
        &self,
        ask: &Ask,
        fd: Option<BorrowedFd<'_>>,
        more: &mut [u8],
    ) -> io::Result<(Answer, Option<OwnedFd>)> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let fds: Vec<BorrowedFd<'_>> = fd.into_iter().collect();
        passing::send(&*line, &ask.encode(), &fds)?;
        let mut bytes = vec![0; ANSWER_BYTES + more.len()];
        let received = passing::receive(&*line, &mut bytes)?;
        let Some((answer, rest)) = bytes.split_first_chunk::<ANSWER_BYTES>() else {
            return Err(io::Error::other("an answer is longer than that"));
        };
        if received.bytes < ANSWER_BYTES {
            return Err(io::Error::other("the supervisor has gone"));
        }
        more.copy_from_slice(rest);
        Ok((Answer::decode(answer), received.fds.into_iter().next()))
    }

    /// Says something that is not answered: nobody waits for a supervisor
    /// that is busy.
    pub(super) fn tell(&self, ask: &Ask) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        // Where the supervisor has gone nobody keeps an account.
        let _gone = passing::send(&*line, &ask.encode(), &[]);
    }

    /// Asks for a job; gives the grant's number.
    pub(crate) fn grant(
        &self,
        job: JobWords,
        pidfd: Option<BorrowedFd<'_>>,
    ) -> Result<u64, NotGranted> {
        let (answer, _) = self
            .ask(&Ask::Grant(job), pidfd)
            .map_err(|error| NotGranted::Refused(error.raw_os_error().unwrap_or(libc::EIO)))?;
        match answer.errno {
            0 => Ok(answer.value),
            libc::EACCES => Err(NotGranted::Missing(Permissions::from_bits_truncate(
                u32::try_from(answer.value).unwrap_or(0),
            ))),
            errno => Err(NotGranted::Refused(errno)),
        }
    }

    /// Whether this worker, which has been given so many connections, may
    /// end: not when another one is under way.
    pub(crate) fn leave(&self, given: u64) -> bool {
        self.ask(&Ask::Leave { given }, None).is_ok_and(|(answer, _)| answer.errno == 0)
    }

    /// Gives a grant back.
    pub(crate) fn release(&self, grant: u64) {
        // Where the supervisor has gone there is nothing to release.
        let _gone = self.ask(&Ask::Release { grant }, None);
    }

    /// Says that a connection has ended.
    pub(crate) fn closed(&self) {
        self.tell(&Ask::Closed);
    }

    /// Gives a client to a standing session; the error's number says why not.
    pub(crate) fn follow(
        &self,
        name: &str,
        (since, live): (Option<u64>, bool),
        client: BorrowedFd<'_>,
    ) -> Result<(), i32> {
        let mut padded = [0; NAME_BYTES];
        let text = name.as_bytes();
        padded.get_mut(..text.len()).ok_or(libc::ENOENT)?.copy_from_slice(text);
        let ask = Ask::Follow { name: padded, since: since.unwrap_or(u64::MAX), live };
        match self.ask(&ask, Some(client)) {
            Ok((Answer { errno: 0, .. }, _)) => Ok(()),
            Ok((answer, _)) => Err(answer.errno),
            Err(error) => Err(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    /// The standing sessions that this user may read.
    pub(crate) fn standing(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        for place in 0.. {
            let mut bytes = [0; Line::BYTES];
            match self.ask_for(&Ask::Standing { place }, None, &mut bytes) {
                Ok((Answer { errno: 0, .. }, _)) => lines.push(Line::decode(&bytes)),
                Ok((Answer { errno: libc::EACCES, .. }, _)) => {}
                Ok(_) | Err(_) => break,
            }
        }
        lines
    }

    /// Tells how a standing session goes.
    pub(crate) fn report(&self, status: [u64; STATUS_WORDS]) {
        // Where the supervisor has gone this ends soon, too.
        let _gone = self.ask(&Ask::Report { status }, None);
    }

    /// /proc/PID/maps of a process of the grant.
    pub(crate) fn maps(&self, grant: u64, pid: i32) -> io::Result<OwnedFd> {
        let (answer, fd) = self.ask(&Ask::Maps { grant, pid }, None)?;
        received(answer, fd)
    }

    /// A list of the kernel's, with its addresses.
    pub(crate) fn kernel(&self, grant: u64, file: KernelFile) -> io::Result<OwnedFd> {
        let (answer, fd) = self.ask(&Ask::Kernel { grant, file }, None)?;
        received(answer, fd)
    }
}

fn received(answer: Answer, fd: Option<OwnedFd>) -> io::Result<OwnedFd> {
    match answer.errno {
        0 => fd.ok_or_else(|| io::Error::other("an answer without its descriptor")),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// Opens as this process's user, and under a grant where that is refused.
#[derive(Debug)]
pub(crate) struct Brokered<'b> {
    pub(crate) broker: &'b Broker,
    pub(crate) grant: u64,
}

impl Kernel for Brokered<'_> {
    fn open(&self, attr: &mut EncodedAttr, place: Place<'_>) -> io::Result<Event> {
        match Linux.open(attr, place) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {}
            result => return result,
        }
        let ask = Ask::Open {
            grant: self.grant,
            tid: place.pid,
            cpu: place.cpu,
            attr: attr.words().to_vec(),
        };
        let (answer, fd) = self.broker.ask(&ask, place.leader.map(AsFd::as_fd))?;
        if answer.errno == libc::E2BIG
            && let Ok(known) = u32::try_from(answer.value)
        {
            attr.set_size(known);
        }
        Ok(Event::received(received(answer, fd)?, attr.read_format()))
    }

    fn share(&self, event: &Event, owner: &Event) -> io::Result<()> {
        Linux.share(event, owner)
    }
}
