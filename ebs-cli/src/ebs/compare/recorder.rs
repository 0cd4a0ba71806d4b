//! One run, recorded by an `ebs` of its own.

use crate::terminal::signals::Catcher;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A run that has ended is seen after so long at most.
const LOOK: Duration = Duration::from_millis(10);

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// By itself, with this status.
    Ended(u8),
    /// Because somebody asked for the end of all.
    Stopped,
}

/// Records runs, until a signal says that it is enough.
#[derive(Debug)]
pub(super) struct Recorder<'w> {
    /// What of `ebs` comes before the file and the command.
    words: &'w [OsString],
    catcher: Catcher,
    /// A signal other than SIGINT that was asked to end with.
    ended_by: Option<i32>,
}

impl<'w> Recorder<'w> {
    pub(super) fn new(words: &'w [OsString]) -> Result<Recorder<'w>> {
        let catcher = Catcher::new().context("signals cannot be caught")?;
        Ok(Recorder { words, catcher, ended_by: None })
    }

    /// The status after a signal that ends a program.
    pub(super) fn status(&self) -> Option<u8> {
        self.ended_by.map(|signal| u8::try_from(128 + signal).unwrap_or(u8::MAX))
    }

    /// Runs a command to its end, in a process group of its own: it hears a signal once, from
    /// us. Its input is empty and its output is thrown away, as it is the same each time.
    pub(super) fn record(&mut self, command: &[OsString], file: &Path) -> Result<RunEnd> {
        let ebs = std::env::current_exe().context("where ebs is cannot be told")?;
        let mut child = Command::new(ebs)
            .args(self.words)
            .arg("-o")
            .arg(file)
            .arg("--")
            .args(command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .context("ebs cannot be started anew")?;
        let mut is_stopped = false;
        let status = loop {
            if let Some(status) = child.try_wait().context("waiting for a run")? {
                break status;
            }
            let asked = self.catcher.asked();
            if let Some(signal) = asked.end.or(asked.interrupt.then_some(libc::SIGINT)) {
                is_stopped = true;
                self.ended_by = asked.end.or(self.ended_by);
                pass_on(&child, signal);
            }
            std::thread::sleep(LOOK);
        };
        // One that came as the run ended stops what would follow.
        let asked = self.catcher.asked();
        self.ended_by = asked.end.or(self.ended_by);
        if is_stopped || asked.interrupt || asked.end.is_some() {
            return Ok(RunEnd::Stopped);
        }
        if !file.exists() {
            bail!("nothing was recorded: what ebs said above is why");
        }
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        Ok(RunEnd::Ended(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)))
    }
}

fn pass_on(child: &Child, signal: i32) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
        // It may have ended since; there is nothing to do then.
        let _gone = kill_process_group(pid, signal);
    }
}
