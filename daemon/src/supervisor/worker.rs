//! The supervisor's side of one worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use recorder::remote::protocol::NamedTarget;
use recorder::sys::{child, inherited};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open, set_dumpable_behavior,
};

use super::heartbeat::Heartbeat;
use super::program;
use crate::broker::{
    BrokerReply, BrokerRequest, Grants, PtraceCheck, REASON_BYTES, REQUEST_BYTES, WireJob,
    WireProgram,
};
use crate::control::{Follow, REPORT_BYTES, WorkerOrder, WorkerReport};
use crate::credentials::Credentials;
use crate::guard::{Admission, Holder, Limits};
use crate::line::{LineEvent, MAX_MESSAGE, SupervisorEnd, line};
use crate::policy::Permissions;
use crate::process::{self, WorkerStart};
use crate::standing::StandingSpec;

/// Requests that a worker may make between two ticks; an attach to a process
/// of many threads makes one for each of their events.
const MAX_REQUESTS: u32 = 20_000;
/// Programs that it may have loaded between two ticks: each is some
/// milliseconds of the supervisor's time.
const MAX_PROGRAMS: u32 = 8;
/// Reports that are heard between two ticks: one is asked for. Who says more
/// is not heard any more, and so killed as one that has stopped.
const MAX_REPORTS: u32 = 16;
/// Answers requests that are about standing sessions; None: it is no such
/// request.
pub(super) type StandingHandler<'e> = dyn FnMut(&BrokerRequest) -> Option<Response> + 'e;

/// How much sooner than the supervisor a worker is killed where memory runs
/// out (oom_score_adj of proc(5)), and one that records.
const WORKER_FIRST: i32 = 400;
const RECORDER_FIRST: i32 = 200;
/// Of oom_score_adj.
const MAX_SCORE: i32 = 1000;

#[derive(Debug)]
pub(super) struct Response {
    answer: BrokerReply,
    behind: Vec<u8>,
    fds: Vec<OwnedFd>,
}

impl Response {
    pub(super) fn with(answer: BrokerReply, behind: &[u8]) -> Response {
        Response { answer, behind: behind.to_vec(), fds: Vec::new() }
    }

    pub(super) fn handing_over(fds: Vec<OwnedFd>) -> Response {
        Response { answer: BrokerReply::done(0), behind: Vec::new(), fds }
    }
}

impl From<BrokerReply> for Response {
    fn from(answer: BrokerReply) -> Response {
        Response::with(answer, &[])
    }
}

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) user: Credentials,
    pub(super) permissions: Permissions,
    session: Option<String>,
    /// The policy has changed since it started: who connects is served by
    /// another one.
    pub(super) outdated: bool,
    /// It has been let go, and serves nobody else.
    pub(super) ending: bool,
    given: u64,
    pub(super) heartbeat: Heartbeat,
    pub(super) report: WorkerReport,
    pid: i32,
    pidfd: OwnedFd,
    control: SupervisorEnd,
    broker: SupervisorEnd,
    grants: Grants,
    has_hung_up: bool,
    /// Requests since the last tick.
    asked: u32,
    /// Programs loaded since then.
    loaded: u32,
    /// Reports since then.
    reported: u32,
}

#[derive(Debug)]
pub(super) struct EndingWorker {
    pid: i32,
    pidfd: OwnedFd,
    uid: u32,
    session: Option<String>,
}

/// A kind of its own: a line to a worker that is full is EAGAIN, too.
fn no_process(error: io::Error) -> io::Error {
    io::Error::other(format!(
        "{error}: raise the limit of processes (ulimit -u, TasksMax= of the service)"
    ))
}

impl Worker {
    pub(super) fn start(
        user: Credentials,
        permissions: Permissions,
        limits: Limits,
        standing: Option<&StandingSpec>,
    ) -> io::Result<Worker> {
        let (control, theirs) = line()?;
        let (broker, their_broker) = line()?;
        let grants = Grants::new(user.clone(), permissions);
        let supervisor = rustix::process::getpid();
        let first = if standing.is_some() { RECORDER_FIRST } else { WORKER_FIRST };
        let pid = child::fork(|| {
            // As long as it may still write there: an ordinary user's may not.
            let _as_it_was = die_before_the_supervisor(first);
            // Before it becomes its user's process, who could look into it.
            if set_dumpable_behavior(DumpableBehavior::NotDumpable).is_err() {
                return 1;
            }
            // The supervisor's handlers tell the supervisor. A worker ends
            // when that says so.
            for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                inherited::ignore(signal, true);
            }
            let kept = [&theirs, &their_broker].map(|line| line.try_clone());
            let [Ok(control), Ok(broker)] = kept else { return 1 };
            child::close_all_but(&[control.descriptors(), broker.descriptors()].concat());
            process::run(WorkerStart {
                user: user.clone(),
                supervisor,
                permissions,
                limits,
                control,
                broker,
                standing: standing.cloned(),
            })
        })
        .map_err(no_process)?;
        let raw = Pid::from_raw(pid).ok_or(rustix::io::Errno::SRCH)?;
        let pidfd = pidfd_open(raw, PidfdFlags::empty()).inspect_err(|_| {
            // The number is its own until it is waited for.
            let _gone = rustix::process::kill_process(raw, Signal::KILL);
            let _reaped = child::status_of(pid);
        })?;
        let name = standing.map(|role| role.name.as_str());
        tracing::info!(pid, uid = user.uid, name, "a worker starts");
        Ok(Worker {
            user,
            permissions,
            session: standing.map(|role| role.name.clone()),
            outdated: false,
            ending: false,
            given: 0,
            heartbeat: Heartbeat::default(),
            report: WorkerReport::default(),
            pid,
            pidfd,
            control,
            broker,
            grants,
            has_hung_up: false,
            asked: 0,
            loaded: 0,
            reported: 0,
        })
    }

    /// What is to be watched: requests, reports, and its end.
    pub(super) fn watched(&self) -> [BorrowedFd<'_>; Worker::WATCHED] {
        let end = self.pidfd.as_fd();
        let broker = if self.may_ask() { self.broker.as_fd() } else { end };
        let control = if self.has_hung_up { end } else { self.control.as_fd() };
        [broker, control, end]
    }

    pub(super) fn holder(&self) -> Holder {
        Holder { worker: self.pid, uid: self.session.is_none().then_some(self.user.uid) }
    }

    pub(super) const WATCHED: usize = 3;

    /// Gives it a connection, and its client's pid namespace where that is
    /// another one. `WouldBlock`: it takes none at present.
    pub(super) fn pass_connection(
        &mut self,
        connection: BorrowedFd<'_>,
        namespace: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let order = WorkerOrder::Client { elsewhere: namespace.is_some() };
        let fds: Vec<_> = [connection].into_iter().chain(namespace).collect();
        order.send(&self.control, &fds)?;
        self.given += 1;
        Ok(())
    }

    /// Asks how it goes, unless it still owes the answer.
    pub(super) fn request_report(&mut self) {
        (self.asked, self.loaded, self.reported) = (0, 0, 0);
        if self.heartbeat.beat() && WorkerOrder::Report.send(&self.control, &[]).is_err() {
            // It takes no orders, which is as good as no answer.
            tracing::debug!(pid = self.pid, "a worker cannot be asked how it goes");
        }
    }

    pub(super) fn read_reports(&mut self) {
        let mut bytes = [0; REPORT_BYTES];
        loop {
            match self.control.receive(&mut bytes) {
                Ok(LineEvent::Message) => {}
                Ok(LineEvent::Silence) => return,
                Ok(LineEvent::End) | Err(_) => {
                    self.has_hung_up = true;
                    return;
                }
            }
            // One that says nothing but this must not hold up everybody else.
            self.reported += 1;
            if self.reported > MAX_REPORTS {
                self.has_hung_up = true;
                return;
            }
            match WorkerReport::decode(&bytes) {
                Some(report) => {
                    self.heartbeat.answered(&report);
                    self.report = report;
                }
                None => {
                    let (uid, name) = (self.user.uid, self.session());
                    tracing::warn!(pid = self.pid, uid, name, "a report that means nothing");
                }
            }
        }
    }

    pub(super) fn kill(&self) {
        // It may have just ended.
        let _gone = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Whether it is listened to: it has not asked too much since the last
    /// tick.
    fn may_ask(&self) -> bool {
        !self.has_hung_up && self.asked < MAX_REQUESTS
    }

    pub(super) fn pass_reader(&self, pipe: BorrowedFd<'_>, what: Follow) -> io::Result<()> {
        WorkerOrder::Follow(what).send(&self.control, &[pipe])
    }

    pub(super) fn has_asked(&self) -> bool {
        self.may_ask() && is_readable(self.broker.as_fd())
    }

    /// Answers one request; false: there was none that could be answered. A
    /// worker waits for each answer, and so there is room for it.
    pub(super) fn answer(
        &mut self,
        ptrace_check: &dyn PtraceCheck,
        admission: &mut Admission,
        limits: &Limits,
        standing_handler: &mut StandingHandler<'_>,
    ) -> bool {
        self.asked += 1;
        let mut bytes = [0; REQUEST_BYTES];
        match self.broker.receive(&mut bytes) {
            Ok(LineEvent::Message) => {}
            Ok(LineEvent::Silence) => return false,
            // It is ending, which its pidfd will tell.
            Ok(LineEvent::End) => {
                self.has_hung_up = true;
                return false;
            }
            Err(error) => {
                let (uid, name) = (self.user.uid, self.session());
                tracing::warn!(%error, uid, name, "a worker cannot be heard");
                return false;
            }
        }
        let holder = self.holder();
        let response = match BrokerRequest::decode(&bytes) {
            Some(BrokerRequest::Reserve { bytes, session, reader }) => {
                // Who keeps a standing session holds queues for its readers.
                let uid = if self.session.is_some() { reader } else { holder.uid };
                let reserved = admission.reserve(Holder { uid, ..holder }, bytes, session, limits);
                reserved.map_or_else(BrokerReply::full, BrokerReply::done).into()
            }
            Some(BrokerRequest::Program { reservation, program }) => {
                let draw = &mut |bytes| admission.draw(holder, reservation, bytes);
                self.load(&program, draw)
            }
            Some(BrokerRequest::Free { reservation }) => {
                admission.free(holder, reservation);
                return true;
            }
            Some(BrokerRequest::Closed) => {
                admission.closed(holder);
                return true;
            }
            Some(BrokerRequest::Leave { given }) => self.allow_exit(given).into(),
            Some(request) => match standing_handler(&request) {
                Some(response) => response,
                None => {
                    let Some(path) = self.trailing_path(&request) else {
                        self.has_hung_up = true;
                        return false;
                    };
                    let (answer, fd) = self.grants.answer(request, &path, ptrace_check);
                    Response { fds: fd.into_iter().collect(), ..answer.into() }
                }
            },
            None => BrokerReply::refused(libc::EINVAL).into(),
        };
        let Response { answer, behind, fds } = response;
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let sent = self.broker.send(&[&answer.encode()[..], &behind].concat(), &fds);
        if let Err(error) = &sent {
            // It waits for each answer, so there is room, or it has ended.
            let (uid, name) = (self.user.uid, self.session());
            tracing::warn!(%error, pid = self.pid, uid, name, "a worker that takes no answers is killed");
            self.kill();
        }
        sent.is_ok()
    }

    /// The path of a control group, which came at once with a request for
    /// it; None: it did not.
    fn trailing_path(&self, request: &BrokerRequest) -> Option<Vec<u8>> {
        let BrokerRequest::Grant(WireJob {
            target: NamedTarget::Cgroup { path_bytes, .. }, ..
        }) = request
        else {
            return Some(Vec::new());
        };
        let length = usize::try_from(*path_bytes).ok().filter(|length| *length <= MAX_MESSAGE)?;
        let mut path = vec![0; length];
        // Of the root nothing comes.
        let all = path.is_empty() || self.broker.receive(&mut path).ok()? == LineEvent::Message;
        all.then_some(path)
    }

    /// Loads a program for one of its sessions: nobody else is given it, and
    /// it stays here no longer than it takes to hand it over. Behind a refusal
    /// is the reason.
    fn load(&mut self, program: &WireProgram, draw: &mut dyn FnMut(u64) -> bool) -> Response {
        self.loaded += 1;
        if self.loaded > MAX_PROGRAMS {
            return refused(libc::EAGAIN, "too many sessions began within a second");
        }
        let sees_kernel = self.permissions.contains(Permissions::KERNEL);
        match program::load(program, sees_kernel, draw) {
            Ok(program) => Response::handing_over(program),
            Err(why) => refused(libc::EOPNOTSUPP, &why),
        }
    }

    fn allow_exit(&mut self, given: u64) -> BrokerReply {
        if given != self.given {
            return BrokerReply::refused(libc::EBUSY);
        }
        self.ending = true;
        BrokerReply::done(0)
    }

    /// Whether it has ended; it is reaped then.
    pub(super) fn has_ended(&mut self) -> bool {
        has_ended(self.pid, self.pidfd.as_fd(), self.user.uid, self.session())
    }

    /// Tells it that its user has lost permissions: it ends its sessions and
    /// itself.
    pub(super) fn revoke(&mut self) {
        if WorkerOrder::Revoked.send(&self.control, &[]).is_err() {
            // It takes no orders, and would go on with what it was granted.
            self.kill();
        }
    }

    /// Closes its line: it ends its sessions and itself.
    pub(super) fn end(self) -> EndingWorker {
        let Worker { pid, pidfd, user, session, .. } = self;
        EndingWorker { pid, pidfd, uid: user.uid, session }
    }
}

impl EndingWorker {
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn owner(&self) -> (u32, Option<&str>) {
        (self.uid, self.session.as_deref())
    }

    pub(super) fn has_ended(&mut self) -> bool {
        has_ended(self.pid, self.pidfd.as_fd(), self.uid, self.session.as_deref())
    }

    /// Kills it, and waits for it.
    pub(super) fn kill(self) {
        // Both fail where it has just ended.
        let _gone = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _reaped = child::status_of(self.pid);
    }
}

/// Where memory runs out, of all users' sessions those of one end, rather than
/// everything.
fn die_before_the_supervisor(first: i32) -> io::Result<()> {
    let place = "/proc/self/oom_score_adj";
    let own: i32 = std::fs::read_to_string(place)?.trim().parse().map_err(io::Error::other)?;
    std::fs::write(place, own.saturating_add(first).min(MAX_SCORE).to_string())
}

fn refused(errno: i32, why: &str) -> Response {
    let mut reason: Vec<u8> = why.bytes().take(REASON_BYTES).collect();
    reason.resize(REASON_BYTES, 0);
    Response::with(BrokerReply::refused(errno), &reason)
}

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&zero)).is_ok_and(|ready| ready > 0)
}

/// Whether a worker of this user, or for this session, has ended: it is told
/// then.
fn has_ended(pid: i32, pidfd: BorrowedFd<'_>, uid: u32, name: Option<&str>) -> bool {
    if !is_readable(pidfd) {
        return false;
    }
    match child::status_of(pid) {
        Ok(Some(0)) => tracing::info!(pid, uid, name, "a worker has ended"),
        status => tracing::warn!(pid, uid, name, ?status, "a worker has broken off"),
    }
    true
}
