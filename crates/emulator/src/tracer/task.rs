//! What is known of a thread of the target.

use std::collections::VecDeque;
use std::io;

use crate::sys::ptrace::{self, SignalInfo, TraceeRegisters};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskMode {
    /// Natively, until its process execs.
    Held,
    Emulated,
}

#[derive(Debug)]
pub(crate) struct TracedTask {
    pub(crate) pid: i32,
    pub(crate) mode: TaskMode,
    /// Its address space; 0 while held.
    pub(crate) memory: u32,
    pub(crate) block: Option<usize>,
    /// The program's own GS base while it has no block.
    pub(crate) gs_base: u64,
    /// The program's own state, while the thread is stopped at an
    /// instruction's begin and not in translated code.
    pub(crate) guest: Option<TraceeRegisters>,
    pub(crate) pending: VecDeque<SignalInfo>,
    /// The signal it was sent to stop for the first of them.
    pub(crate) prompted: Option<i32>,
    /// It waits for room in the ring, stopped.
    pub(crate) waits: bool,
    /// It has just been made, and has its maker's block in its registers.
    pub(crate) unborn: bool,
    /// The report of its end is on the way.
    pub(crate) dying: bool,
    /// A seccomp filter judges its calls.
    pub(crate) filtered: bool,
    /// It waits in the kernel for a child of vfork, in no code of ours, and
    /// stops behind the call.
    pub(crate) parked: bool,
    /// It was stopped with its group when it was halted.
    pub(crate) group_stop: bool,
    /// Restartable sequences that were taken from it.
    pub(crate) rseq: Option<ptrace::Rseq>,
}

impl TracedTask {
    pub(crate) fn new(pid: i32, mode: TaskMode) -> TracedTask {
        TracedTask {
            pid,
            mode,
            memory: 0,
            block: None,
            gs_base: 0,
            guest: None,
            pending: VecDeque::new(),
            prompted: None,
            waits: false,
            unborn: false,
            dying: false,
            filtered: false,
            parked: false,
            group_stop: false,
            rseq: None,
        }
    }

    pub(crate) fn runs(&self) -> bool {
        self.guest.is_none() && !self.parked && !self.dying
    }
}

#[derive(Debug)]
pub(crate) enum TaskError {
    /// The thread is gone, or runs another program now: its report says so,
    /// or will.
    Gone,
    /// What should not be: the emulation ends.
    Broken(String),
}

impl From<io::Error> for TaskError {
    fn from(error: io::Error) -> TaskError {
        match error.raw_os_error() {
            Some(libc::ESRCH) => TaskError::Gone,
            _ => TaskError::Broken(error.to_string()),
        }
    }
}

impl TaskError {
    pub(crate) fn doing(self, what: &str) -> TaskError {
        match self {
            TaskError::Gone => TaskError::Gone,
            TaskError::Broken(text) => TaskError::Broken(format!("{what}: {text}")),
        }
    }
}
