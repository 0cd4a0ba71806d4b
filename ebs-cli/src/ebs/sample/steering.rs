//! When sampling is on: by the clock, and by what is said meanwhile.

use super::control_channel::ControlChannel;
use super::control_command::{ControlCommand, EventListForm};
use crate::ebs::arguments::{Beginning, Steering};
use crate::terminal::say;
use anyhow::Result;
use perfdata::attr::SamplingRate;
use recorder::session::TargetState;
use recorder::{PlannedEvent, Sampling};
use std::time::{Duration, Instant};

/// Turns sampling on and off; of [`Default`], never.
#[derive(Debug, Default)]
pub(crate) struct Steerer {
    steering: Steering,
    channel: Option<ControlChannel>,
    /// When sampling begins, if the clock says so and it has not yet.
    begin: Option<Instant>,
    end: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steered {
    /// As it was, or as it was told meanwhile.
    On,
    ToEnd,
}

impl Steerer {
    /// Opens the channel of commands. Before anything else is opened, as
    /// numbers of files that are not open yet would be ours then.
    ///
    /// # Errors
    ///
    /// A channel that is none.
    pub(crate) fn new(steering: &Steering) -> Result<Steerer> {
        let channel = steering.control.as_ref().map(ControlChannel::open).transpose()?;
        Ok(Steerer { steering: steering.clone(), channel, begin: None, end: None })
    }

    pub(super) fn start(&mut self) {
        let now = Instant::now();
        self.begin = match self.steering.begin {
            Beginning::After(delay) => now.checked_add(delay),
            Beginning::AtOnce | Beginning::WhenTold => None,
        };
        self.end = self.steering.until.and_then(|until| now.checked_add(until));
    }

    /// Waits as [`Sampling::wait`] does, for what is due here, too; then does
    /// what is due.
    pub(super) fn wait(
        &mut self,
        session: &mut dyn Sampling,
        most: Duration,
    ) -> Result<SteeredWait> {
        let now = Instant::now();
        let left = |at: &Instant| at.saturating_duration_since(now);
        let due = self.begin.iter().chain(&self.end).map(left).min();
        let timeout = due.map_or(most, |due| due.min(most));
        let target = match self.channel.as_ref().and_then(ControlChannel::descriptor) {
            Some(descriptor) => session.wait_with_extra(timeout, &[descriptor])?.target,
            None => session.wait(timeout)?,
        };
        Ok(SteeredWait { target, steered: self.act(session)? })
    }

    fn act(&mut self, session: &mut dyn Sampling) -> Result<Steered> {
        let now = Instant::now();
        if self.begin.is_some_and(|at| at <= now) {
            self.begin = None;
            session.set_counting(true)?;
        }
        let commands = self.channel.as_mut().map(ControlChannel::take).unwrap_or_default();
        for command in commands {
            if self.obey(&command, session)? == Steered::ToEnd {
                return Ok(Steered::ToEnd);
            }
        }
        Ok(if self.end.is_some_and(|at| at <= now) { Steered::ToEnd } else { Steered::On })
    }

    /// Does as it is told, and answers; which commands have answers is as in
    /// perf (evlist__ctlfd_process()), but for the one that cannot be done.
    fn obey(&mut self, command: &ControlCommand, session: &mut dyn Sampling) -> Result<Steered> {
        match command {
            ControlCommand::Enable(None) => self.switch(session, true)?,
            ControlCommand::Disable(None) => self.switch(session, false)?,
            ControlCommand::Enable(Some(name)) | ControlCommand::Disable(Some(name)) => {
                let on = matches!(command, ControlCommand::Enable(_));
                let sampled = || session.planned().iter().filter(|event| !event.carrier);
                let is_there = sampled().any(|event| event.name == *name);
                let is_only = sampled().count() == 1;
                match (is_there, is_only) {
                    (false, _) => say("ebs", &format!("--control: no event {name:?} is here")),
                    (true, true) => self.switch(session, on)?,
                    (true, false) => {
                        say(
                            "ebs",
                            &format!(
                                "--control: the events here pause together, {name} alone does not; \
                                 say enable or disable without a name"
                            ),
                        );
                        return Ok(Steered::On);
                    }
                }
            }
            ControlCommand::List(form) => {
                let events = session.planned().iter().filter(|event| !event.carrier);
                events.for_each(|event| say("ebs", &listed(event, *form)));
            }
            ControlCommand::Ping => {}
            ControlCommand::Snapshot => {
                say("ebs", "--control: a snapshot is of an AUX area, and there is none here");
            }
            ControlCommand::Malformed(line) => {
                say("ebs", &format!("--control: wrong command: {line:?}"));
            }
            ControlCommand::Stop => {
                self.answer();
                return Ok(Steered::ToEnd);
            }
            ControlCommand::Unknown(line) => {
                say(
                    "ebs",
                    &format!(
                        "--control: unknown command {line:?}; there are enable, disable, ping, stop \
                         and evlist"
                    ),
                );
                return Ok(Steered::On);
            }
        }
        self.answer();
        Ok(Steered::On)
    }

    /// What is said overrides what the clock was to do.
    fn switch(&mut self, session: &mut dyn Sampling, on: bool) -> Result<()> {
        self.begin = None;
        session.set_counting(on)?;
        say("ebs", if on { "events enabled" } else { "events disabled" });
        Ok(())
    }

    fn answer(&mut self) {
        if let Some(channel) = &mut self.channel {
            channel.acknowledge();
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SteeredWait {
    pub(super) target: TargetState,
    pub(super) steered: Steered,
}

/// An event in a line, as perf's `evlist` has it.
fn listed(event: &PlannedEvent, form: EventListForm) -> String {
    let (name, attr) = (&event.name, &event.attr);
    let (rate, value) = match attr.sampling() {
        SamplingRate::Frequency(hertz) => ("sample_freq", hertz),
        SamplingRate::Period(period) => ("sample_period", period),
    };
    match form {
        // Each samples alone.
        EventListForm::Names | EventListForm::Groups => name.clone(),
        EventListForm::Rates => format!("{name}: {rate}={value}"),
        EventListForm::Fields => format!(
            "{name}: type: {}, config: {:#x}, {rate}: {value}, sample_type: {:#x}, precise_ip: {}",
            attr.kind.0,
            attr.config,
            attr.sample_type.bits(),
            attr.precise_ip()
        ),
    }
}
