//! How a program and its parent talk: two pipes, a line of JSON for a word.

use super::truth::{Done, Truth};
use anyhow::{Context, Result, bail};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// The ends that a program is started with.
#[derive(Debug)]
pub(super) struct Theirs {
    tell: PipeWriter,
    go: PipeReader,
}

/// The ends that stay here.
#[derive(Debug)]
pub(super) struct Ours {
    lines: Receiver<String>,
    go: PipeWriter,
}

/// Two new pipes. What is started while `Theirs` is there inherits it; drop
/// it then, so that the end of the program is the end of what it says.
///
/// # Errors
/// No descriptor or no thread is left.
pub(super) fn pipes() -> Result<(Ours, Theirs)> {
    let (hear, tell) = pipe().context("a pipe; raise `ulimit -n`")?;
    let (wait, go) = pipe().context("a pipe; raise `ulimit -n`")?;
    fcntl_setfd(&tell, FdFlags::empty()).context("a pipe")?;
    fcntl_setfd(&wait, FdFlags::empty()).context("a pipe")?;
    let (sender, lines) = channel();
    let listen = move || {
        let said = BufReader::new(hear).lines().map_while(Result::ok);
        // Who no longer listens has the program's end in hand.
        let _gone = said.into_iter().try_for_each(|line| sender.send(line));
    };
    thread::Builder::new().name("selftest".into()).spawn(listen).context("a thread")?;
    Ok((Ours { lines, go }, Theirs { tell, go: wait }))
}

impl Theirs {
    /// Numbers of the descriptors, as the program is told them: to tell by,
    /// to wait for the go by.
    pub(super) fn numbers(&self) -> (RawFd, RawFd) {
        (self.tell.as_raw_fd(), self.go.as_raw_fd())
    }
}

impl Ours {
    /// What is true of the program, once it says so. None: not yet.
    ///
    /// # Errors
    /// It has ended without a word.
    pub(super) fn truth(&self, wait: Duration) -> Result<Option<Truth>> {
        self.heard(wait)
    }

    /// How its run went.
    ///
    /// # Errors
    /// It has ended without saying so.
    pub(super) fn done(&self, wait: Duration) -> Result<Option<Done>> {
        self.heard(wait)
    }

    /// Whether its loop has ended.
    ///
    /// # Errors
    /// It has ended without a word.
    pub(super) fn ran(&self, wait: Duration) -> Result<Option<String>> {
        self.heard(wait)
    }

    /// Lets it run, and then end.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn go(&mut self) -> Result<()> {
        self.go.write_all(b"!").context("the program ended before its go")
    }

    fn heard<T: DeserializeOwned>(&self, wait: Duration) -> Result<Option<T>> {
        match self.lines.recv_timeout(wait) {
            Ok(line) => {
                let said = serde_json::from_str(&line);
                said.map(Some).with_context(|| format!("the program says {line:?}"))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                bail!("the program ended before it had said all")
            }
        }
    }
}
