//! ptrace(2), for whatever traces. A tracee belongs to the thread that seized
//! it: all calls must come from that thread.

use std::ffi::{c_int, c_uint, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::account::TaskExit;

/// General registers of a tracee, as PTRACE_GETREGS gives them.
pub type TraceeRegisters = libc::user_regs_struct;

/// What a signal says; kept whole, so that it can be delivered later.
#[derive(Clone, Copy)]
pub(crate) struct SignalInfo(libc::siginfo_t);

/// si_code of a breakpoint instruction.
pub(crate) const SI_KERNEL: i32 = 0x80;
/// si_code of a step over a system call, and of another instruction.
const TRAP_BRKPT: i32 = 1;
const TRAP_TRACE: i32 = 2;

/// si_code of a [`prompt`]: negative, as senders may choose.
const PROMPT: i32 = -0x686d;

impl SignalInfo {
    pub(crate) fn number(&self) -> i32 {
        self.0.si_signo
    }

    /// Why it was sent: SI_USER, SI_KERNEL, TRAP_TRACE ...
    pub(crate) fn code(&self) -> i32 {
        self.0.si_code
    }

    pub(crate) fn is_step(&self) -> bool {
        self.number() == libc::SIGTRAP && matches!(self.code(), TRAP_BRKPT | TRAP_TRACE)
    }

    pub(crate) fn is_prompt(&self) -> bool {
        // SAFETY: the union is plain bits in every variant.
        let value = unsafe { self.0.si_value() };
        self.code() == PROMPT && value.sival_ptr.addr() == std::process::id() as usize
    }

    /// Whether the kernel would drop another signal while this one waits:
    /// standard signals do not queue. Those of one thread wait apart from
    /// those of its process, and those of timers each by itself, so that both
    /// must come by the same way.
    pub(crate) fn merges(&self, other: &SignalInfo) -> bool {
        self.number() == other.number()
            && self.number() < libc::SIGRTMIN()
            && self.code() == other.code()
            && self.code() != libc::SI_TIMER
    }

    /// The address of a fault (`si_addr`).
    pub(crate) fn address(&self) -> u64 {
        // SAFETY: the union is plain bits in every variant.
        let address = unsafe { self.0.si_addr() };
        address.addr() as u64
    }

    pub(crate) fn with_address(mut self, address: u64) -> SignalInfo {
        const AT: usize = 16;
        let place = (&raw mut self.0).cast::<u8>().wrapping_add(AT).cast::<u64>();
        // SAFETY: si_addr lies 16 bytes into siginfo_t on x86-64
        // (uapi/asm-generic/siginfo.h), aligned, within its 128 bytes.
        unsafe { place.write(address) };
        self
    }
}

impl std::fmt::Debug for SignalInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "signal {} code {}", self.number(), self.code())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceeStop {
    /// A signal is about to be delivered; also a step's or breakpoint's trap.
    Signal(c_int),
    /// clone, fork or vfork: the new task's id.
    Cloned {
        child: i32,
        how: CloneKind,
    },
    /// It runs another program; the id of the thread that called exec.
    Exec {
        former: i32,
    },
    /// Its group is stopped by this signal.
    Group(c_int),
    /// It was interrupted, or has just been attached or made.
    Interrupted,
    Other,
    Exited(c_int),
    Killed(c_int),
}

impl TraceeStop {
    /// How the task ended, if it did: it is reaped by then.
    pub fn end(self) -> Option<TaskExit> {
        match self {
            TraceeStop::Exited(status) => Some(TaskExit::Exited(status)),
            TraceeStop::Killed(signal) => Some(TaskExit::Killed(signal)),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloneKind {
    /// clone without CLONE_VFORK, and an exit signal that is not SIGCHLD.
    Clone,
    /// fork, or clone with SIGCHLD.
    Fork,
    /// With CLONE_VFORK.
    Vfork,
}

/// What a task makes is traced too.
pub(crate) const OPTIONS: c_int = libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACESYSGOOD;

/// Traces a task without stopping it, with these options (`PTRACE_O_*`).
pub fn seize(tid: i32, options: c_int) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0, u64::from(options.cast_unsigned()))
}

/// Sets the options again: the tracee must be stopped.
pub(crate) fn set_options(tid: i32, kill: bool, suspend_seccomp: bool) -> io::Result<()> {
    request(libc::PTRACE_SETOPTIONS, tid, 0, options(kill, suspend_seccomp))
}

fn options(kill: bool, suspend_seccomp: bool) -> u64 {
    let kill = if kill { libc::PTRACE_O_EXITKILL } else { 0 };
    let suspend = if suspend_seccomp { libc::PTRACE_O_SUSPEND_SECCOMP } else { 0 };
    u64::from((OPTIONS | kill | suspend).cast_unsigned())
}

pub(crate) fn interrupt(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

/// Lets a stopped tracee run on, with `signal` delivered unless 0.
pub fn resume(tid: i32, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, 0, number(signal))
}

/// Lets it run on to the next begin or end of a system call.
pub(crate) fn resume_to_call(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, tid, 0, 0)
}

/// Lets it run one instruction, or to the begin of a signal's handler.
pub fn step(tid: i32, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_SINGLESTEP, tid, 0, number(signal))
}

/// Leaves a tracee in its group's stop until SIGCONT.
pub fn listen(tid: i32) -> io::Result<()> {
    request(libc::PTRACE_LISTEN, tid, 0, 0)
}

pub fn detach(tid: i32, signal: c_int) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, 0, number(signal))
}

pub(crate) fn kill(pid: i32) {
    // SAFETY: takes two numbers.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// Sends a signal to one thread, to have it stop before it runs on; what the
/// signal says tells it from others ([`SignalInfo::is_prompt`]).
pub(crate) fn prompt(pid: i32, tid: i32, signal: c_int) {
    const VALUE_AT: usize = 24;
    // SAFETY: plain bits, for which zeroes are valid.
    let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
    info.si_signo = signal;
    info.si_code = PROMPT;
    let place = (&raw mut info).cast::<u8>().wrapping_add(VALUE_AT).cast::<u64>();
    // SAFETY: si_value lies 24 bytes into siginfo_t on x86-64
    // (uapi/asm-generic/siginfo.h), aligned, within its 128 bytes.
    unsafe { place.write(u64::from(std::process::id())) };
    // SAFETY: reads `info`.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signal, &raw const info) };
}

fn number(signal: c_int) -> u64 {
    u64::from(signal.cast_unsigned())
}

fn pointer<T>(value: u64) -> *mut T {
    ptr::without_provenance_mut(usize::try_from(value).unwrap_or(usize::MAX))
}

fn request(request: c_uint, tid: i32, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: none of the requests that come here reads or writes memory of
    // ours.
    let result =
        unsafe { libc::ptrace(request, tid, pointer::<c_void>(address), pointer::<c_void>(data)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn get<T>(request: c_uint, tid: i32, address: u64) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    // SAFETY: the request writes at most a `T`, to `value`; see the callers.
    let result =
        unsafe { libc::ptrace(request, tid, pointer::<c_void>(address), value.as_mut_ptr()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed before, plain bits in every type that comes here.
    Ok(unsafe { value.assume_init() })
}

fn set<T>(request: c_uint, tid: i32, value: &T) -> io::Result<()> {
    let none = ptr::null_mut::<c_void>();
    // SAFETY: the request reads a `T` from `value`.
    let result = unsafe { libc::ptrace(request, tid, none, ptr::from_ref(value)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub fn registers(tid: i32) -> io::Result<TraceeRegisters> {
    get(libc::PTRACE_GETREGS, tid, 0)
}

pub fn set_registers(tid: i32, registers: &TraceeRegisters) -> io::Result<()> {
    set(libc::PTRACE_SETREGS, tid, registers)
}

/// Has a stopped tracee trap before the instruction at an address, by the
/// processor's first debug register; None: not any more.
pub(crate) fn set_breakpoint(tid: i32, address: Option<u64>) -> io::Result<()> {
    const CONTROL: usize = 7;
    /// Locally enabled, one byte, executed.
    const FIRST: u64 = 1;
    let place = |register: usize| {
        let at = std::mem::offset_of!(libc::user, u_debugreg) + 8 * register;
        u64::try_from(at).unwrap_or(0)
    };
    match address {
        Some(address) => {
            request(libc::PTRACE_POKEUSER, tid, place(0), address)?;
            request(libc::PTRACE_POKEUSER, tid, place(CONTROL), FIRST)
        }
        None => request(libc::PTRACE_POKEUSER, tid, place(CONTROL), 0),
    }
}

/// Signals of faults and traps: blocked ones would kill.
const FAULTS: [c_int; 6] =
    [libc::SIGILL, libc::SIGTRAP, libc::SIGBUS, libc::SIGFPE, libc::SIGSEGV, libc::SIGSYS];

/// Blocks all signals of a stopped tracee but those of faults; what it blocked
/// before.
pub(crate) fn block_signals(tid: i32) -> io::Result<u64> {
    let before: u64 = get(libc::PTRACE_GETSIGMASK, tid, size_of::<u64>() as u64)?;
    let faults = FAULTS.iter().fold(0, |mask, signal| mask | 1u64 << (signal - 1));
    set_blocked_signals(tid, before | !faults)?;
    Ok(before)
}

pub(crate) fn set_blocked_signals(tid: i32, mask: u64) -> io::Result<()> {
    let size = pointer::<c_void>(size_of::<u64>() as u64);
    // SAFETY: the request reads 8 bytes from `mask`.
    let result = unsafe { libc::ptrace(libc::PTRACE_SETSIGMASK, tid, size, ptr::from_ref(&mask)) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

pub(crate) fn signal_info(tid: i32) -> io::Result<SignalInfo> {
    get(libc::PTRACE_GETSIGINFO, tid, 0).map(SignalInfo)
}

/// Changes it; it must be in the stop of a signal's delivery.
pub(crate) fn set_signal_info(tid: i32, info: &SignalInfo) -> io::Result<()> {
    set(libc::PTRACE_SETSIGINFO, tid, &info.0)
}

/// Where a task has registered restartable sequences, as
/// PTRACE_GET_RSEQ_CONFIGURATION tells (Linux 5.13).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rseq {
    /// Address of its struct rseq; 0: none.
    pub(crate) address: u64,
    pub(crate) size: u32,
    /// The word before abort handlers.
    pub(crate) signature: u32,
    pub(crate) flags: u32,
    pub(crate) pad: u32,
}

pub(crate) fn rseq(tid: i32) -> io::Result<Rseq> {
    const GET_RSEQ_CONFIGURATION: c_uint = 0x420f;
    get(GET_RSEQ_CONFIGURATION, tid, size_of::<Rseq>() as u64)
}

/// Waits for the next report of any tracee, or of a child of this thread.
/// None: there is neither.
pub(crate) fn wait_any() -> io::Result<Option<(i32, TraceeStop)>> {
    wait(-1, libc::__WALL | libc::__WNOTHREAD)
}

/// The same if there is one now.
pub fn poll_any() -> io::Result<Option<(i32, TraceeStop)>> {
    wait(-1, libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG)
}

/// The next report of one task if there is one now.
pub(crate) fn poll_for(tid: i32) -> io::Result<Option<TraceeStop>> {
    let report = wait(tid, libc::__WALL | libc::__WNOTHREAD | libc::WNOHANG)?;
    Ok(report.map(|(_, stop)| stop))
}

pub fn wait_for(tid: i32) -> io::Result<Option<TraceeStop>> {
    wait(tid, libc::__WALL | libc::__WNOTHREAD).map(|report| report.map(|(_, stop)| stop))
}

fn wait(tid: i32, flags: c_int) -> io::Result<Option<(i32, TraceeStop)>> {
    loop {
        let mut status: c_int = 0;
        // SAFETY: writes the status, to `status`.
        let found = unsafe { libc::waitpid(tid, &raw mut status, flags) };
        if found > 0 {
            return Ok(Some((found, interpret(found, status))));
        }
        if found == 0 {
            return Ok(None);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}

fn interpret(tid: i32, status: c_int) -> TraceeStop {
    if libc::WIFEXITED(status) {
        return TraceeStop::Exited(libc::WEXITSTATUS(status));
    }
    if libc::WIFSIGNALED(status) {
        return TraceeStop::Killed(libc::WTERMSIG(status));
    }
    let signal = libc::WSTOPSIG(status);
    let made = |how| TraceeStop::Cloned { child: message(tid), how };
    match (status >> 16) & 0xff {
        0 => TraceeStop::Signal(signal),
        libc::PTRACE_EVENT_CLONE => made(CloneKind::Clone),
        libc::PTRACE_EVENT_FORK => made(CloneKind::Fork),
        libc::PTRACE_EVENT_VFORK => made(CloneKind::Vfork),
        libc::PTRACE_EVENT_EXEC => TraceeStop::Exec { former: message(tid) },
        libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => TraceeStop::Group(signal),
        libc::PTRACE_EVENT_STOP => TraceeStop::Interrupted,
        _ => TraceeStop::Other,
    }
}

/// The task id that goes with an event; 0 when the tracee was killed since.
fn message(tid: i32) -> i32 {
    get::<libc::c_ulong>(libc::PTRACE_GETEVENTMSG, tid, 0)
        .map_or(0, |message| i32::try_from(message).unwrap_or(0))
}
