//! Why a session cannot open, run or write.

use std::io;

use perfdata::{Cpu, Pid, Tid};

use crate::in_kernel::LoadError;
use crate::session::command::CommandError;
use crate::{OpenFailure, Plan, explain};

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{text}")]
    Refused { text: String, failure: OpenFailure },
    /// EMFILE.
    #[error(
        "the limit of open files ({limit}) is reached after {opened} events on {cpus} CPUs; each \
         thread needs {each}: raise it with `ulimit -n`"
    )]
    Descriptors { opened: usize, each: usize, cpus: usize, limit: String },
    #[error("none of the {cpus} CPUs to be sampled is online")]
    NoCpu { cpus: usize },
    #[error("CPU {} is not online here: say one of {online}", .cpu.0)]
    Offline { cpu: Cpu, online: String },
    #[error("the event cannot be spelled for the kernel: {0}")]
    Attr(io::Error),
}

impl OpenError {
    pub(crate) fn event(failure: OpenFailure, plan: &Plan) -> OpenError {
        OpenError::Refused { text: explain(&failure, plan), failure }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    #[error("there is no process {pid}; `ps -e` lists those there are")]
    Absent { pid: Pid },
    #[error("{tid} is a thread of process {leader}: give {leader}")]
    Thread { tid: Tid, leader: Pid },
    #[error("process {pid} has exited already; its parent has not reaped it")]
    Zombie { pid: Pid },
    #[error("process {pid} ended while it was being attached to")]
    Gone { pid: Pid },
    #[error("process {pid} cannot be looked at: {error}")]
    Look { pid: Pid, error: io::Error },
    #[error(transparent)]
    Open(#[from] OpenError),
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Emulation(#[from] emulator::StartError),
    #[error(
        "{what}: the emulated PMU runs 64-bit x86 programs only; cpu_clock and page_fault sample it \
         natively"
    )]
    NotEmulable { what: String },
    #[error("the samples cannot be {what} in the kernel: {why}")]
    NotInKernel { what: &'static str, why: LoadError },
    #[error("no control group was given: its directory belongs into the session's settings")]
    NoGroup,
    #[error(
        "{who} cannot pause, nor begin later: leave --delay and --control out, or have the kernel \
         sample in this process: {how}"
    )]
    NoPause { who: &'static str, how: &'static str },
    /// Who samples elsewhere does not serve, or has broken off.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
    /// The sink took no more. The session goes on, counts what it cannot
    /// write as lost, and [`finish`](super::Session::finish) still works.
    #[error("the records cannot be written: {0}")]
    Sink(io::Error),
    #[error("the stream's preamble cannot be written: {0}")]
    Preamble(String),
    #[error(
        "--heap: the library that sees allocations cannot be unpacked: {0}; set XDG_CACHE_HOME to a \
         folder that you own and no other user can write to"
    )]
    NoPlaceForLibrary(String),
    #[error("{call}: {error}")]
    System { call: &'static str, error: io::Error },
}

impl SessionError {
    pub(crate) fn system(call: &'static str) -> impl FnOnce(io::Error) -> SessionError {
        move |error| SessionError::System { call, error }
    }
}
