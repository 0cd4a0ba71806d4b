//! A job in a process of its own, which outlives the one that the user sees.
//!
//! Who traces a process and is killed takes it along (PTRACE_O_EXITKILL), and
//! must: without its tracer translated code cannot go on. So another process
//! traces, out of reach of the terminal, and learns by a signal of the kernel
//! that the one in front is gone.

use std::fs;
use std::io::{self, PipeWriter, Read, Write, pipe};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
    set_parent_process_death_signal, setsid, waitpid,
};

use crate::CommandStatus;
use crate::sys::child::fork;

/// What ps(1) and killall(1) call such a process: nobody who means `ebs`
/// means it.
const NAME: &std::ffi::CStr = c"emulated PMU";
/// Status of a process whose parent had ended before it could begin.
const ORPHAN: u8 = 1;

#[derive(Debug)]
pub struct DetachedTracer {
    pid: Pid,
    leave: PipeWriter,
}

impl DetachedTracer {
    /// Forks; the child does the job once it [may](DetachedTracer::begin), in a
    /// session of its own: signals of the terminal are the caller's alone.
    /// When the caller ends, whatever ends it, the child gets SIGTERM; a job
    /// that has made ready for that looks [whether](FrontProcess::is_there)
    /// it came before. Only for processes with one thread.
    ///
    /// # Errors
    /// More than one thread; what fork(2) says.
    pub fn start(job: impl FnOnce(FrontProcess) -> u8) -> io::Result<DetachedTracer> {
        let front = FrontProcess { pid: getpid() };
        let (mut wait, leave) = pipe()?;
        let mut leave = Some(leave);
        let pid = fork(|| {
            // With a writer of its own it would wait for ever where SIGTERM
            // is ignored.
            drop(leave.take());
            match begin_session(front).and_then(|()| wait.read_exact(&mut [0])) {
                Ok(()) => job(front),
                Err(_) => ORPHAN,
            }
        })?;
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
        let leave = leave.ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(DetachedTracer { pid, leave })
    }

    /// Lets the child begin: whoever called is ready to pass signals on.
    ///
    /// # Errors
    /// The child is gone.
    pub fn begin(&mut self) -> io::Result<()> {
        self.leave.write_all(b"!")
    }

    pub fn pid(&self) -> perfdata::Pid {
        perfdata::Pid(self.pid.as_raw_nonzero().get())
    }

    pub fn pass(&self, signal: i32) {
        if let Some(signal) = Signal::from_named_raw(signal) {
            // It is a child that nobody has waited for: its number is its own.
            let _ended = kill_process(self.pid, signal);
        }
    }

    /// How the child ended; None: it lives.
    ///
    /// # Errors
    /// What waitpid(2) says.
    pub fn ended(&self) -> io::Result<Option<CommandStatus>> {
        let Some((_, status)) = waitpid(Some(self.pid), WaitOptions::NOHANG)? else {
            return Ok(None);
        };
        Ok(of(status))
    }
}

/// The process that the user sees, as the job apart knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontProcess {
    pid: Pid,
}

impl FrontProcess {
    /// Whether it has not ended. SIGTERM of its end is lost on a process that
    /// ignores it, as its caller may have had it: who catches it looks once.
    pub fn is_there(self) -> bool {
        getppid() == Some(self.pid)
    }
}

fn of(status: WaitStatus) -> Option<CommandStatus> {
    let killed = || status.terminating_signal().map(CommandStatus::Killed);
    status.exit_status().map(CommandStatus::Exited).or_else(killed)
}

fn begin_session(front: FrontProcess) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM))?;
    // It may have ended before that.
    if !front.is_there() {
        return Err(io::ErrorKind::NotFound.into());
    }
    setsid()?;
    rustix::thread::set_name(NAME)?;
    Ok(())
}

/// While it is held, the kernel takes this process last when memory runs out,
/// where it may say so (CAP_SYS_RESOURCE).
#[derive(Debug)]
pub struct OomScoreGuard {
    before: String,
}

const SCORE: &str = "/proc/self/oom_score_adj";
/// Never chosen (proc_pid_oom_score_adj(5)).
const NEVER_KILLED: &str = "-1000";

impl OomScoreGuard {
    /// From now on; None: it may not be.
    pub fn begin() -> Option<OomScoreGuard> {
        let before = fs::read_to_string(SCORE).ok()?;
        fs::write(SCORE, NEVER_KILLED).ok()?;
        Some(OomScoreGuard { before })
    }
}

impl Drop for OomScoreGuard {
    fn drop(&mut self) {
        // Back to what it was can be refused to nobody.
        let _allowed = fs::write(SCORE, self.before.trim());
    }
}
