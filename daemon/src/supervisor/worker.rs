//! The supervisor's side of one worker.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use recorder::sys::{child, inherited};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Signal, pidfd_open, set_dumpable_behavior,
};

use super::heartbeat::Heartbeat;
use super::program;
use crate::broker::{
    BrokerAnswer, BrokerRefusal, BrokerReply, BrokerRequest, Grants, PtraceCheck, WireProgram,
};
use crate::channel::{Incoming, SupervisorEnd, channel};
use crate::control::{Follow, WorkerOrder, WorkerReport};
use crate::credentials::Credentials;
use crate::guard::{Admission, Holder, Limits};
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
/// The answer, and the descriptors beside it.
pub(super) type Response = Result<(BrokerAnswer, Vec<OwnedFd>), BrokerRefusal>;

pub(super) fn handing_over(fd: OwnedFd) -> (BrokerAnswer, Vec<OwnedFd>) {
    (BrokerAnswer::Done, vec![fd])
}

fn numbered(number: u64) -> (BrokerAnswer, Vec<OwnedFd>) {
    (BrokerAnswer::Number(number), Vec::new())
}

pub(super) fn done() -> Response {
    Ok((BrokerAnswer::Done, Vec::new()))
}

/// What requests are decided by.
pub(super) struct Authority<'s> {
    pub(super) ptrace_check: &'s dyn PtraceCheck,
    pub(super) admission: &'s mut Admission,
    pub(super) limits: &'s Limits,
}

/// How much sooner than the supervisor a worker is killed where memory runs
/// out (oom_score_adj of proc(5)), and one that records.
const WORKER_FIRST: i32 = 400;
const RECORDER_FIRST: i32 = 200;
/// Of oom_score_adj.
const MAX_SCORE: i32 = 1000;

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) user: Credentials,
    pub(super) permissions: Permissions,
    /// The policy has changed since it started: who connects is served by
    /// another one.
    pub(super) outdated: bool,
    /// It may end, and is given no other connection.
    pub(super) ending: bool,
    given: u64,
    pub(super) heartbeat: Heartbeat,
    pub(super) report: WorkerReport,
    process: WorkerProcess,
    control: SupervisorEnd<WorkerReport, WorkerOrder>,
    broker: SupervisorEnd<BrokerRequest, BrokerReply>,
    grants: Grants,
    has_hung_up: bool,
    /// Requests since the last tick.
    asked: u32,
    /// Programs loaded since then.
    loaded: u32,
    /// Reports since then.
    reported: u32,
}

/// What is left of a worker when its channels are closed.
#[derive(Debug)]
pub(super) struct WorkerProcess {
    pid: i32,
    pidfd: OwnedFd,
    uid: u32,
    session: Option<String>,
}

/// A kind of its own: a channel to a worker that is full is EAGAIN, too.
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
        let (control, their_control) = channel()?;
        let (broker, their_broker) = channel()?;
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
            let kept = (their_control.try_clone(), their_broker.try_clone());
            let (Ok(control), Ok(broker)) = kept else { return 1 };
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
        let session = standing.map(|role| role.name.clone());
        Ok(Worker {
            process: WorkerProcess { pid, pidfd, uid: user.uid, session },
            user,
            permissions,
            outdated: false,
            ending: false,
            given: 0,
            heartbeat: Heartbeat::default(),
            report: WorkerReport::default(),
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
        let end = self.process.pidfd.as_fd();
        let broker = if self.may_ask() { self.broker.as_fd() } else { end };
        let control = if self.has_hung_up { end } else { self.control.as_fd() };
        [broker, control, end]
    }

    pub(super) fn holder(&self) -> Holder {
        let WorkerProcess { pid, uid, session, .. } = &self.process;
        Holder { worker: *pid, uid: session.is_none().then_some(*uid) }
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
        self.control.send(&order, &fds)?;
        self.given += 1;
        Ok(())
    }

    /// Asks how it goes, unless it still owes the answer.
    pub(super) fn request_report(&mut self) {
        (self.asked, self.loaded, self.reported) = (0, 0, 0);
        if self.heartbeat.beat() && self.control.send(&WorkerOrder::Report, &[]).is_err() {
            // It takes no orders, which is as good as no answer.
            tracing::debug!(pid = self.pid(), "a worker cannot be asked how it goes");
        }
    }

    pub(super) fn read_reports(&mut self) {
        loop {
            let report = match self.control.receive() {
                Ok(Incoming::Message(report)) => Some(report),
                Ok(Incoming::Invalid) => None,
                Ok(Incoming::Empty) => return,
                Ok(Incoming::Closed) | Err(_) => {
                    self.has_hung_up = true;
                    return;
                }
            };
            // One that says nothing but this must not hold up everybody else.
            self.reported += 1;
            if self.reported > MAX_REPORTS {
                self.has_hung_up = true;
                return;
            }
            match report {
                Some(report) => {
                    self.heartbeat.answered(&report);
                    self.report = report;
                }
                None => {
                    let (uid, name) = (self.user.uid, self.session());
                    tracing::warn!(pid = self.pid(), uid, name, "a report that means nothing");
                }
            }
        }
    }

    pub(super) fn kill(&self) {
        self.process.kill();
    }

    pub(super) fn pid(&self) -> i32 {
        self.process.pid
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.process.session.as_deref()
    }

    /// Whether it is listened to: it has not asked too much since the last
    /// tick.
    fn may_ask(&self) -> bool {
        !self.has_hung_up && self.asked < MAX_REQUESTS
    }

    pub(super) fn pass_reader(&self, pipe: BorrowedFd<'_>, what: Follow) -> io::Result<()> {
        self.control.send(&WorkerOrder::Follow(what), &[pipe])
    }

    pub(super) fn has_asked(&self) -> bool {
        self.may_ask() && is_readable(self.broker.as_fd())
    }

    /// Hears and answers it; `ready` is about what of it is watched.
    pub(super) fn handle(
        &mut self,
        ready: &[bool],
        authority: &mut Authority<'_>,
        standing_handler: &mut StandingHandler<'_>,
    ) {
        let [asks, reports, _] = ready else { return };
        if *reports {
            self.read_reports();
        }
        if *asks {
            self.answer(authority, standing_handler);
        }
    }

    /// Answers one request; false: there was none that could be answered. A
    /// worker waits for each answer, and so there is room for it.
    pub(super) fn answer(
        &mut self,
        authority: &mut Authority<'_>,
        standing_handler: &mut StandingHandler<'_>,
    ) -> bool {
        self.asked += 1;
        let request = match self.broker.receive() {
            Ok(Incoming::Message(request)) => Some(request),
            Ok(Incoming::Invalid) => None,
            Ok(Incoming::Empty) => return false,
            // It is ending, which its pidfd will tell.
            Ok(Incoming::Closed) => {
                self.has_hung_up = true;
                return false;
            }
            Err(error) => {
                let (uid, name) = (self.user.uid, self.session());
                tracing::warn!(%error, uid, name, "a worker cannot be heard");
                return false;
            }
        };
        let holder = self.holder();
        let Authority { ptrace_check, admission, limits } = authority;
        let response = match request {
            None => Err(BrokerRefusal::Errno(libc::EINVAL)),
            Some(BrokerRequest::Grant(job)) => self.grants.grant(&job, *ptrace_check).map(numbered),
            Some(BrokerRequest::Open { grant, opening }) => {
                self.grants.open(grant, &opening, *ptrace_check).map(handing_over)
            }
            Some(BrokerRequest::Maps { grant, pid }) => {
                self.grants.maps(grant, pid).map(handing_over)
            }
            Some(BrokerRequest::Kernel { grant, file }) => {
                self.grants.kernel(grant, file).map(handing_over)
            }
            Some(BrokerRequest::Release { grant }) => {
                self.grants.release(grant);
                done()
            }
            Some(BrokerRequest::Reserve { bytes, session, reader }) => {
                // Who keeps a standing session holds queues for its readers.
                let uid = holder.uid.or(reader);
                let reserved = admission.reserve(Holder { uid, ..holder }, bytes, session, limits);
                reserved.map(numbered).map_err(BrokerRefusal::LimitReached)
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
            Some(BrokerRequest::Leave { given }) if given == self.given => {
                self.ending = true;
                done()
            }
            Some(BrokerRequest::Leave { .. }) => Err(BrokerRefusal::Errno(libc::EBUSY)),
            Some(
                request @ (BrokerRequest::Follow { .. }
                | BrokerRequest::Standing { .. }
                | BrokerRequest::Report { .. }),
            ) => standing_handler(&request).unwrap_or(Err(BrokerRefusal::Errno(libc::EINVAL))),
        };
        let (reply, fds) = match response {
            Ok((answer, fds)) => (Ok(answer), fds),
            Err(refusal) => (Err(refusal), Vec::new()),
        };
        let fds: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
        let sent = self.broker.send(&reply, &fds);
        if let Err(error) = &sent {
            // It waits for each answer, so there is room, or it has ended.
            let (uid, name) = (self.user.uid, self.session());
            tracing::warn!(%error, pid = self.pid(), uid, name, "a worker that takes no answers is killed");
            self.kill();
        }
        sent.is_ok()
    }

    /// Loads a program for one of its sessions. Only this worker gets it, and
    /// the supervisor keeps no descriptor of it.
    fn load(&mut self, program: &WireProgram, draw: &mut dyn FnMut(u64) -> bool) -> Response {
        self.loaded += 1;
        if self.loaded > MAX_PROGRAMS {
            let why = "too many sessions began within a second";
            return Err(BrokerRefusal::reason(why));
        }
        let sees_kernel = self.permissions.contains(Permissions::KERNEL);
        let loaded = program::load(program, sees_kernel, draw);
        loaded.map(|fds| (BrokerAnswer::Done, fds)).map_err(|why| BrokerRefusal::reason(&why))
    }

    /// Whether it has ended. It is reaped then: what it counted is added to
    /// `gone`, and what it held is free.
    pub(super) fn has_ended(&mut self, gone: &mut WorkerReport, admission: &mut Admission) -> bool {
        let has_ended = self.process.has_ended();
        if has_ended {
            // It may have reported last.
            self.read_reports();
            gone.add_counts(&self.report);
            admission.forget(self.pid());
        }
        has_ended
    }

    /// Tells it that its user has lost permissions: it ends its sessions and
    /// itself.
    pub(super) fn revoke(&mut self) {
        if self.control.send(&WorkerOrder::Revoked, &[]).is_err() {
            // It takes no orders, and would go on with what it was granted.
            self.kill();
        }
    }

    /// Closes its channels: it ends its sessions and itself.
    pub(super) fn end(self) -> WorkerProcess {
        self.process
    }
}

impl WorkerProcess {
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    pub(super) fn owner(&self) -> (u32, Option<&str>) {
        (self.uid, self.session.as_deref())
    }

    /// Whether it has ended; it is reaped then.
    pub(super) fn has_ended(&self) -> bool {
        if !is_readable(self.pidfd.as_fd()) {
            return false;
        }
        let WorkerProcess { pid, uid, session: name, .. } = self;
        match child::status_of(*pid) {
            Ok(Some(0)) => tracing::info!(pid, uid, name, "a worker has ended"),
            status => tracing::warn!(pid, uid, name, ?status, "a worker has broken off"),
        }
        true
    }

    fn kill(&self) {
        // It may have just ended.
        let _gone = rustix::process::pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Kills it, and waits for it.
    pub(super) fn kill_and_reap(self) {
        self.kill();
        // It may have just been reaped.
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

fn is_readable(fd: BorrowedFd<'_>) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
