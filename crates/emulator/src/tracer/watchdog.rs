//! Threads that do not come out of the runtime: the program has damaged what
//! that works on.

use std::time::{Duration, Instant};

use super::task::TaskError;
use crate::sys::ptrace;

/// CPU time that a thread may take for one slow path. All of them take far
/// less, however busy the machine is.
const CPU_TIMEOUT: Duration = Duration::from_secs(1);
/// And time by the clock, for one that gets no CPU or waits for a page.
const WALL_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct RuntimeWatchdog {
    tid: i32,
    begun: Instant,
    /// CPU time that the thread had used then.
    before: Option<Duration>,
}

impl RuntimeWatchdog {
    pub(crate) fn new(tid: i32) -> RuntimeWatchdog {
        RuntimeWatchdog { tid, begun: Instant::now(), before: cpu_time(tid) }
    }

    /// Fails when the thread has had more time than it can need.
    pub(crate) fn check(&self) -> Result<(), TaskError> {
        let elapsed = self.begun.elapsed();
        if elapsed < CPU_TIMEOUT {
            return Ok(());
        }
        let worked =
            cpu_time(self.tid).zip(self.before).map(|(now, before)| now.saturating_sub(before));
        match elapsed > WALL_TIMEOUT || worked.is_some_and(|worked| worked > CPU_TIMEOUT) {
            true => Err(self.stuck()),
            false => Ok(()),
        }
    }

    pub(crate) fn stuck(&self) -> TaskError {
        let tid = self.tid;
        let at = ptrace::registers(tid).map_or(0, |registers| registers.rip);
        TaskError::Broken(format!("thread {tid} does not come to an instruction's end at {at:#x}"))
    }
}

/// CPU time of a thread so far; None: the kernel does not count it.
fn cpu_time(tid: i32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/schedstat")).ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}
