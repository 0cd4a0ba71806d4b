//! The thread of one session: opens it, moves its records, ends it. It waits
//! for rings, and for nobody else.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use super::bell::Ear;
use super::complaint;
use super::fan::{Ending, Fan, Subscriber};
use crate::broker::{Broker, Brokered};
use crate::control::{Tally, Told};
use crate::ledger::Ledger;
use crate::permission::{Permissions, restrict};
use crate::protocol::{Account, Complaint};
use crate::session::kernel::Linux;
use crate::session::{Session, Settings, TargetState};
use crate::{Facts, Plan};

/// Records do not lie in a ring longer than that.
const LOOK: Duration = Duration::from_millis(100);

/// What a session thread is told.
#[derive(Debug)]
pub(crate) enum Order {
    /// Another client.
    Join(Box<Subscriber>),
    /// End, for this reason.
    Stop(String),
}

/// What everybody may look at while the session runs.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Turns of the thread: it lives.
    pub(crate) beats: AtomicU64,
    pub(crate) delivered: AtomicU64,
    pub(crate) side: AtomicU64,
    pub(crate) clients: AtomicU64,
    pub(crate) queued: AtomicU64,
}

/// A session to run.
#[derive(Debug)]
pub(crate) struct Drive {
    pub(crate) plan: Plan,
    pub(crate) facts: Facts,
    pub(crate) settings: Settings,
    pub(crate) permissions: Permissions,
    pub(crate) command_line: Vec<String>,
    /// For what the user may not open.
    pub(crate) granted: Option<(Arc<Broker>, u64)>,
    pub(crate) orders: Receiver<Order>,
    pub(crate) ear: Ear,
    pub(crate) progress: Arc<Progress>,
    /// Of all sessions of the worker.
    pub(crate) tally: Arc<Tally>,
}

/// Said once the session is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) notes: Vec<String>,
}

impl Drive {
    /// Runs the session; `opened` is told how its start went.
    pub(crate) fn run(mut self, opened: impl FnOnce(Result<Opened, Complaint>)) {
        let granted = self.granted.clone();
        self.sample(opened);
        if let Some((broker, grant)) = granted {
            broker.release(grant);
        }
    }

    fn sample(&mut self, opened: impl FnOnce(Result<Opened, Complaint>)) {
        let (mut session, mut fan, preamble) = match self.open() {
            Ok(open) => open,
            Err(complaint) => return opened(Err(complaint)),
        };
        let notes = self.plan.notes.iter().chain(session.notes()).cloned().collect();
        opened(Ok(Opened { name: self.plan.name.clone(), notes }));
        let mut told = Told::default();
        let reason = self.follow((&mut session, &mut fan), &preamble, &mut told);
        let ledger = session.finish(&mut fan).unwrap_or_else(|error| {
            tracing::error!(%error, "a session's counts cannot be read");
            session.ledger().clone()
        });
        self.tally.tell(&mut told, &ledger, fan.sent());
        fan.end(Ending { reason, session: account(&ledger) }, &ledger);
    }

    fn open(&mut self) -> Result<(Session, Fan, Arc<[u8]>), Complaint> {
        for event in &mut self.plan.events {
            restrict(&mut event.attr, self.permissions);
        }
        restrict(&mut self.plan.side, self.permissions);
        let (plan, settings) = (self.plan.clone(), self.settings.clone());
        let session = match &self.granted {
            Some((broker, grant)) => {
                Session::open_on(&Brokered { broker, grant: *grant }, plan, settings)
            }
            None => Session::open_on(&Linux, plan, settings),
        };
        let mut session = session.map_err(|error| complaint::of_failure(&error))?;
        let mut preamble = Vec::new();
        session
            .preamble(&self.facts, &self.command_line, &mut preamble)
            .map_err(|error| complaint::of_failure(&error))?;
        let fan = Fan::new(session.trailer(), session.places());
        Ok((session, fan, preamble.into()))
    }

    /// Until there is a reason to end, which it gives.
    fn follow(
        &mut self,
        (session, fan): (&mut Session, &mut Fan),
        preamble: &Arc<[u8]>,
        told: &mut Told,
    ) -> String {
        // The first client is there before the first record.
        let mut had_client = self.obey(fan, preamble).err();
        // It may vanish in the next moment, which is the end of the session.
        let mut joined = !fan.is_empty();
        if had_client.is_none()
            && let Err(error) = session.start(fan)
        {
            return error.to_string();
        }
        loop {
            if let Some(reason) = had_client.take() {
                return reason;
            }
            let woken = match session.wait(LOOK, &[self.ear.as_fd()]) {
                Ok(woken) => woken,
                Err(error) => return error.to_string(),
            };
            self.ear.hush();
            had_client = self.obey(fan, preamble).err();
            joined |= !fan.is_empty();
            fan.prune();
            let began = Instant::now();
            let pass = match session.drain(fan) {
                Ok(pass) => pass,
                Err(error) => return error.to_string(),
            };
            self.tally.drained(began.elapsed(), pass.fullest.into());
            self.tally.tell(told, session.ledger(), fan.sent());
            self.report(session, fan);
            if pass.limit_reached {
                return "the count is reached".into();
            }
            match woken.target {
                TargetState::Gone => return "the target has ended".into(),
                TargetState::Left if self.settings.held.is_some() => {
                    return "the command has ended".into();
                }
                TargetState::Left | TargetState::Running => {}
            }
            if joined && fan.is_empty() {
                return "no client is left".into();
            }
        }
    }

    /// Does what was ordered; an error is the reason to end.
    fn obey(&self, fan: &mut Fan, preamble: &Arc<[u8]>) -> Result<(), String> {
        loop {
            match self.orders.try_recv() {
                Ok(Order::Join(subscriber)) => fan.add(*subscriber, preamble),
                Ok(Order::Stop(reason)) => return Err(reason),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err("the worker is ending".into()),
            }
        }
    }

    fn report(&self, session: &Session, fan: &Fan) {
        let (progress, ledger) = (&self.progress, session.ledger());
        progress.beats.fetch_add(1, Ordering::Relaxed);
        progress.delivered.store(ledger.delivered, Ordering::Relaxed);
        progress.side.store(ledger.side_delivered, Ordering::Relaxed);
        progress.clients.store(fan.len() as u64, Ordering::Relaxed);
        progress.queued.store(fan.queued(), Ordering::Relaxed);
    }
}

/// A ledger in the protocol's words.
pub(crate) fn account(ledger: &Ledger) -> Account {
    let lost = ledger.lost.causes().into_iter().filter(|(_, count)| *count > 0);
    Account {
        kernel: ledger.kernel,
        delivered: ledger.delivered,
        lost: lost.map(|(cause, count)| (cause.to_owned(), count)).collect(),
        side: ledger.side_delivered,
        side_lost: ledger.side_lost,
    }
}
