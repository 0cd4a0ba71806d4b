//! The thread of one session: opens it, moves its records, ends it. It waits
//! for rings, and for nothing else.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use recorder::remote::protocol::{Account, ErrorReply, Started};
use recorder::session::interval::{IntervalChange, now};
use recorder::session::preamble::ProcessDescriber;
use recorder::session::{Session, SessionSettings, Sink, TargetState};
use recorder::{Facts, Plan};
use tokio::sync::oneshot;

use super::broadcast::{Broadcast, Subscriber};
use super::error_replies;
use super::queue::StreamEnding;
use super::waker::WakeReceiver;
use crate::broker::{GrantLease, Reservation};
use crate::control::{SharedCounts, WorkerReport};
use crate::policy::{FORBIDDEN, Forbidden, OpenedBy, Permissions, restrict};

/// Records do not lie in a ring longer than that.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) enum SessionOrder {
    Join(Box<Subscriber>),
    Stop(String),
    Account(oneshot::Sender<Account>),
    /// Tell in the stream what rings have lost up to now.
    Losses(oneshot::Sender<()>),
    Interval {
        change: IntervalChange,
        why: String,
        done: oneshot::Sender<Result<(), String>>,
    },
    /// A note for the stream: `key=value` pairs joined with `;`.
    Note(String),
}

#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Turns of the thread: it lives.
    pub(crate) beats: AtomicU64,
    pub(crate) clients: AtomicU64,
    pub(crate) queued: AtomicU64,
    /// Events a sample, now.
    pub(crate) interval: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct SessionThread {
    pub(crate) plan: Plan,
    pub(crate) facts: Facts,
    pub(crate) settings: SessionSettings,
    pub(crate) permissions: Permissions,
    pub(crate) command_line: Vec<String>,
    pub(crate) granted: Option<GrantLease>,
    /// Bytes of the rings, and of tables in the kernel.
    pub(crate) reserved: Reservation,
    pub(crate) orders: Receiver<SessionOrder>,
    pub(crate) wake_receiver: WakeReceiver,
    pub(crate) progress: Arc<Progress>,
    pub(crate) tally: Arc<SharedCounts<WorkerReport>>,
}

impl SessionThread {
    /// Runs the session. `opened` is called with what the session knows of its
    /// start, or with the reason why there is none.
    pub(crate) fn run(
        mut self,
        opened: impl FnOnce(Result<(Started, ProcessDescriber), ErrorReply>),
    ) {
        let (session, preamble) = match self.open() {
            Ok(open) => open,
            Err(refused) => return opened(Err(refused)),
        };
        let notes = self.plan.notes.iter().chain(session.notes()).cloned().collect();
        let describer = session.describer();
        let in_kernel = session.delivery_in_words().map(str::to_owned);
        let given_up = session.given_up().iter();
        let started = Started {
            session: 0,
            stream: String::new(),
            name: self.plan.name.clone(),
            notes,
            granted: self.granted.as_ref().map(|_| "policy".to_owned()),
            in_kernel,
            planned: session.plan().events.clone(),
            opened: session.events().to_vec(),
            given_up: given_up.map(|fallback| fallback.key().to_owned()).collect(),
        };
        opened(Ok((started, describer)));
        let (trailer, identified) = session.trailer();
        let broadcast = Broadcast::new(trailer, identified, session.places());
        let mut running = RunningSession {
            thread: &self,
            session,
            broadcast,
            preamble,
            joined: false,
            notes: Vec::new(),
            reported: WorkerReport::default(),
        };
        let reason = running.run_until_end();
        running.end(reason);
    }

    fn open(&mut self) -> Result<(Session, Arc<[u8]>), ErrorReply> {
        let opened_by = self.granted.as_ref().map_or(OpenedBy::User, |_| OpenedBy::Policy);
        for event in &mut self.plan.events {
            let forbidden = Forbidden::of(event, self.plan.target, opened_by);
            restrict(&mut event.attr, self.permissions, &forbidden);
        }
        restrict(&mut self.plan.side, self.permissions, &FORBIDDEN);
        let (plan, settings) = (self.plan.clone(), self.settings.clone());
        let kernel = self.reserved.kernel(self.granted.as_ref());
        let mut session =
            Session::open_on(&kernel, plan, settings).map_err(|error| match &self.granted {
                Some(granted) if granted.is_silent() => {
                    error_replies::of_silence(&io::ErrorKind::BrokenPipe.into())
                }
                _ => error_replies::of_failure(&error),
            })?;
        self.progress.interval.store(session.interval(), Ordering::Relaxed);
        let mut preamble = Vec::new();
        session
            .preamble(&self.facts, &self.command_line, &mut preamble)
            .map_err(|error| error_replies::of_failure(&error))?;
        Ok((session, preamble.into()))
    }
}

struct RunningSession<'d> {
    thread: &'d SessionThread,
    session: Session,
    broadcast: Broadcast,
    preamble: Arc<[u8]>,
    /// A client has come, if only to go at once.
    joined: bool,
    notes: Vec<String>,
    /// What the worker's tally has of it.
    reported: WorkerReport,
}

impl RunningSession<'_> {
    /// Until there is a reason to end, which it gives.
    fn run_until_end(&mut self) -> String {
        // The first client is there before the first record.
        let mut ending = self.handle_orders().err();
        if ending.is_none()
            && let Err(error) = self.session.start(&mut self.broadcast)
        {
            return error.to_string();
        }
        loop {
            if let Some(reason) = ending.take() {
                return reason;
            }
            let woken = match self.session.wait(POLL_INTERVAL, &[self.thread.wake_receiver.as_fd()])
            {
                Ok(woken) => woken,
                Err(error) => return error.to_string(),
            };
            self.thread.wake_receiver.clear();
            ending = self.handle_orders().err();
            self.broadcast.prune();
            self.broadcast.write_gaps();
            let began = Instant::now();
            let pass = match self.session.drain(&mut self.broadcast) {
                Ok(pass) => pass,
                Err(error) => return error.to_string(),
            };
            let took = began.elapsed();
            let now = WorkerReport::of_session(self.session.ledger(), self.broadcast.sent());
            let mut tally = self.thread.tally.lock();
            tally.drained(took, pass.fullest.into());
            tally.add_new(&mut self.reported, now);
            drop(tally);
            self.thread.report(&self.broadcast);
            if pass.limit_reached {
                return "the count is reached".into();
            }
            match woken.target {
                TargetState::Gone => return "the target has ended".into(),
                TargetState::Left if self.thread.settings.held.is_some() => {
                    return "the command has ended".into();
                }
                TargetState::Left | TargetState::Running => {}
            }
            if self.joined && self.broadcast.is_empty() {
                return "no client is left".into();
            }
        }
    }

    /// Does what was ordered; an error is the reason to end.
    fn handle_orders(&mut self) -> Result<(), String> {
        loop {
            match self.thread.orders.try_recv() {
                Ok(SessionOrder::Join(subscriber)) => {
                    self.broadcast.add(*subscriber, &self.preamble);
                    self.joined = true;
                }
                Ok(SessionOrder::Stop(reason)) => return Err(reason),
                Ok(SessionOrder::Account(asked)) => {
                    // Clients that joined just now count.
                    self.thread.report(&self.broadcast);
                    // Who asked may have gone.
                    let _gone = asked.send(self.session.so_far().account());
                }
                Ok(SessionOrder::Losses(done)) => {
                    self.session.check_losses();
                    // A broadcast takes everything.
                    let _delivered = self.session.drain(&mut self.broadcast);
                    let _gone = done.send(());
                }
                Ok(SessionOrder::Interval { change, why, done }) => {
                    let changed = self.change_interval(change, &why);
                    if let Err(error) = &changed {
                        tracing::debug!(error, "an interval stays as it is");
                    }
                    let _gone = done.send(changed);
                }
                Ok(SessionOrder::Note(text)) => self.note(text),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err("the worker is ending".into()),
            }
        }
    }

    fn change_interval(&mut self, change: IntervalChange, why: &str) -> Result<(), String> {
        let interval = self.session.change_interval(change).map_err(|error| error.to_string())?;
        self.thread.progress.interval.store(interval, Ordering::Relaxed);
        self.note(format!("interval={interval};at={};why={why}", now()));
        Ok(())
    }

    /// Tells something in the stream, also to those who join later.
    fn note(&mut self, text: String) {
        match self.session.note(&text) {
            Ok(record) => {
                // A broadcast takes everything.
                let _delivered = self.broadcast.write(&record);
                self.preamble = [&self.preamble, &record[..]].concat().into();
                self.notes.push(text);
            }
            Err(error) => tracing::warn!(%error, text, "a note is left out"),
        }
    }

    fn end(mut self, reason: String) {
        let text: String = reason.replace([';', '\n', '\0'], ",");
        self.note(format!("ended={text}"));
        let ledger = self.session.finish(&mut self.broadcast).unwrap_or_else(|error| {
            tracing::error!(%error, "a session's counts cannot be read");
            self.session.ledger().clone()
        });
        let now = WorkerReport::of_session(&ledger, self.broadcast.sent());
        self.thread.tally.lock().add_new(&mut self.reported, now);
        self.notes.pop();
        let ending = StreamEnding { reason, notes: self.notes, session: ledger.account() };
        self.broadcast.end(ending, &ledger);
    }
}

impl SessionThread {
    fn report(&self, broadcast: &Broadcast) {
        let progress = &self.progress;
        progress.beats.fetch_add(1, Ordering::Relaxed);
        progress.clients.store(broadcast.len() as u64, Ordering::Relaxed);
        progress.queued.store(broadcast.queued(), Ordering::Relaxed);
    }
}
