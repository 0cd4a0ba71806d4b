//! A command that runs, and may not run for ever.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::Outcome;

/// No command of a test takes longer than this on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// A running command; its stderr is read as it comes. Killed when dropped.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    /// Starts a command. Pipes are put where it has no other stdin, stdout
    /// and stderr.
    pub fn start(command: &mut Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start_as_is(command)
    }

    /// Starts a command whose stdin, stdout and stderr the caller has set.
    pub fn start_as_is(command: &mut Command) -> Running {
        let name = format!("{command:?}");
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let stderr = child.stderr.take().map(|pipe| thread::spawn(move || all_of(pipe)));
        Running {
            name,
            stdin: child.stdin.take(),
            stdout: child.stdout.take().map(BufReader::new),
            stderr,
            child,
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the process, not to its children.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Writes a line to its stdin, in one piece: it may end as soon as it has
    /// read some of it.
    pub fn tell(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Waits for the next line of its stdout.
    pub fn hear(&mut self) -> String {
        let mut line = String::new();
        self.stdout.as_mut().unwrap().read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Closes the reading end of its stdout.
    pub fn stop_hearing(&mut self) {
        self.stdout = None;
    }

    /// Whether it has ended.
    pub fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until a condition holds; fails after a while, or when the
    /// command ends first.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(u32) -> bool) {
        let start = Instant::now();
        while !holds(self.pid()) {
            assert!(!self.ended(), "{} ended before {what}", self.name);
            assert!(start.elapsed() < LIMIT, "{}: never {what}", self.name);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until it takes everybody's connections at this path: its name is
    /// there a moment before, between bind(2) and listen(2), and after that with
    /// the mode that bind(2) gives it, by which root alone gets in.
    pub fn wait_until_listening(&mut self, socket: &Path) {
        let is_runnable =
            || fs::metadata(socket).is_ok_and(|it| it.permissions().mode() & 0o111 != 0);
        self.wait_until("it listens", |_| UnixStream::connect(socket).is_ok() && !is_runnable());
    }

    /// Closes its stdin, waits for its end and takes what it wrote.
    #[track_caller]
    pub fn finish(mut self) -> Outcome {
        self.stdin = None;
        let stdout = self.stdout.take().map(|pipe| thread::spawn(move || all_of(pipe)));
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < LIMIT, "{}: still running after {LIMIT:?}", self.name);
            thread::sleep(Duration::from_millis(2));
        };
        let text = |reader: Option<JoinHandle<Vec<u8>>>| {
            let bytes = reader.map(|thread| thread.join().unwrap()).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Outcome {
            command: self.name.clone(),
            status,
            out: text(stdout),
            err: text(self.stderr.take()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended, which is no error here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether the process holds perf events and traces no thread of `target` any
/// more: the sampling of an attached process has begun.
pub fn has_attached(pid: u32, target: u32) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let holds_events = files.flatten().any(|file| {
        fs::read_link(file.path()).is_ok_and(|link| link.to_string_lossy().contains("perf_event"))
    });
    let Ok(threads) = fs::read_dir(format!("/proc/{target}/task")) else { return false };
    let traced = threads.flatten().any(|thread| {
        fs::read_to_string(thread.path().join("status")).is_ok_and(|status| {
            status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
        })
    });
    holds_events && !traced
}

fn all_of(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    bytes
}
