//! What a sampling job is to whoever drives it, whatever makes the samples.

use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::regions::RegionLog;
use crate::session::ledger::Ledger;
use crate::session::{DrainPass, SessionError, SessionWake, Sink, TargetState};
use crate::{Command, Facts, Fallback, PlannedEvent, Session, Target};

/// A job that is open. In order: [`preamble`](Sampling::preamble),
/// [`start`](Sampling::start), then [`wait`](Sampling::wait) and
/// [`drain`](Sampling::drain) in turn, [`finish`](Sampling::finish).
pub trait Sampling: fmt::Debug {
    fn name(&self) -> &str;

    fn target(&self) -> Target;

    fn planned(&self) -> &[PlannedEvent];

    fn opened(&self) -> &[PlannedEvent];

    fn given_up(&self) -> &[Fallback];

    fn model(&self) -> Option<String>;

    /// Where the periods of samples are drawn from; None: none is drawn.
    fn seed(&self) -> Option<u64> {
        None
    }

    fn served(&self) -> &str {
        "in process (no daemon)"
    }

    /// What a program in the kernel did, in words; None: nothing was asked of
    /// one.
    fn in_kernel(&self) -> Option<&str> {
        None
    }

    /// Said to the user so far: the plan's notes and the session's.
    fn notes(&self) -> Vec<String>;

    fn last_notes(&self) -> &[String];

    /// Whether sampling of the target, or of a part of it, broke off by a fault
    /// that [`last_notes`](Sampling::last_notes) name; known at the end.
    fn broke_off(&self) -> bool {
        false
    }

    /// Whether the end of sampling let the target go on at another speed, for
    /// which no share of its time tells what was seen of it; known at the end.
    fn goes_on_natively(&self) -> bool {
        false
    }

    /// Writes what comes before the first record.
    ///
    /// # Errors
    /// The sink failed, or a text is too long for a record.
    fn preamble(
        &mut self,
        facts: &Facts,
        command_line: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// Lets the target go, and describes what runs already.
    ///
    /// # Errors
    /// A command that cannot be executed; a sink that fails.
    fn start(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError>;

    /// Waits until there may be records, the target's state has changed, or
    /// the time is over.
    ///
    /// # Errors
    /// A call that should not fail.
    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError>;

    /// The same, beside descriptors of the caller's: each of them that can be
    /// read, or has hung up, ends the wait. Who cannot pause does not look at
    /// them.
    ///
    /// # Errors
    /// A call that should not fail.
    fn wait_with_extra(
        &mut self,
        timeout: Duration,
        extra: &[BorrowedFd<'_>],
    ) -> Result<SessionWake, SessionError> {
        let target = self.wait(timeout)?;
        Ok(SessionWake { records: false, target, extra: vec![false; extra.len()] })
    }

    /// Pauses sampling, or has it go on; from [`start`](Sampling::start) on.
    ///
    /// # Errors
    /// [`SessionError::NoPause`] where that cannot be; an event that is not
    /// enabled.
    fn set_counting(&mut self, on: bool) -> Result<(), SessionError>;

    /// Moves the records that there are to the sink.
    ///
    /// # Errors
    /// The sink failed, for the first time.
    fn drain(&mut self, sink: &mut dyn Sink) -> Result<DrainPass, SessionError>;

    /// Stops sampling, moves the rest, ends the stream.
    ///
    /// # Errors
    /// A count that cannot be read.
    fn finish(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError>;

    /// Where regions are marked for this session, if it reads marks there.
    fn regions(&self) -> Option<&RegionLog> {
        None
    }

    fn command(&mut self) -> Option<&mut Command>;

    /// A pipe for handlers of signals: a byte written to it lets the target
    /// run on by itself, whatever whoever drives this waits for. None: nothing
    /// of the target waits for us.
    ///
    /// # Errors
    /// No descriptor is left for a copy of it.
    fn stopper(&self) -> io::Result<Option<OwnedFd>> {
        Ok(None)
    }
}

impl Sampling for Session {
    fn name(&self) -> &str {
        &self.plan().name
    }

    fn target(&self) -> Target {
        self.plan().target
    }

    fn planned(&self) -> &[PlannedEvent] {
        &self.plan().events
    }

    fn opened(&self) -> &[PlannedEvent] {
        self.events()
    }

    fn given_up(&self) -> &[Fallback] {
        Session::given_up(self)
    }

    fn model(&self) -> Option<String> {
        None
    }

    fn in_kernel(&self) -> Option<&str> {
        self.delivery_in_words()
    }

    fn notes(&self) -> Vec<String> {
        self.plan().notes.iter().chain(Session::notes(self)).cloned().collect()
    }

    fn last_notes(&self) -> &[String] {
        Session::last_notes(self)
    }

    fn preamble(
        &mut self,
        facts: &Facts,
        command_line: &[String],
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        Session::preamble(self, facts, command_line, sink)
    }

    fn start(&mut self, sink: &mut dyn Sink) -> Result<(), SessionError> {
        Session::start(self, sink)
    }

    fn wait(&mut self, timeout: Duration) -> Result<TargetState, SessionError> {
        Session::wait(self, timeout, &[]).map(|woken| woken.target)
    }

    fn wait_with_extra(
        &mut self,
        timeout: Duration,
        extra: &[BorrowedFd<'_>],
    ) -> Result<SessionWake, SessionError> {
        Session::wait(self, timeout, extra)
    }

    fn set_counting(&mut self, on: bool) -> Result<(), SessionError> {
        Session::set_counting(self, on)
    }

    fn drain(&mut self, sink: &mut dyn Sink) -> Result<DrainPass, SessionError> {
        Session::drain(self, sink)
    }

    fn finish(&mut self, sink: &mut dyn Sink) -> Result<Ledger, SessionError> {
        Session::finish(self, sink)
    }

    fn regions(&self) -> Option<&RegionLog> {
        Session::regions(self)
    }

    fn command(&mut self) -> Option<&mut Command> {
        Session::command(self)
    }
}
