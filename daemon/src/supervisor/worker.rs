//! The supervisor's side of one worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open, set_dumpable_behavior,
};

use super::Limits;
use super::program;
use super::pulse::Pulse;
use crate::broker::{ASK_BYTES, Answer, Ask, Grants, PROGRAM_WORDS, REASON_BYTES, Stranger};
use crate::control::{Order, REPORT_BYTES, Report};
use crate::credentials::Credentials;
use crate::guard::{Admission, Full, Holder};
use crate::passing;
use crate::permission::Permissions;
use crate::standing::{Follow, Role};
use crate::sys::peer::take_descriptors;
use crate::sys::{child, inherited};
use crate::worker::{self, Start};

/// Requests that a worker may make between two ticks; an attach to a process
/// of many threads makes one for each of their events.
const MOST_ASKS: u32 = 20_000;
/// Programs that it may have loaded between two ticks: each is some
/// milliseconds of the supervisor's time.
const MOST_PROGRAMS: u32 = 8;
/// Answers requests that are about standing sessions, with what comes behind
/// the answer; None: it is no such request.
pub(super) type Errand<'e> = dyn FnMut(&Ask, Option<&OwnedFd>) -> Option<(Answer, Vec<u8>)> + 'e;

/// A worker that runs.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) user: Credentials,
    pub(super) permissions: Permissions,
    /// It keeps a standing session, and serves nobody.
    is_standing: bool,
    /// The policy has changed since it started: who connects is served by
    /// another one.
    pub(super) outdated: bool,
    /// It has been let go, and serves nobody else.
    pub(super) leaving: bool,
    /// Connections that it was given.
    given: u64,
    /// Whether it answers, and its sessions move.
    pub(super) pulse: Pulse,
    /// What it reported last.
    pub(super) report: Report,
    pid: i32,
    pidfd: OwnedFd,
    control: OwnedFd,
    broker: OwnedFd,
    grants: Grants,
    /// It has closed one of its lines.
    has_hung_up: bool,
    /// Requests since the last tick.
    asked: u32,
    /// Programs loaded since then.
    loaded: u32,
}

/// One that was told to end.
#[derive(Debug)]
pub(super) struct Leaving {
    pid: i32,
    pidfd: OwnedFd,
}

fn pair(kind: SocketType) -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?)
}

impl Worker {
    /// Forks one.
    pub(super) fn start(
        user: Credentials,
        permissions: Permissions,
        limits: Limits,
        standing: Option<&Role>,
    ) -> io::Result<Worker> {
        let (control, theirs) = pair(SocketType::SEQPACKET)?;
        let (broker, their_broker) = pair(SocketType::SEQPACKET)?;
        // A worker that takes nothing must not hold up everybody else.
        for end in [&control, &broker] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        // Reports carry none; before Linux 6.16 they are closed as they come.
        let _since_6_16 = take_descriptors(&control, false);
        let grants = Grants::new(user.clone(), permissions);
        let supervisor = rustix::process::getpid();
        let pid = child::fork(|| {
            // Before it becomes its user's process, who could look into it.
            if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
                return 1;
            }
            // The supervisor's handlers tell the supervisor. A worker ends
            // when that says so.
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                inherited::ignore(signal, true);
            }
            let kept = [&theirs, &their_broker].map(|fd| fd.try_clone());
            let [Ok(control), Ok(broker)] = kept else { return 1 };
            child::close_all_but(&[control.as_fd(), broker.as_fd()]);
            worker::run(Start {
                user: user.clone(),
                supervisor,
                permissions,
                limits,
                control,
                broker,
                standing: standing.cloned(),
            })
        })?;
        let raw = Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH)?;
        let pidfd = pidfd_open(raw, PidfdFlags::empty())?;
        tracing::info!(pid, uid = user.uid, "a worker starts");
        Ok(Worker {
            user,
            permissions,
            is_standing: standing.is_some(),
            outdated: false,
            leaving: false,
            given: 0,
            pulse: Pulse::default(),
            report: Report::default(),
            pid,
            pidfd,
            control,
            broker,
            grants,
            has_hung_up: false,
            asked: 0,
            loaded: 0,
        })
    }

    /// What is to be watched: requests, reports, and its end.
    pub(super) fn watched(&self) -> [BorrowedFd<'_>; Worker::WATCHED] {
        let broker = if self.may_ask() { &self.broker } else { &self.pidfd };
        let control = if self.has_hung_up { &self.pidfd } else { &self.control };
        let lines = [broker, control];
        [lines[0].as_fd(), lines[1].as_fd(), self.pidfd.as_fd()]
    }

    /// As whom it holds what it was given.
    pub(super) fn holder(&self) -> Holder {
        Holder { worker: self.pid, uid: (!self.is_standing).then_some(self.user.uid) }
    }

    pub(super) const WATCHED: usize = 3;

    /// Gives it a connection. `WouldBlock`: it takes none at present.
    pub(super) fn give(&mut self, stream: BorrowedFd<'_>) -> io::Result<()> {
        Order::Client.send(&self.control, Some(stream))?;
        self.given += 1;
        Ok(())
    }

    /// Asks how it goes, unless it still owes the answer.
    pub(super) fn ask(&mut self) {
        (self.asked, self.loaded) = (0, 0);
        if self.pulse.beat() && Order::Report.send(&self.control, None).is_err() {
            // It takes no orders, which is as good as no answer.
            tracing::debug!(pid = self.pid, "a worker cannot be asked how it goes");
        }
    }

    /// Takes its reports.
    pub(super) fn hear(&mut self) {
        let mut bytes = [0; REPORT_BYTES];
        while let Ok(received) = passing::receive(&self.control, &mut bytes) {
            if received.bytes == 0 {
                self.has_hung_up = true;
                return;
            }
            match Report::decode(&bytes[..received.bytes]) {
                Some(report) => {
                    self.pulse.answered(&report);
                    self.report = report;
                }
                None => tracing::warn!(pid = self.pid, "a report that means nothing"),
            }
        }
    }

    /// Ends it at once, with its sessions.
    pub(super) fn kill(&self) {
        // It may have just ended.
        let _gone = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it is listened to: it has not asked too much since the last
    /// tick.
    fn may_ask(&self) -> bool {
        !self.has_hung_up && self.asked < MOST_ASKS
    }

    /// Gives it a connection whose client follows its standing session.
    pub(super) fn give_reader(&self, stream: BorrowedFd<'_>, what: Follow) -> io::Result<()> {
        passing::send(&self.control, &what.encode(), &[stream]).map(|_| ())
    }

    /// Whether a request waits.
    pub(super) fn has_asked(&self) -> bool {
        self.may_ask() && is_readable(self.broker.as_fd())
    }

    /// Answers one request; false: there was none that could be answered. A
    /// worker waits for each answer, and so there is room for it.
    pub(super) fn answer(
        &mut self,
        stranger: &dyn Stranger,
        (admission, limits): (&mut Admission, &Limits),
        errand: &mut Errand<'_>,
    ) -> bool {
        self.asked += 1;
        let mut bytes = [0; ASK_BYTES];
        let received = match passing::receive(&self.broker, &mut bytes) {
            Ok(received) if received.bytes > 0 => received,
            // It is ending, which its pidfd will tell.
            Ok(_) => {
                self.has_hung_up = true;
                return false;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            Err(error) => {
                tracing::warn!(%error, "a worker cannot be heard");
                return false;
            }
        };
        let fd = received.fds.into_iter().next();
        let holder = self.holder();
        let ask = Ask::decode(&bytes[..received.bytes]);
        let mut more = Vec::new();
        let (answer, fds) = match ask {
            Some(Ask::Reserve { bytes, session }) => {
                let reserved = admission.reserve(holder, (bytes, session), limits);
                (reserved.map_or_else(Full::answer, Answer::done), Vec::new())
            }
            Some(Ask::Program { reservation, words }) => {
                let draw = &mut |bytes| admission.draw(holder, reservation, bytes);
                match self.load(&words, draw) {
                    Ok(program) => (Answer::done(0), program),
                    Err(refused) => {
                        more = refused.1;
                        (refused.0, Vec::new())
                    }
                }
            }
            Some(Ask::Free { reservation }) => {
                admission.free(holder, reservation);
                return true;
            }
            Some(Ask::Closed) => {
                admission.closed(holder);
                return true;
            }
            Some(Ask::Leave { given }) => (self.let_go(given), Vec::new()),
            Some(ask) => match errand(&ask, fd.as_ref()) {
                Some((answer, behind)) => {
                    more = behind;
                    (answer, Vec::new())
                }
                None => {
                    let (answer, fd) = self.grants.answer(ask, fd, stranger);
                    (answer, fd.into_iter().collect())
                }
            },
            None => (Answer::refused(libc::EINVAL), Vec::new()),
        };
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let sent = passing::send(&self.broker, &[&answer.encode()[..], &more].concat(), &fds);
        if let Err(error) = &sent {
            // It waits for each answer, so there is room, or it has ended.
            tracing::warn!(%error, pid = self.pid, "a worker that takes no answers is killed");
            self.kill();
        }
        sent.is_ok()
    }

    /// Loads a program for one of its sessions: nobody else is given it, and
    /// it stays here no longer than it takes to hand it over. Else the answer,
    /// and what is behind it: the reason.
    fn load(
        &mut self,
        words: &[u64; PROGRAM_WORDS],
        draw: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Vec<OwnedFd>, (Answer, Vec<u8>)> {
        self.loaded += 1;
        if self.loaded > MOST_PROGRAMS {
            return Err(refused(libc::EAGAIN, "too many sessions began within a second"));
        }
        let sees_kernel = self.permissions.contains(Permissions::KERNEL);
        program::load(words, sees_kernel, draw).map_err(|why| refused(libc::EOPNOTSUPP, &why))
    }

    /// Lets it end, unless a connection is on its way to it.
    fn let_go(&mut self, given: u64) -> Answer {
        if given != self.given {
            return Answer::refused(libc::EBUSY);
        }
        self.leaving = true;
        Answer::done(0)
    }

    /// Whether it has ended; it is reaped then.
    pub(super) fn has_ended(&mut self) -> bool {
        has_ended(self.pid, self.pidfd.as_fd())
    }

    /// Tells it that its user has lost permissions: it ends its sessions and
    /// itself.
    pub(super) fn revoke(&mut self) {
        if Order::Revoked.send(&self.control, None).is_err() {
            // It takes no orders, and would go on with what it was granted.
            self.kill();
        }
    }

    /// Closes its line: it ends its sessions and itself.
    pub(super) fn end(self) -> Leaving {
        Leaving { pid: self.pid, pidfd: self.pidfd }
    }
}

impl Leaving {
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn has_ended(&mut self) -> bool {
        has_ended(self.pid, self.pidfd.as_fd())
    }

    pub(super) fn kill(self) {
        // Both fail where it has just ended.
        let _gone = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _reaped = child::status_of(self.pid);
    }
}

/// A refusal, and its reason as the worker reads it.
fn refused(errno: i32, why: &str) -> (Answer, Vec<u8>) {
    let mut reason: Vec<u8> = why.bytes().take(REASON_BYTES).collect();
    reason.resize(REASON_BYTES, 0);
    (Answer::refused(errno), reason)
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&zero)).is_ok_and(|ready| ready > 0)
}

fn has_ended(pid: i32, pidfd: BorrowedFd<'_>) -> bool {
    if !is_readable(pidfd) {
        return false;
    }
    match child::status_of(pid) {
        Ok(Some(0)) => tracing::info!(pid, "a worker has ended"),
        status => tracing::warn!(pid, ?status, "a worker has broken off"),
    }
    true
}
