//! The worker's side: a kernel that asks the supervisor where it is refused.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arrayvec::ArrayString;

use super::program::WireProgram;
use super::{BrokerAnswer, BrokerRefusal, BrokerReply, BrokerRequest, WireJob};
use crate::channel::{Received, WorkerEnd};
use crate::control::{StandingEntry, StandingStatus};

/// The channel to the supervisor. One request at a time: the supervisor answers
/// at once, as it never waits.
#[derive(Debug)]
pub(crate) struct Broker {
    channel: Mutex<WorkerEnd<BrokerRequest, BrokerReply>>,
    /// Bytes that are set aside for this worker.
    pub(super) reserved: AtomicU64,
    /// A request could not be sent, or was not answered.
    silent: AtomicBool,
}

#[derive(Debug)]
pub(crate) enum BrokerError {
    Refused(BrokerRefusal),
    /// No answer. EMFILE: it has answered, and this process had no room for
    /// all that it handed over.
    Silent(io::Error),
}

impl From<BrokerError> for io::Error {
    fn from(error: BrokerError) -> io::Error {
        match error {
            BrokerError::Refused(refusal) => refusal.into(),
            BrokerError::Silent(error) => error,
        }
    }
}

impl Broker {
    pub(crate) fn new(channel: WorkerEnd<BrokerRequest, BrokerReply>) -> Broker {
        Broker {
            channel: Mutex::new(channel),
            reserved: AtomicU64::new(0),
            silent: AtomicBool::new(false),
        }
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    pub(crate) fn reserved(&self) -> u64 {
        self.reserved.load(Ordering::Relaxed)
    }

    fn call(&self, request: &BrokerRequest) -> Result<(BrokerAnswer, Vec<OwnedFd>), BrokerError> {
        let received = self.exchange(request).map_err(|error| {
            self.silent.store(true, Ordering::Relaxed);
            BrokerError::Silent(error)
        })?;
        let fds = received.fds.map_err(BrokerError::Silent)?;
        Ok((received.message.map_err(BrokerError::Refused)?, fds))
    }

    fn exchange(&self, request: &BrokerRequest) -> io::Result<Received<BrokerReply>> {
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(request)?;
        channel.receive()?.ok_or_else(|| io::Error::other("the supervisor has gone"))
    }

    /// Asks for something that has a number from then on.
    pub(super) fn call_for_number(&self, request: &BrokerRequest) -> Result<u64, BrokerError> {
        match self.call(request)? {
            (BrokerAnswer::Number(number), _) => Ok(number),
            _ => Err(BrokerError::Silent(io::Error::other("an answer without its number"))),
        }
    }

    pub(super) fn call_for_fd(&self, request: &BrokerRequest) -> Result<OwnedFd, BrokerError> {
        let (_, fds) = self.call(request)?;
        let missing = || io::Error::other("an answer without its descriptor");
        fds.into_iter().next().ok_or_else(|| BrokerError::Silent(missing()))
    }

    /// Sends a request that is not answered: a busy supervisor holds up no
    /// session.
    pub(super) fn notify(&self, request: &BrokerRequest) {
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        // A supervisor that has gone keeps no account.
        let _gone = channel.send(request);
    }

    /// Asks for a job; gives the grant's number.
    pub(crate) fn grant(&self, job: WireJob) -> Result<u64, BrokerError> {
        self.call_for_number(&BrokerRequest::Grant(Box::new(job)))
    }

    /// Whether this worker, which has been given so many connections, may
    /// end: not when another one is under way.
    pub(crate) fn leave(&self, given: u64) -> bool {
        self.call(&BrokerRequest::Leave { given }).is_ok()
    }

    pub(crate) fn release(&self, grant: u64) {
        // Where the supervisor has gone there is nothing to release.
        let _gone = self.call(&BrokerRequest::Release { grant });
    }

    pub(crate) fn closed(&self) {
        self.notify(&BrokerRequest::Closed);
    }

    /// Has a standing session read to this user; gives what it is read from.
    /// The error's number says why not.
    pub(crate) fn follow(
        &self,
        name: &str,
        since: Option<Duration>,
        live: bool,
    ) -> io::Result<OwnedFd> {
        // Nothing has a longer one.
        let name = ArrayString::from(name).map_err(|_| rustix::io::Errno::NOENT)?;
        Ok(self.call_for_fd(&BrokerRequest::Follow { name, since, live })?)
    }

    pub(crate) fn standing(&self) -> Vec<StandingEntry> {
        let mut lines = Vec::new();
        for place in 0.. {
            match self.call(&BrokerRequest::Standing { place }) {
                Ok((BrokerAnswer::Standing(entry), _)) => lines.push(entry),
                // Of a session that this user may not read.
                Err(BrokerError::Refused(BrokerRefusal::Errno(libc::EACCES))) => {}
                Ok(_) | Err(_) => break,
            }
        }
        lines
    }

    pub(crate) fn report(&self, status: StandingStatus) {
        // Where the supervisor has gone this ends soon, too.
        let _gone = self.call(&BrokerRequest::Report { status });
    }

    /// /proc/PID/maps of a process of the grant.
    pub(super) fn maps(&self, grant: u64, pid: i32) -> io::Result<OwnedFd> {
        Ok(self.call_for_fd(&BrokerRequest::Maps { grant, pid })?)
    }

    /// A program that counts in the kernel, and its maps, within what was
    /// reserved; the error says why there is none.
    pub(super) fn program(
        &self,
        reservation: u64,
        program: WireProgram,
    ) -> Result<Vec<OwnedFd>, String> {
        let request = BrokerRequest::Program { reservation, program: Box::new(program) };
        match self.call(&request) {
            Ok((_, fds)) => Ok(fds),
            Err(BrokerError::Refused(refusal)) => Err(io::Error::from(refusal).to_string()),
            Err(BrokerError::Silent(error)) if error.raw_os_error() == Some(libc::EMFILE) => {
                Err(format!(
                    "this worker has no room for the program and its maps: {error}; raise its \
                     limit of open files (LimitNOFILE= of the service)"
                ))
            }
            Err(BrokerError::Silent(error)) => {
                Err(format!("the supervisor does not answer: {error}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::IoSlice;
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;

    use rustix::cmsg_space;
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

    use recorder::in_kernel::{InKernel, SampleContents};

    use super::*;
    use crate::channel::{MAX_FDS, MAX_MESSAGE, SupervisorEnd, channel, encode};

    fn program() -> WireProgram {
        WireProgram::of(&InKernel::aggregate(), SampleContents::default()).unwrap()
    }

    /// A worker whose next request is answered with so many descriptors, and
    /// the supervisor's end.
    fn answered(handed: usize) -> (Broker, SupervisorEnd<BrokerRequest, BrokerReply>) {
        let (supervisor, worker) = channel().unwrap();
        let file = std::io::pipe().unwrap().0;
        let fds = vec![file.as_fd(); handed];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS * 2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let mut bytes = [0; MAX_MESSAGE];
        let packet =
            IoSlice::new(encode(&BrokerReply::Ok(BrokerAnswer::Done), &mut bytes).unwrap());
        sendmsg(supervisor.sender(), &[packet], &mut control, SendFlags::empty()).unwrap();
        (Broker::new(worker), supervisor)
    }

    #[test]
    fn an_answer_that_is_cut_short_is_an_error_that_says_why() {
        let (broker, _supervisor) = answered(MAX_FDS);
        assert_eq!(broker.program(1, program()).unwrap().len(), MAX_FDS);
        let (broker, _supervisor) = answered(MAX_FDS * 2);
        let why = broker.program(1, program()).unwrap_err();
        assert!(why.starts_with("this worker has no room for the program"), "{why}");
        assert!(why.contains("Too many open files") && why.contains("LimitNOFILE="), "{why}");
        let (broker, _supervisor) = answered(MAX_FDS * 2);
        let error = broker.maps(1, 1).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMFILE));
        assert!(!broker.is_silent(), "it has answered");
    }
}
