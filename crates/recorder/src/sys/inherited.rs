//! Which signals whoever started this program had it ignore.
//!
//! Commands get these back. Rust's runtime ignores SIGPIPE before `main`,
//! whatever it was, so they are read earlier: by a function that the loader
//! calls (ELF `.init_array`).

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

static PIPE: AtomicBool = AtomicBool::new(false);
static CHILD: AtomicBool = AtomicBool::new(false);

#[used]
// SAFETY: the section holds pointers to functions that take nothing needed
// here and return nothing; it runs once, before any thread, and calls
// sigaction(2) only.
#[unsafe(link_section = ".init_array")]
static READ_EARLY: extern "C" fn() = read;

extern "C" fn read() {
    PIPE.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    CHILD.store(is_ignored(libc::SIGCHLD), Ordering::Relaxed);
}

/// Whether `signal` was ignored when this program began; SIGPIPE and SIGCHLD
/// only, the others are as they were then. Safe to call between fork and exec.
pub(crate) fn was_ignored(signal: c_int) -> bool {
    match signal {
        libc::SIGPIPE => PIPE.load(Ordering::Relaxed),
        libc::SIGCHLD => CHILD.load(Ordering::Relaxed),
        _ => false,
    }
}

pub(crate) fn is_ignored(signal: c_int) -> bool {
    disposition(signal) == Some(libc::SIG_IGN)
}

/// What happens on `signal`: a handler, SIG_DFL or SIG_IGN. None: there is
/// no such signal.
pub(crate) fn disposition(signal: c_int) -> Option<libc::sighandler_t> {
    // SAFETY: all zero bytes are a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: reads the disposition into `action`.
    let known = unsafe { libc::sigaction(signal, ptr::null(), &raw mut action) } == 0;
    known.then_some(action.sa_sigaction)
}

/// Ignores `signal`, or gives it its default action.
pub fn ignore(signal: c_int, ignored: bool) {
    // SAFETY: all zero bytes are a valid sigaction: SIG_DFL, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = if ignored { libc::SIG_IGN } else { libc::SIG_DFL };
    // SAFETY: sets a disposition that runs no code of ours.
    unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
}
