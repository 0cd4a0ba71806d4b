//! Who counts: the kernel and the machine's PMU, or the emulated one.

use crate::ebs::stat::StatJob;
use anyhow::Result;
use recorder::counting::{
    CountingPlan, CountingRequest, CountingSession, CountingSettings, EmulatedCounting, TotalCounts,
};
use recorder::emulated::Model;
use recorder::session::{SessionError, SessionSettings, TargetState};
use recorder::{Command, Facts, Sampling};
use std::ffi::OsString;
use std::time::Duration;

#[derive(Debug)]
pub(super) enum Counter {
    Kernel(Box<CountingSession>),
    Emulated(Box<EmulatedCounting>),
}

impl Counter {
    pub(super) fn kernel(plan: &CountingPlan, job: &StatJob) -> Result<Counter> {
        let settings = CountingSettings {
            target: job.target,
            command: job.command.clone(),
            cpus: job.cpus.clone(),
            root: "/".into(),
        };
        Ok(Counter::Kernel(Box::new(CountingSession::open(plan.clone(), settings)?)))
    }

    pub(super) fn emulated(
        plan: &CountingPlan,
        request: &CountingRequest,
        model: Model,
        facts: &Facts,
        command: &[OsString],
    ) -> Result<Counter> {
        let settings = SessionSettings { command: command.to_vec(), ..SessionSettings::default() };
        let plan = EmulatedCounting::plan(plan, request, model, facts)?;
        let open = EmulatedCounting::open(plan, settings, &hardmeter::program_rules())?;
        Ok(Counter::Emulated(Box::new(open)))
    }

    pub(super) fn start(&mut self) -> Result<(), SessionError> {
        match self {
            Counter::Kernel(session) => session.start(),
            Counter::Emulated(session) => session.start(),
        }
    }

    pub(super) fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError> {
        match self {
            Counter::Kernel(session) => session.wait(timeout),
            Counter::Emulated(session) => session.wait(timeout),
        }
    }

    pub(super) fn finish(&mut self) -> Result<TotalCounts, SessionError> {
        match self {
            Counter::Kernel(session) => session.finish(),
            Counter::Emulated(session) => session.finish(),
        }
    }

    /// Counts since the last call; None: it has no such.
    pub(super) fn window(&mut self) -> Option<TotalCounts> {
        match self {
            Counter::Kernel(session) => Some(session.window()),
            Counter::Emulated(_) => None,
        }
    }

    pub(super) fn command(&mut self) -> Option<&mut Command> {
        match self {
            Counter::Kernel(session) => session.command(),
            Counter::Emulated(session) => session.command(),
        }
    }

    pub(super) fn notes(&self) -> Vec<String> {
        match self {
            Counter::Kernel(session) => session.notes().to_vec(),
            Counter::Emulated(open) => {
                let session = open.session();
                session.notes().into_iter().chain(session.last_notes().iter().cloned()).collect()
            }
        }
    }
}
