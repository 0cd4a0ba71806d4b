//! A session that the daemon runs, as if it were one's own.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use perfdata::Pid;
use perfdata::stream::note;
use rustix::event::{PollFd, PollFlags};

use super::client::{Client, ClientError, DaemonMessage, unexpected, wait_for};
use crate::machine::process_identity::ProcessIdentity;
use crate::remote::protocol::{Account, ErrorCode, NamedTarget, Reply, Started, Verb, WhenSlow};
use crate::session::ledger::Ledger;
use crate::session::{DrainPass, SessionError, Sink, TargetState};
use crate::{AttachError, Command, Facts, Fallback, Job, PlannedEvent, Sampling, Target};

#[derive(Debug)]
pub struct RemoteSession {
    client: Client,
    started: Started,
    target: Target,
    given_up: Vec<Fallback>,
    command: Option<Command>,
    state: TargetState,
    ended: Option<(String, Account)>,
    last_notes: Vec<String>,
    sink_error: Option<String>,
    asked_to_stop: bool,
    since: Instant,
}

/// Ends that nobody needs to be told of.
const ORDINARY: [&str; 4] = [
    "the command has ended",
    "the target has ended",
    "the count is reached",
    "stopped by its owner",
];
/// How long the last records may take to come.
const LAST_RECORDS_TIMEOUT: Duration = Duration::from_secs(10);

impl RemoteSession {
    /// Opens a session there. A command, of these words, is forked here and
    /// waits.
    ///
    /// # Errors
    /// The daemon's refusal; a command that is none.
    pub fn open(
        mut client: Client,
        job: &Job,
        command: &[OsString],
    ) -> Result<RemoteSession, SessionError> {
        let asked = job.request.target;
        let command = match asked {
            Target::Command => Some(Command::hold(command)?),
            Target::Process(_) | Target::System | Target::Cgroup => None,
        };
        let target = match (asked, &command) {
            (Target::Process(pid), _) => NamedTarget::Process(named(pid)?),
            (Target::Command, Some(command)) => NamedTarget::Held(named(command.pid())?),
            _ => NamedTarget::System,
        };
        let when_slow = WhenSlow::DropNewest;
        let started =
            match client.ask(&Verb::Start { job: Box::new(job.clone()), target, when_slow })? {
                Reply::Started(started) => started,
                other => return Err(unexpected(&other).into()),
            };
        Ok(RemoteSession {
            client,
            given_up: started.given_up.iter().filter_map(|key| Fallback::of_key(key)).collect(),
            started,
            target: asked,
            command,
            state: TargetState::Running,
            ended: None,
            last_notes: Vec::new(),
            sink_error: None,
            asked_to_stop: false,
            since: Instant::now(),
        })
    }

    fn pump(&mut self, sink: &mut dyn Sink) -> Result<bool, SessionError> {
        let mut any = false;
        while self.ended.is_none() && self.client.has_frame_within(Duration::ZERO)? {
            any = true;
            self.receive(sink)?;
        }
        Ok(any)
    }

    fn receive(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        let failed = &mut self.sink_error;
        let mut data = |bytes: &[u8]| match failed {
            Some(_) => Ok(()),
            None => sink.write(bytes).inspect_err(|error| {
                *failed = Some(error.to_string());
            }),
        };
        match self.client.receive(&mut data)? {
            DaemonMessage::Data | DaemonMessage::Reply(Reply::Done) => {}
            DaemonMessage::Reply(Reply::End { reason, notes, client, .. }) => {
                self.last_notes.extend(notes.iter().filter_map(|note| user_note(note)));
                if !ORDINARY.contains(&reason.as_str()) {
                    self.last_notes.push(format!("the daemon has ended the session: {reason}"));
                }
                self.ended = Some((reason, client));
            }
            // It ended by itself before it could be stopped; its end is on the way.
            DaemonMessage::Reply(Reply::Refused(complaint))
                if self.asked_to_stop && complaint.code == ErrorCode::NoSession => {}
            DaemonMessage::Reply(Reply::Refused(complaint)) => {
                return Err(ClientError::Refused(complaint).into());
            }
            DaemonMessage::Reply(other) => return Err(unexpected(&other).into()),
        }
        Ok(())
    }
}

fn user_note(note: &str) -> Option<String> {
    let why = note::value(note, "why").unwrap_or("the daemon does not say why");
    if let Some(interval) = note::value(note, "interval") {
        return Some(format!("the interval became {interval} on the way: {why}"));
    }
    let rate = note::value(note, "max_sample_rate")?;
    Some(format!("kernel.perf_event_max_sample_rate became {rate} on the way: {why}"))
}

/// By numbers that no other process ever has; the daemon takes no
/// descriptors.
fn named(pid: Pid) -> Result<ProcessIdentity, AttachError> {
    ProcessIdentity::of(pid.0).ok_or(AttachError::Absent { pid })
}

impl Sampling for RemoteSession {
    fn name(&self) -> &str {
        &self.started.name
    }

    fn target(&self) -> Target {
        self.target
    }

    fn planned(&self) -> &[PlannedEvent] {
        &self.started.planned
    }

    fn opened(&self) -> &[PlannedEvent] {
        &self.started.opened
    }

    fn given_up(&self) -> &[Fallback] {
        &self.given_up
    }

    fn model(&self) -> Option<String> {
        None
    }

    fn served(&self) -> &str {
        match self.started.granted {
            Some(_) => "by the daemon (its policy grants it)",
            None => "by the daemon (with this user's rights)",
        }
    }

    fn in_kernel(&self) -> Option<&str> {
        self.started.in_kernel.as_deref()
    }

    fn notes(&self) -> Vec<String> {
        self.started.notes.clone()
    }

    fn last_notes(&self) -> &[String] {
        &self.last_notes
    }

    /// The daemon writes it.
    fn preamble(
        &mut self,
        _facts: &Facts,
        _command_line: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.pump(sink)?;
        Ok(())
    }

    fn start(&mut self, _sink: &mut dyn Sink) -> Result<(), SessionError> {
        self.since = Instant::now();
        if let Some(command) = &mut self.command {
            command.release()?;
        }
        Ok(())
    }

    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError> {
        if self.ended.is_some() {
            self.state = TargetState::Gone;
        } else if !self.client.has_frame() {
            let command = self.command.as_ref().map(AsFd::as_fd);
            let command = command.filter(|_| self.state == TargetState::Running);
            let watched: [Option<BorrowedFd<'_>>; 2] = [Some(self.client.as_fd()), command];
            let mut fds: Vec<PollFd<'_>> = watched
                .into_iter()
                .flatten()
                .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
                .collect();
            wait_for(&mut fds, timeout)
                .map_err(|error| SessionError::System { call: "poll", error })?;
            if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
                self.state = TargetState::Left;
            }
        }
        Ok(self.state)
    }

    fn set_counting(&mut self, _on: bool) -> Result<(), SessionError> {
        Err(SessionError::NoPause {
            who: "a session of the daemon",
            how: "--no-daemon, as a user whose own rights suffice (root, or one with CAP_PERFMON)",
        })
    }

    fn drain(&mut self, sink: &mut dyn Sink) -> Result<DrainPass, SessionError> {
        let before = self.sink_error.is_some();
        self.pump(sink)?;
        match &self.sink_error {
            Some(error) if !before => Err(SessionError::Sink(io::Error::other(error.clone()))),
            _ => Ok(DrainPass { limit_reached: self.ended.is_some(), ..DrainPass::default() }),
        }
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError> {
        if self.ended.is_none() && !self.asked_to_stop {
            self.asked_to_stop = true;
            self.client.send(&Verb::Stop { session: self.started.session })?;
        }
        while self.ended.is_none() {
            if !self.client.has_frame_within(LAST_RECORDS_TIMEOUT)? {
                let error = io::ErrorKind::TimedOut.into();
                return Err(ClientError::Gone(error).into());
            }
            self.receive(sink)?;
        }
        let mut ledger = Ledger::of(self.started.planned.iter().map(|event| event.name.as_str()));
        if let Some((_, account)) = &self.ended {
            ledger.take_over(account);
        }
        ledger.wall = self.since.elapsed();
        ledger.sink_error = self.sink_error.clone();
        Ok(ledger)
    }

    fn command(&mut self) -> Option<&mut Command> {
        self.command.as_mut()
    }
}
