//! The worker's side: a kernel that asks the supervisor where it is refused.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arrayvec::ArrayString;
use recorder::session::synthesize::KernelFile;

use super::program::WireProgram;
use super::{BrokerReply, BrokerRequest, REPLY_BYTES, WireJob};
use crate::control::{StandingEntry, StandingStatus, text};
use crate::fd_passing::ReceivedMessage;
use crate::line::WorkerEnd;
use crate::policy::Permissions;

/// Bytes behind an answer that say why there is no program.
pub(crate) const REASON_BYTES: usize = 512;

/// The line to the supervisor. One request at a time: it answers at once,
/// as it waits for nobody.
#[derive(Debug)]
pub(crate) struct Broker {
    line: Mutex<WorkerEnd>,
    /// Bytes that are set aside for this worker.
    pub(super) reserved: AtomicU64,
    /// A request could not be sent, or was not answered.
    silent: AtomicBool,
}

#[derive(Debug)]
pub(crate) enum GrantError {
    Missing(Permissions),
    Refused(io::Error),
    Silent(io::Error),
}

impl Broker {
    pub(crate) fn new(line: WorkerEnd) -> Broker {
        Broker {
            line: Mutex::new(line),
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

    pub(super) fn call(&self, call: &BrokerRequest) -> io::Result<(BrokerReply, Option<OwnedFd>)> {
        let (answer, fds) = self.call_with(call, &[], &mut [])?;
        Ok((answer, fds.into_iter().next()))
    }

    /// The same with what goes behind the request; what comes behind the
    /// answer goes into `more`.
    ///
    /// # Errors
    /// The supervisor is silent. EMFILE: it has answered, and this process
    /// had no room for all that it handed over.
    fn call_with(
        &self,
        call: &BrokerRequest,
        behind: &[u8],
        more: &mut [u8],
    ) -> io::Result<(BrokerReply, Vec<OwnedFd>)> {
        match self.try_call_with(call, behind, more) {
            // A part of it would be taken for something else.
            Ok((_, received)) if !received.is_whole => Err(rustix::io::Errno::MFILE.into()),
            Ok((answer, received)) => Ok((answer, received.fds)),
            Err(error) => {
                self.silent.store(true, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    fn try_call_with(
        &self,
        call: &BrokerRequest,
        behind: &[u8],
        more: &mut [u8],
    ) -> io::Result<(BrokerReply, ReceivedMessage)> {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.send(&[&call.encode()[..], behind].concat())?;
        let mut bytes = vec![0; REPLY_BYTES + more.len()];
        let received = line.receive(&mut bytes)?;
        let Some((answer, rest)) = bytes.split_first_chunk::<REPLY_BYTES>() else {
            return Err(io::Error::other("an answer is longer than that"));
        };
        if received.bytes < REPLY_BYTES {
            return Err(io::Error::other("the supervisor has gone"));
        }
        more.copy_from_slice(rest);
        let no_answer = || io::Error::other("the supervisor says what no answer is");
        Ok((BrokerReply::decode(answer).ok_or_else(no_answer)?, received))
    }

    /// Says something that is not answered: nobody waits for a supervisor
    /// that is busy.
    pub(super) fn notify(&self, call: &BrokerRequest) {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        // Where the supervisor has gone nobody keeps an account.
        let _gone = line.send(&call.encode());
    }

    /// Asks for a job, on the control group of this path where it names one;
    /// gives the grant's number.
    pub(crate) fn grant(&self, job: WireJob, group: &[u8]) -> Result<u64, GrantError> {
        let answered = self.call_with(&BrokerRequest::Grant(job), group, &mut []);
        let (answer, _) = answered.map_err(GrantError::Silent)?;
        match answer.errno {
            0 => Ok(answer.value),
            libc::EACCES => Err(GrantError::Missing(Permissions::from_bits_truncate(
                u32::try_from(answer.value).unwrap_or(0),
            ))),
            errno => Err(GrantError::Refused(io::Error::from_raw_os_error(errno))),
        }
    }

    /// Whether this worker, which has been given so many connections, may
    /// end: not when another one is under way.
    pub(crate) fn leave(&self, given: u64) -> bool {
        self.call(&BrokerRequest::Leave { given }).is_ok_and(|(answer, _)| answer.errno == 0)
    }

    pub(crate) fn release(&self, grant: u64) {
        // Where the supervisor has gone there is nothing to release.
        let _gone = self.call(&BrokerRequest::Release { grant });
    }

    pub(crate) fn closed(&self) {
        self.notify(&BrokerRequest::Closed);
    }

    /// Has a standing session read to this user; gives what it is read from,
    /// or the error's number, which says why not.
    pub(crate) fn follow(
        &self,
        name: &str,
        since: Option<Duration>,
        live: bool,
    ) -> Result<OwnedFd, i32> {
        // Nothing has a longer one.
        let name = ArrayString::from(name).map_err(|_| libc::ENOENT)?;
        let call = BrokerRequest::Follow { name, since, live };
        let of = |error: io::Error| error.raw_os_error().unwrap_or(libc::EIO);
        let (answer, pipe) = self.call(&call).map_err(of)?;
        received(answer, pipe).map_err(of)
    }

    pub(crate) fn standing(&self) -> Vec<StandingEntry> {
        let mut lines = Vec::new();
        for place in 0.. {
            let mut bytes = [0; StandingEntry::BYTES];
            match self.call_with(&BrokerRequest::Standing { place }, &[], &mut bytes) {
                Ok((BrokerReply { errno: 0, .. }, _)) => {
                    lines.extend(StandingEntry::decode(&bytes))
                }
                Ok((BrokerReply { errno: libc::EACCES, .. }, _)) => {}
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
    pub(crate) fn maps(&self, grant: u64, pid: i32) -> io::Result<OwnedFd> {
        let (answer, fd) = self.call(&BrokerRequest::Maps { grant, pid })?;
        received(answer, fd)
    }

    /// A program that counts in the kernel, and its maps, within what was
    /// reserved; the error says why there is none.
    pub(super) fn program(
        &self,
        reservation: u64,
        program: WireProgram,
    ) -> Result<Vec<OwnedFd>, String> {
        let mut reason = [0; REASON_BYTES];
        let call = BrokerRequest::Program { reservation, program: Box::new(program) };
        match self.call_with(&call, &[], &mut reason) {
            Ok((BrokerReply { errno: 0, .. }, fds)) => Ok(fds),
            Ok((answer, _)) if reason[0] == 0 => {
                Err(io::Error::from_raw_os_error(answer.errno).to_string())
            }
            Ok(_) => Err(text(&reason)),
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) => Err(format!(
                "this worker has no room for the program and its maps: {error}; raise its limit of \
                 open files (LimitNOFILE= of the service)"
            )),
            Err(error) => Err(format!("the supervisor does not answer: {error}")),
        }
    }

    pub(crate) fn kernel(&self, grant: u64, file: KernelFile) -> io::Result<OwnedFd> {
        let (answer, fd) = self.call(&BrokerRequest::Kernel { grant, file })?;
        received(answer, fd)
    }
}

pub(super) fn received(answer: BrokerReply, fd: Option<OwnedFd>) -> io::Result<OwnedFd> {
    match answer.errno {
        0 => fd.ok_or_else(|| io::Error::other("an answer without its descriptor")),
        errno => Err(io::Error::from_raw_os_error(errno)),
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
    use crate::fd_passing::MAX_FDS;

    fn program() -> WireProgram {
        WireProgram::of(&InKernel::aggregate(), SampleContents::default()).unwrap()
    }

    /// A worker whose next request is answered with so many descriptors, and
    /// the supervisor's end.
    fn answered(handed: usize) -> (Broker, crate::line::SupervisorEnd) {
        let (supervisor, worker) = crate::line::line().unwrap();
        let file = std::io::pipe().unwrap().0;
        let fds = vec![file.as_fd(); handed];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_FDS * 2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        let bytes = BrokerReply::done(7).encode();
        sendmsg(supervisor.sender(), &[IoSlice::new(&bytes)], &mut control, SendFlags::empty())
            .unwrap();
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
