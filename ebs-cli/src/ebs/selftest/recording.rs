//! A program under a session: the one that `ebs -t TYPE -- PROGRAM` opens,
//! begins, follows and finishes in the same way.

use super::child::Part;
use super::pipes::{Ours, Theirs, pipes};
use super::program::{Extent, Program};
use super::truth::Truth;
use crate::ebs::sample::{Begun, Heard, SampleJob, SampleProgress, Steerer, begin, follow, open};
use crate::terminal::signals::{AskedEnd, Catcher};
use anyhow::{Context, Result, bail};
use recorder::session::ledger::Ledger;
use recorder::session::{Sink, TargetState};
use recorder::{Facts, PlannedEvent, Sampling};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// So long at a time until the program has said what is true of it.
const LOOK: Duration = Duration::from_millis(2);
/// After the end of its loop it says so at once.
const LAST_WORD: Duration = Duration::from_secs(5);
/// A program that has said nothing for so long never will.
const PATIENCE: Duration = Duration::from_secs(60);
/// A stream that long is not kept: none of the programs makes one.
const MOST_BYTES: usize = 1 << 29;

/// The stream of a session, and which part of it is of the program's loop.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub(super) bytes: Vec<u8>,
    /// Where the loop's part begins and ends.
    pub(super) of_loop: Range<usize>,
}

impl Sink for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes.len().saturating_add(bytes.len()) > MOST_BYTES {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) captured: Captured,
    pub(super) truth: Truth,
    /// How long its loop took.
    pub(super) took: Duration,
    pub(super) ledger: Ledger,
    pub(super) opened: Vec<PlannedEvent>,
    pub(super) served: String,
}

#[derive(Debug)]
pub(super) enum Attempt {
    Recorded(Box<Recorded>),
    /// Nothing could be opened; why, and what to do, is in the error.
    Refused(anyhow::Error),
    Interrupted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cast {
    pub(super) program: Program,
    pub(super) extent: Extent,
    pub(super) cpus: Option<[usize; 2]>,
}

impl Cast {
    fn words(self, theirs: &Theirs) -> Vec<String> {
        let Cast { program, extent, cpus } = self;
        let (tell, go) = theirs.numbers();
        Part { program, extent, tell, go, cpus }.words()
    }
}

/// Samples a program. The job's command is put in here.
///
/// # Errors
/// A session that fails after it was opened; a program that does.
pub(super) fn record(
    mut job: SampleJob,
    cast: Cast,
    facts: &Facts,
    catcher: &mut Catcher,
) -> Result<Attempt> {
    let (mut ours, theirs) = pipes()?;
    let exe = std::env::current_exe().context("where ebs is; mount /proc")?;
    job.command = vec![exe.into_os_string()];
    job.command.extend(cast.words(&theirs).into_iter().map(Into::into));
    let mut session = match open(&job, facts) {
        Ok(session) => session,
        Err(refused) => return Ok(Attempt::Refused(refused)),
    };
    let session = session.as_mut();
    drop(theirs);
    let mut captured = Captured::default();
    if begin(session, facts, &mut captured)? == Begun::OutputFailed {
        bail!("the stream has no room");
    }
    let interrupted = |session: &mut dyn Sampling, ours: Ours| {
        // The program reads end of file, and ends.
        drop(ours);
        session.finish(&mut Captured::default()).map(|_account| Attempt::Interrupted)
    };
    let Some(truth) = until(session, || ours.truth(LOOK), &mut captured, catcher)? else {
        return Ok(interrupted(session, ours)?);
    };
    let before = captured.bytes.len();
    ours.go()?;
    if until(session, || ours.ran(LOOK), &mut captured, catcher)?.is_none() {
        return Ok(interrupted(session, ours)?);
    }
    captured.of_loop = before..captured.bytes.len();
    ours.go()?;
    let mut progress = SampleProgress::new(false, true);
    let steerer = &mut Steerer::default();
    let heard = Heard { catcher, steerer, progress: &mut progress };
    let ending = follow(session, &mut captured, heard)?;
    let ledger = session.finish(&mut captured)?;
    if ending.is_by_signal() {
        return Ok(Attempt::Interrupted);
    }
    let done = ours.done(LAST_WORD)?.context("the program did not end")?;
    if let Some(command) = session.command() {
        command.wait().context("waiting for the program")?;
    }
    Ok(Attempt::Recorded(Box::new(Recorded {
        captured,
        truth,
        took: Duration::from_nanos(done.nanoseconds),
        ledger,
        opened: session.opened().to_vec(),
        served: session.served().to_owned(),
    })))
}

/// Moves records until the program has said something, after which it waits:
/// whatever the rings hold then is from before. None: a signal came.
fn until<T>(
    session: &mut dyn Sampling,
    said: impl Fn() -> Result<Option<T>>,
    captured: &mut Captured,
    catcher: &mut Catcher,
) -> Result<Option<T>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said = said()?;
        let state = session.wait(Duration::ZERO)?;
        session.drain(captured)?;
        if said.is_some() {
            // What came while the last words were written.
            session.wait(LOOK)?;
            session.drain(captured)?;
            return Ok(said);
        }
        if catcher.asked() != AskedEnd::default() {
            return Ok(None);
        }
        if state != TargetState::Running || Instant::now() > deadline {
            bail!("the program did not come to the end of its loop");
        }
    }
}

/// Runs a program without any sampling; gives how long its loop took.
///
/// # Errors
/// It does not run.
pub(super) fn natively(cast: Cast) -> Result<Duration> {
    let (mut ours, theirs) = pipes()?;
    let exe = std::env::current_exe().context("where ebs is; mount /proc")?;
    let mut command = Command::new(exe);
    command.args(cast.words(&theirs)).stdin(Stdio::null());
    let mut child = command.spawn().context("starting a program")?;
    drop(theirs);
    let mut run = || -> Result<Duration> {
        ours.truth(PATIENCE)?.context("it does not come to its go")?;
        ours.go()?;
        ours.ran(PATIENCE)?.context("its loop does not end")?;
        ours.go()?;
        let done = ours.done(PATIENCE)?.context("it does not end")?;
        Ok(Duration::from_nanos(done.nanoseconds))
    };
    let took = run().with_context(|| format!("the program {} without sampling", cast.program));
    child.wait().context("waiting for a program")?;
    took
}
