//! ptrace(2), as far as watching clones and stopping a command at its exec need it. A tracee belongs to the
//! thread that seized it: all calls must come from that thread.

use std::ffi::c_int;
use std::io;
use std::ptr;

/// What a tracee that stopped, or ended, reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceeReport {
    /// It made `child` by clone, fork or vfork, and stands at the end of
    /// that call.
    Cloned {
        child: i32,
    },
    /// It has just been made, attached by itself, and has run nothing; or a
    /// trap without meaning for us.
    NewTask,
    /// It replaced its program; `former` is the thread id that called exec.
    Exec {
        /// Thread id before exec.
        former: i32,
    },
    /// Its group is stopped by SIGSTOP or a terminal's signal.
    GroupStop,
    /// It is about to receive a signal.
    Signal(c_int),
    Ended,
}

/// Watches task `tid` without stopping it: its clones, forks and execs will
/// stop it, and what it makes is watched too.
pub(crate) fn seize(tid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC;
    let options = usize::try_from(options).map_err(io::Error::other)?;
    request(libc::PTRACE_SEIZE, tid, options)
}

/// Watches a child that is to be stopped at its exec, and ends with us until
/// it is let go.
pub(crate) fn seize_for_exec(tid: i32) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_EXITKILL;
    request(libc::PTRACE_SEIZE, tid, usize::try_from(options).map_err(io::Error::other)?)
}

/// Lets a stopped tracee go for good.
pub(crate) fn detach(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, 0)
}

/// Lets a stopped tracee run one instruction, with `signal` delivered unless 0.
pub(crate) fn step(tid: i32, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, tid, usize::try_from(signal).map_err(io::Error::other)?)
}

/// Lets a stopped tracee run on, with `signal` delivered unless 0.
pub(crate) fn resume(tid: i32, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, usize::try_from(signal).map_err(io::Error::other)?)
}

/// Leaves a tracee in its group stop until SIGCONT.
pub(crate) fn listen(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0)
}

fn request(request: libc::c_uint, tid: i32, data: usize) -> io::Result<()> {
    let none = ptr::null_mut::<libc::c_void>();
    let data = ptr::without_provenance_mut::<libc::c_void>(data);
    // SAFETY: none of the requests above reads or writes memory of ours.
    let result = unsafe { libc::ptrace(request, tid, none, data) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The next report of a tracee of this thread, if there is one now.
pub(crate) fn next_report() -> io::Result<Option<(i32, TraceeReport)>> {
    let mut status: c_int = 0;
    // Without __WNOTHREAD this would reap children of other threads.
    let flags = libc::__WALL | libc::WNOHANG | libc::__WNOTHREAD;
    // SAFETY: writes the status, to `status`.
    let tid = unsafe { libc::waitpid(-1, &raw mut status, flags) };
    if tid < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ECHILD | libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    if tid == 0 {
        return Ok(None);
    }
    Ok(Some((tid, interpret(tid, status))))
}

/// The next report of this tracee, for which it waits.
pub(crate) fn report_of(tid: i32) -> io::Result<TraceeReport> {
    loop {
        let mut status: c_int = 0;
        // SAFETY: writes the status, to `status`.
        let done = unsafe { libc::waitpid(tid, &raw mut status, libc::__WALL) };
        if done == tid {
            return Ok(interpret(tid, status));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn instruction_pointer(tid: i32) -> io::Result<u64> {
    registers(tid).map(|registers| registers.rip)
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn set_instruction_pointer(tid: i32, address: u64) -> io::Result<()> {
    let registers = libc::user_regs_struct { rip: address, ..registers(tid)? };
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel reads one structure, from `registers`.
    let result = unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, none, &raw const registers) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(target_arch = "x86_64")]
fn registers(tid: i32) -> io::Result<libc::user_regs_struct> {
    // SAFETY: a structure of plain numbers.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one structure, to `registers`.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, none, &raw mut registers) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(registers) }
}

fn interpret(tid: i32, status: c_int) -> TraceeReport {
    if !libc::WIFSTOPPED(status) {
        return TraceeReport::Ended;
    }
    let signal = libc::WSTOPSIG(status);
    match (status >> 16) & 0xff {
        0 => TraceeReport::Signal(signal),
        libc::PTRACE_EVENT_CLONE | libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => {
            TraceeReport::Cloned { child: message(tid) }
        }
        libc::PTRACE_EVENT_EXEC => TraceeReport::Exec { former: message(tid) },
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => TraceeReport::GroupStop,
        _ => TraceeReport::NewTask,
    }
}

/// The task id that goes with an event; 0 when the tracee was killed since.
fn message(tid: i32) -> i32 {
    let mut message: libc::c_ulong = 0;
    let none = ptr::null_mut::<libc::c_void>();
    // SAFETY: the kernel writes one unsigned long, to `message`.
    let result = unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, none, &raw mut message) };
    if result < 0 { 0 } else { i32::try_from(message).unwrap_or(0) }
}
