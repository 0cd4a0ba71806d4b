//! One run, recorded by an `ebs` of its own.

use crate::ebs::started_ebs::started_ebs;
use crate::terminal::signals::{AskedEnd, Catcher};
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::ffi::OsString;
use std::io::{IsTerminal, stdin};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A run that has ended is seen after so long at most.
const LOOK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedRun {
    /// That of the command, or of what kept it from running.
    pub(super) status: u8,
    /// Somebody asked for the end.
    pub(super) is_stopped: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunPlace {
    /// In process groups of their own: they hear a signal once, from us. Their input is empty, and
    /// their output is thrown away, as it is the same each time.
    Behind,
    /// Where this program is, with its terminal, its input and its output.
    InFront,
}

/// Records runs, until a signal says that it is enough.
#[derive(Debug)]
pub(super) struct Recorder<'w> {
    /// What of `ebs` comes before the file and the command.
    words: &'w [OsString],
    place: RunPlace,
    catcher: Catcher,
    /// A signal other than SIGINT that was asked to end with.
    ended_by: Option<i32>,
}

impl<'w> Recorder<'w> {
    pub(super) fn new(words: &'w [OsString], place: RunPlace) -> Result<Recorder<'w>> {
        let catcher = Catcher::new().context("signals cannot be caught")?;
        Ok(Recorder { words, place, catcher, ended_by: None })
    }

    /// The status after a signal that ends a program.
    pub(super) fn status(&self) -> Option<u8> {
        self.ended_by.map(|signal| u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }

    /// Runs a command to its end. Of what was not sampled there is no file, and `ebs` has said why.
    pub(super) fn record(&mut self, command: &[OsString], file: &Path) -> Result<RecordedRun> {
        let mut run = started_ebs()?;
        run.args(self.words).arg("-o").arg(file).arg("--").args(command);
        if self.place == RunPlace::Behind {
            run.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        }
        let mut child = run.spawn().context("ebs cannot be started anew")?;
        let mut is_stopped = false;
        let status = loop {
            if let Some(status) = child.try_wait().context("waiting for a run")? {
                break status;
            }
            let asked = self.catcher.asked();
            is_stopped |= asked != AskedEnd::default();
            self.ended_by = asked.end.or(self.ended_by);
            if let Some(signal) = self.untold(asked) {
                self.pass_on(&child, signal);
            }
            std::thread::sleep(LOOK);
        };
        // One that came as the run ended stops what would follow.
        let asked = self.catcher.asked();
        self.ended_by = asked.end.or(self.ended_by);
        is_stopped |= asked != AskedEnd::default();
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        let status = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
        Ok(RecordedRun { status, is_stopped })
    }

    /// What the run has not heard itself: a terminal sends SIGINT to all that are in front.
    fn untold(&self, asked: AskedEnd) -> Option<i32> {
        let heard = self.place == RunPlace::InFront && stdin().is_terminal();
        asked.end.or((asked.interrupt && !heard).then_some(libc::SIGINT))
    }

    fn pass_on(&self, child: &Child, signal: i32) {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
            // It may have ended since; there is nothing to do then.
            let _gone = match self.place {
                RunPlace::Behind => kill_process_group(pid, signal),
                RunPlace::InFront => kill_process(pid, signal),
            };
        }
    }
}
