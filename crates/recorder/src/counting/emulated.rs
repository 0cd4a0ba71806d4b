//! Counts of the emulated PMU: its sessions, of which the account is taken.

use std::time::{Duration, Instant};

use emulator::Coverage;

use super::{Counting, CountingPlan, CountingRequest, EventCount, TotalCounts};
use crate::emulated::{self, EmulatedPlan, EmulatedSession, Model, ProgramRules};
use crate::metrics::Estimate;
use crate::request::EventRequest;
use crate::session::ledger::EventAccount;
use crate::session::{SessionError, SessionSettings, TargetState};
use crate::{Command, Facts, Refusal, Request, Sampling};

/// A sample of each so many events, to check the count by.
const CHECKED_EVERY: u64 = 100_003;

#[derive(Debug)]
pub struct EmulatedCounting {
    session: EmulatedSession,
    events: usize,
    started: Option<Instant>,
}

impl EmulatedCounting {
    /// What the emulated PMU is to be told.
    ///
    /// # Errors
    /// What is not emulated.
    pub fn plan(
        plan: &CountingPlan,
        request: &CountingRequest,
        model: Model,
        facts: &Facts,
    ) -> Result<EmulatedPlan, Refusal> {
        let asked = emulated_request(plan, request).ok_or(Refusal::ModeMissing)?;
        emulated::plan(&asked, model, facts)
    }

    /// Takes hold of the target; see [`EmulatedSession::open`].
    ///
    /// # Errors
    /// A target that is not there, or that cannot be emulated.
    pub fn open(
        plan: EmulatedPlan,
        settings: SessionSettings,
        rules: &ProgramRules,
    ) -> Result<EmulatedCounting, SessionError> {
        let events = plan.events.len();
        let session = EmulatedSession::open(plan, settings, rules)?;
        Ok(EmulatedCounting { session, events, started: None })
    }
}

impl Counting for EmulatedCounting {
    fn start(&mut self) -> Result<(), SessionError> {
        self.started = Some(Instant::now());
        self.session.start(&mut nowhere)
    }

    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError> {
        let state = self.session.wait(timeout)?;
        self.session.drain(&mut nowhere)?;
        Ok(state)
    }

    fn finish(&mut self) -> Result<TotalCounts, SessionError> {
        let ledger = self.session.finish(&mut nowhere)?;
        let wall = self.started.map_or(Duration::ZERO, |at| at.elapsed());
        let counts = ledger.by_event.iter().take(self.events).map(|account| counted(account, wall));
        Ok(TotalCounts { groups: vec![counts.collect()], wall })
    }

    fn command(&mut self) -> Option<&mut Command> {
        self.session.command()
    }

    fn notes(&self) -> Vec<String> {
        let session = &self.session;
        session.notes().into_iter().chain(session.last_notes().iter().cloned()).collect()
    }
}

fn nowhere(_bytes: &[u8]) -> std::io::Result<()> {
    Ok(())
}

fn counted(account: &EventAccount, wall: Duration) -> EventCount {
    let mut count = EventCount::whole(account.events, wall);
    match account.bursts.as_ref() {
        Some(ran) => count.figure = Ok(of_bursts(account.events, ran)),
        None => {
            // A thread may end within an interval: its rest is in no sample.
            let samples = account.delivered + account.lost.total();
            let rest = account.events.checked_sub(samples.saturating_mul(CHECKED_EVERY));
            count.agrees = Some(rest.is_some());
        }
    }
    count
}

/// What bursts say of the whole: two standard errors about it.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn of_bursts(events: u64, ran: &Coverage) -> Estimate {
    let value = events as f64 * ran.factor().unwrap_or(0.0);
    match ran.error() {
        Some(error) => Estimate {
            value,
            low: (value * (1.0 - 2.0 * error)).max(events as f64).min(value),
            high: value * (1.0 + 2.0 * error),
        },
        None => Estimate { value, low: events as f64, high: f64::INFINITY },
    }
}

fn emulated_request(plan: &CountingPlan, request: &CountingRequest) -> Option<Request> {
    let mut events = plan.groups.first()?.events.iter().map(|event| event.spec.clone());
    let mut first = Request::new(events.next()?, request.modes, request.target);
    // Few samples: the count is what is wanted, and one beside it to check.
    first.interval = Some(CHECKED_EVERY);
    first.also =
        events.map(|event| EventRequest { event, interval: first.interval, seed: None }).collect();
    Some(first)
}
