//! An `ebs` that samples, and writes its stream into a pipe of ours.

use super::live_view::StreamPart;
use crate::ebs::started_ebs::started_ebs;
use crate::ebs::top::TopArguments;
use crate::outputs::{self, NamedOutput};
use crate::terminal::signals::Catcher;
use anyhow::{Context, Result};
use rustix::buffer::spare_capacity;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{File, remove_dir, remove_file};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes that are read at once.
const READ: usize = 1 << 18;
/// Bytes that wait in the pipe, where a user may have so many: 64 KiB are fewer
/// than a pass over the rings brings.
const PIPE: usize = 1 << 20;
/// Where no more parts may wait, it is tried again after so long.
const FULL: Duration = Duration::from_millis(5);
/// Its last lines can still be in the pipe when it has ended, and a process that it started can
/// keep the pipe open: the wait for the end of the pipe is no longer than this.
const LAST_LINES: Duration = Duration::from_millis(500);
/// What is kept of what `ebs` says.
const NOTES: usize = 50;
/// Its end is looked for so often.
const LOOK: Duration = Duration::from_millis(20);
/// What each line of that begins with.
const SAID: &str = "ebs: ";

/// It runs in a process group of its own: a terminal's signals are ours.
#[derive(Debug)]
pub(super) struct SampledChild {
    child: Child,
    notes: Arc<Mutex<VecDeque<String>>>,
    /// Reads its stderr, to the end.
    listener: Option<JoinHandle<()>>,
    status: Option<u8>,
    /// Its stream has begun: what else comes on stderr is a command's.
    has_begun: Arc<AtomicBool>,
    /// Where the pipe is until both its ends are open.
    _place: TempDir,
}

impl SampledChild {
    /// Starts it, and hands on what it writes, part by part.
    ///
    /// # Errors
    ///
    /// No pipe, no file for what a command prints, no process.
    pub(super) fn start(
        arguments: &TopArguments,
        parts: SyncSender<StreamPart>,
        is_over: Arc<AtomicBool>,
        ended: &mut dyn FnMut() -> bool,
    ) -> Result<SampledChild> {
        let place = outputs::private_folder("ebs-top-")
            .context("no folder for a pipe; set TMPDIR to another one")?;
        let pipe = place.path().join("stream.data");
        mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR)
            .with_context(|| format!("no pipe can be made at {}", pipe.display()))?;
        let printed = arguments.output.as_ref().map(|path| {
            NamedOutput::find(path)
                .and_then(|output| output.open_anew(ended))
                .with_context(|| format!("cannot write to {}", path.display()))
        });
        let printed = printed.transpose()?;
        let stdout = match &printed {
            Some(file) => file.try_clone().context("copying a file")?.into(),
            None => Stdio::null(),
        };
        let mut child = started_ebs()?
            .args(words(arguments, &pipe))
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("ebs cannot be started anew")?;
        let notes = Arc::<Mutex<VecDeque<String>>>::default();
        let has_begun = Arc::<AtomicBool>::default();
        let listener = child.stderr.take().map(|stderr| {
            let (notes, begun) = (Arc::clone(&notes), Arc::clone(&has_begun));
            thread::spawn(move || listen(stderr, printed, &notes, &begun))
        });
        thread::spawn(move || read(&pipe, &parts, &is_over));
        Ok(SampledChild { child, notes, listener, status: None, has_begun, _place: place })
    }

    pub(super) fn has_begun(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
    }

    pub(super) fn ended(&mut self) -> Option<u8> {
        if self.status.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            let code = status.code().or(status.signal().map(|signal| 128 + signal));
            self.status = Some(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX));
        }
        self.status
    }

    pub(super) fn tell(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (None, Some(pid)) = (self.status, pid) {
            // It may have ended since; there is nothing to do then.
            let _gone = kill_process(pid, signal);
        }
    }

    /// Ends the sampling, and waits for that; passes signals on meanwhile.
    pub(super) fn end(&mut self, catcher: &mut Catcher) {
        self.tell(Signal::TERM);
        while self.ended().is_none() {
            if let Some(signal) = catcher.asked().signal().and_then(Signal::from_named_raw) {
                self.tell(signal);
            }
            thread::sleep(LOOK);
        }
    }

    /// The last lines of its stderr, for when it has ended.
    pub(super) fn notes(&self) -> Vec<String> {
        let until = Instant::now() + LAST_LINES;
        let is_read = || self.listener.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_read() && Instant::now() < until {
            thread::sleep(FULL);
        }
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// Whatever ends the view: what it started is not left alone.
impl Drop for SampledChild {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.tell(Signal::TERM);
        }
    }
}

fn words(arguments: &TopArguments, pipe: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for (is_set, word) in [(arguments.user, "-u"), (arguments.kernel, "-k"), (arguments.data, "-d")]
    {
        words.extend(is_set.then(|| OsString::from(word)));
    }
    words.extend(arguments.event.words());
    words.extend(arguments.emulation.words());
    words.extend(arguments.serving.words());
    // Names of this kernel are here.
    words.extend(["--no-kallsyms", "--format", "perf", "-o"].map(OsString::from));
    words.push(pipe.into());
    if let Some(pid) = &arguments.pid {
        words.push(format!("--pid={pid}").into());
    }
    if !arguments.target.is_empty() {
        words.push("--".into());
        words.extend(arguments.target.iter().cloned());
    }
    words
}

/// Reads the stream to its end. Waits for `ebs` to open it; where that never
/// does, this thread ends with the program.
fn read(pipe: &Path, parts: &SyncSender<StreamPart>, is_over: &AtomicBool) {
    let read = || -> std::io::Result<()> {
        let stream = File::open(pipe)?;
        // Now `ebs` has it, too: nothing is left of it whatever ends this program.
        let _left_to_drop = remove_file(pipe);
        let _left_to_drop = pipe.parent().map(remove_dir);
        // A smaller one wakes us more often.
        let _refused = rustix::pipe::fcntl_setpipe_size(&stream, PIPE);
        loop {
            let mut bytes = Vec::with_capacity(READ);
            match rustix::io::read(&stream, spare_capacity(&mut bytes)) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let mut part = StreamPart::Bytes(bytes);
            // Once nobody looks the rest is read all the same: who samples must
            // not wait for a full pipe.
            while let (Err(TrySendError::Full(again)), false) =
                (parts.try_send(part), is_over.load(Ordering::Relaxed))
            {
                part = again;
                thread::sleep(FULL);
            }
        }
    };
    let _gone = parts.send(StreamPart::End(read().err().map(|error| error.to_string())));
}

/// Keeps what `ebs` says; what a command says goes where it prints to.
fn listen(
    stderr: ChildStderr,
    mut printed: Option<File>,
    notes: &Mutex<VecDeque<String>>,
    has_begun: &AtomicBool,
) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    // A line without an end is taken in pieces.
    while lines.by_ref().take(1 << 16).read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        let text = String::from_utf8_lossy(&line);
        let said = match text.strip_prefix(SAID) {
            None if !has_begun.load(Ordering::Relaxed) => Some(text.as_ref()),
            said => said,
        };
        match (said, &mut printed) {
            (Some(said), _) => {
                let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                notes.push_back(said.trim_end().to_owned());
                if notes.len() > NOTES {
                    notes.pop_front();
                }
            }
            // A full disk is no reason to end.
            (None, Some(file)) => drop(file.write_all(&line)),
            (None, None) => {}
        }
        line.clear();
    }
}
