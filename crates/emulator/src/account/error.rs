//! Why an emulation does not start, or breaks off.

use std::io;

use perfdata::Pid;

/// Why an emulation does not start. Nothing was changed in the target.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "the emulated PMU runs x86-64 programs on Linux only, and this is {arch}; record on an \
         x86-64 machine"
    )]
    Machine { arch: &'static str },
    #[error(
        "process {pid} runs a {what} program; the emulated PMU runs 64-bit x86-64 programs only"
    )]
    Foreign { pid: Pid, what: String },
    #[error(
        "process {pid} is already traced by process {tracer} (a debugger, or strace?); end that \
         first"
    )]
    Traced { pid: Pid, tracer: Pid },
    #[error(
        "process {pid} may not be traced: {error}; be its user, or root, and see \
         /proc/sys/kernel/yama/ptrace_scope"
    )]
    Rights { pid: Pid, error: io::Error },
    /// The target has a seccomp filter that our own calls would meet.
    #[error(
        "process {pid} has a seccomp filter, and setting it aside for the emulator's own system \
         calls needs CAP_SYS_ADMIN; record as root"
    )]
    Seccomp { pid: Pid },
    /// The target uses a shadow stack, which translated calls do not fill.
    #[error(
        "process {pid} runs with a shadow stack, which the emulated PMU does not support; start \
         it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off"
    )]
    ShadowStack { pid: Pid },
    #[error("there is no process {pid}; give the number of one that runs (ps -e)")]
    Gone { pid: Pid },
    #[error("{0}")]
    Settings(String),
    #[error("the emulated PMU could not start: {doing}: {error}")]
    System { doing: &'static str, error: io::Error },
}

impl StartError {
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl Fn(E) -> StartError {
        move |error| StartError::System { doing, error: error.into() }
    }
}

/// Why an emulation broke off. The target was left to run natively where
/// that was possible; else it was killed, and the text says so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);
