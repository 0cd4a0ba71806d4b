//! A worker's sessions, and the orders to them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use perfdata::Pid;
use recorder::Plan;
use recorder::remote::protocol::{
    ErrorCode, ErrorReply, Joined, SessionLine, StandingLine, Stats, WhenSlow,
};
use recorder::session::interval::IntervalChange;
use recorder::session::preamble::ProcessDescriber;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::broadcast::Subscriber;
use super::client_counters::ClientCounters;
use super::error_replies;
use super::queue::{QueueReceiver, queue};
use super::session_thread::{Progress, SessionOrder};
use super::waker::{WakeReceiver, Waker, waker};
use crate::broker::{Broker, BrokerError, BrokerRefusal, Reservation};
use crate::control::{SharedCounts, StandingEntry, WorkerMetric, WorkerReport};
use crate::credentials::Credentials;
use crate::guard::Limits;
use crate::guard::rate::{self, RateTooHigh};
use crate::policy::Permissions;
use crate::sys::trim_heap;

/// So long a session's thread may take to answer: it looks up a few times a
/// second, whatever happens.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Hub {
    pub(crate) user: Credentials,
    pub(crate) permissions: Permissions,
    pub(crate) limits: Limits,
    pub(crate) broker: Arc<Broker>,
    sessions: RefCell<BTreeMap<u64, SessionHandle>>,
    next: Cell<u64>,
    pub(crate) connections: Cell<u64>,
    pub(super) tally: Arc<SharedCounts<WorkerReport>>,
    /// Why no session may begin at present.
    refusing: RefCell<Option<String>>,
}

#[derive(Debug)]
pub(super) struct SessionHandle {
    pub(super) joined: Joined,
    pub(super) pid: Option<Pid>,
    pub(super) since: Instant,
    pub(super) orders: Sender<SessionOrder>,
    pub(super) waker: Waker,
    pub(super) progress: Arc<Progress>,
    pub(super) plan: Rc<Plan>,
    pub(super) describer: Arc<ProcessDescriber>,
    /// Turns of the thread when they were looked at last.
    pub(super) beats: Cell<u64>,
}

impl SessionHandle {
    /// False: its thread has ended.
    fn order(&self, order: SessionOrder) -> bool {
        let sent = self.orders.send(order).is_ok();
        self.waker.ring();
        sent
    }
}

#[derive(Debug)]
pub(crate) struct Subscription {
    pub(crate) receiver: QueueReceiver,
    pub(crate) wake_receiver: WakeReceiver,
    pub(crate) counters: Arc<ClientCounters>,
    /// The queue's bytes.
    pub(crate) reserved: Reservation,
}

impl Hub {
    pub(crate) fn new(
        user: Credentials,
        permissions: Permissions,
        limits: Limits,
        broker: Arc<Broker>,
    ) -> Hub {
        Hub {
            user,
            permissions,
            limits,
            broker,
            sessions: RefCell::default(),
            next: Cell::new(1),
            connections: Cell::new(0),
            tally: Arc::default(),
            refusing: RefCell::default(),
        }
    }

    pub(super) fn insert(&self, running: SessionHandle) -> u64 {
        let session = self.next.replace(self.next.get() + 1);
        self.sessions.borrow_mut().insert(session, running);
        session
    }

    fn with_session<T>(
        &self,
        session: u64,
        look: impl FnOnce(&SessionHandle) -> Option<T>,
    ) -> Result<T, ErrorReply> {
        self.forget_ended();
        self.sessions.borrow().get(&session).and_then(look).ok_or_else(|| no_session(session))
    }

    pub(crate) fn join(
        &self,
        session: u64,
        when_slow: WhenSlow,
    ) -> Result<(Joined, Subscription, Arc<ProcessDescriber>), ErrorReply> {
        self.with_session(session, |_| Some(()))?;
        let (subscriber, subscription) = self.subscribe(when_slow, None)?;
        let (joined, describer) = self.with_session(session, |running| {
            let sent = running.order(SessionOrder::Join(Box::new(subscriber)));
            sent.then(|| (running.joined.clone(), Arc::clone(&running.describer)))
        })?;
        Ok((joined, subscription, describer))
    }

    pub(crate) fn has_no_work(&self) -> bool {
        self.forget_ended();
        self.connections.get() == 0 && self.sessions.borrow().is_empty()
    }

    /// Both ends of a queue, whose bytes are set aside. `reader`: who reads a
    /// standing session, from what that user may have.
    pub(crate) fn subscribe(
        &self,
        when_slow: WhenSlow,
        reader: Option<u32>,
    ) -> Result<(Subscriber, Subscription), ErrorReply> {
        let capacity = self.limits.queue.0;
        let reserved = Reservation::reserve(&self.broker, capacity, false, reader)
            .map_err(|error| unreserved("what may wait for a client", error))?;
        let (sender, receiver) = queue(capacity);
        let (waker, wake_receiver) = waker().map_err(failed)?;
        let counters = Arc::<ClientCounters>::default();
        let subscriber = Subscriber {
            sender,
            waker,
            when_slow,
            counters: Arc::clone(&counters),
            gap: super::chunk::SampleGap::default(),
        };
        Ok((subscriber, Subscription { receiver, wake_receiver, counters, reserved }))
    }

    pub(crate) fn stop(&self, session: u64, reason: &str) -> Result<(), ErrorReply> {
        self.with_session(session, |running| {
            running.order(SessionOrder::Stop(reason.into())).then_some(())
        })
    }

    /// Ends all sessions, and waits a while for their last records to go.
    pub(crate) async fn stop_all(&self, reason: &str) {
        let sessions: Vec<u64> = self.sessions.borrow().keys().copied().collect();
        for session in sessions {
            // It may have ended by itself.
            let _ended = self.stop(session, reason);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.forget_ended();
        self.sessions.borrow().is_empty()
    }

    pub(super) fn send_to_all(&self, order: impl Fn() -> SessionOrder) {
        for running in self.sessions.borrow().values() {
            // It may have just ended.
            let _ended = running.order(order());
        }
    }

    /// Lets no session begin, for this reason, or lets them again.
    pub(super) fn refuse_sessions(&self, why: Option<String>) {
        *self.refusing.borrow_mut() = why;
    }

    pub(super) fn may_begin(&self) -> Result<(), ErrorReply> {
        match &*self.refusing.borrow() {
            None => Ok(()),
            Some(why) => {
                let text = format!(
                    "no session begins at present, as {why}: stop one, or give a longer interval"
                );
                Err(ErrorReply::new(ErrorCode::Busy, text))
            }
        }
    }

    pub(super) fn stop_newest(&self, why: &str) {
        let newest = self.sessions.borrow().keys().next_back().copied();
        if let Some(session) = newest {
            // It may have just ended.
            let _ended = self.stop(session, why);
        }
    }

    /// Whether a plan samples too often for this user, at its own interval
    /// or another one.
    pub(super) fn check_rate(&self, plan: &Plan, interval: Option<u64>) -> Result<(), ErrorReply> {
        let trusted = self.user.uid == 0 || !self.permissions.is_empty();
        let floor = (!trusted).then_some(&self.limits);
        let most = rate::max_sample_rate(Path::new("/"));
        rate::check(plan, interval, floor, most).map_err(|error| {
            let code = match error {
                RateTooHigh::Floor { .. } => ErrorCode::Denied,
                RateTooHigh::Rate { .. } => ErrorCode::Unplannable,
            };
            ErrorReply::new(code, error)
        })
    }

    pub(crate) fn forget_ended(&self) {
        // A thread that has ended has dropped its receiver.
        let lives = |running: &SessionHandle| Arc::strong_count(&running.progress) > 1;
        let mut sessions = self.sessions.borrow_mut();
        let before = sessions.len();
        sessions.retain(|_, running| lives(running));
        let has_ended = sessions.len() < before;
        drop(sessions);
        if has_ended {
            trim_heap();
        }
    }

    async fn request<T>(
        &self,
        session: u64,
        order: impl FnOnce(oneshot::Sender<T>) -> SessionOrder,
    ) -> Result<T, ErrorReply> {
        let (sender, answer) = oneshot::channel();
        self.with_session(session, |running| running.order(order(sender)).then_some(()))?;
        match timeout(ANSWER_TIMEOUT, answer).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(no_session(session)),
            Err(_) => {
                let seconds = ANSWER_TIMEOUT.as_secs();
                let text = format!("session {session} has not answered for {seconds} s");
                Err(ErrorReply::new(ErrorCode::Busy, text))
            }
        }
    }

    pub(crate) async fn stats(&self, session: u64) -> Result<Stats, ErrorReply> {
        let account = self.request(session, SessionOrder::Account).await?;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.with_session(session, |running| {
            let progress = &running.progress;
            Some(Stats {
                seconds: running.since.elapsed().as_secs_f64(),
                session: account,
                clients: u32::try_from(load(&progress.clients)).unwrap_or(u32::MAX),
                queued: load(&progress.queued),
                interval: load(&progress.interval),
            })
        })
    }

    /// Has all sessions tell in their streams what rings have lost up to now.
    /// One that does not answer tells it later.
    pub(crate) async fn report_losses(&self) {
        let sessions: Vec<u64> = self.sessions.borrow().keys().copied().collect();
        for session in sessions {
            if let Err(refused) = self.request(session, SessionOrder::Losses).await {
                tracing::debug!(session, text = refused.text, "losses are told later");
            }
        }
    }

    pub(crate) async fn set_interval(&self, session: u64, interval: u64) -> Result<(), ErrorReply> {
        if interval == 0 {
            return Err(ErrorReply::new(ErrorCode::BadRequest, recorder::Refusal::IntervalZero));
        }
        let plan = self.with_session(session, |running| Some(Rc::clone(&running.plan)))?;
        self.check_rate(&plan, Some(interval))?;
        let why = "its owner asked for it".to_owned();
        let change = IntervalChange::To(interval);
        let done =
            self.request(session, |done| SessionOrder::Interval { change, why, done }).await?;
        done.map_err(|text| ErrorReply::new(ErrorCode::Unplannable, text))
    }

    pub(crate) fn report(&self) -> WorkerReport {
        self.forget_ended();
        let mut report = self.tally.lock().clone();
        let sessions = self.sessions.borrow();
        let (mut still, mut queued) = (0, 0);
        for running in sessions.values() {
            let beats = running.progress.beats.load(Ordering::Relaxed);
            still += u64::from(running.beats.replace(beats) == beats);
            queued += running.progress.queued.load(Ordering::Relaxed);
        }
        report.set(WorkerMetric::Sessions, sessions.len() as u64);
        report.set(WorkerMetric::Still, still);
        report.set(WorkerMetric::Clients, self.connections.get());
        report.set(WorkerMetric::Queued, queued);
        report
    }

    /// Has a standing session read to a client: what comes through the pipe
    /// is what the client is to be sent.
    pub(crate) fn follow(
        &self,
        name: &str,
        since: Option<Duration>,
        live: bool,
    ) -> Result<OwnedFd, ErrorReply> {
        self.broker.follow(name, since, live).map_err(|error| {
            let (code, why) = match error.raw_os_error() {
                Some(libc::ENOENT) => (
                    ErrorCode::NoSession,
                    "there is none of that name that you may read; `ebs sessions` lists them",
                ),
                Some(libc::EAGAIN) => (
                    ErrorCode::Busy,
                    "its worker broke off and is started again: try again in some seconds",
                ),
                _ => (ErrorCode::Failed, "it cannot be followed; see the daemon's log"),
            };
            ErrorReply::new(code, format!("standing session {name:?}: {why}"))
        })
    }

    pub(crate) fn standing(&self) -> Vec<StandingLine> {
        self.broker.standing().into_iter().map(StandingEntry::into_protocol).collect()
    }

    pub(crate) fn list(&self) -> Vec<SessionLine> {
        self.forget_ended();
        let sessions = self.sessions.borrow();
        let line = |(&session, running): (&u64, &SessionHandle)| SessionLine {
            session,
            name: running.joined.name.clone(),
            pid: running.pid.map(|pid| pid.0),
            seconds: running.since.elapsed().as_secs(),
            clients: u32::try_from(running.progress.clients.load(Ordering::Relaxed))
                .unwrap_or(u32::MAX),
        };
        sessions.iter().map(line).collect()
    }
}

pub(super) fn failed(error: impl ToString) -> ErrorReply {
    ErrorReply::new(ErrorCode::Failed, error)
}

pub(super) fn unreserved(what: &str, error: BrokerError) -> ErrorReply {
    match error {
        BrokerError::Refused(BrokerRefusal::LimitReached(full)) => {
            ErrorReply::new(ErrorCode::Exhausted, format!("{what}: {full}"))
        }
        error => error_replies::of_silence(&error.into()),
    }
}

fn no_session(session: u64) -> ErrorReply {
    let text = format!("there is no session {session} of yours; `ebs sessions` lists them");
    ErrorReply::new(ErrorCode::NoSession, text)
}

/// A connection that is counted, here and by the supervisor, until this is
/// dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(pub(super) Rc<Hub>);

impl OpenConnection {
    pub(crate) fn new(hub: &Rc<Hub>) -> OpenConnection {
        hub.connections.update(|connections| connections + 1);
        OpenConnection(Rc::clone(hub))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.update(|connections| connections - 1);
        self.0.forget_ended();
        self.0.broker.closed();
    }
}
