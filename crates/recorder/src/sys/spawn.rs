//! fork(2) of a child that waits for leave, then execs.
//!
//! Between fork and exec the child of a process that may have threads calls
//! only what signal-safety(7) lists; everything else is prepared before.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr;

use super::inherited;

/// The interpreter of scripts without `#!`, as execvp(3) has it.
const SHELL: &CStr = c"/bin/sh";
const LAST_SIGNAL: c_int = 64;

/// A program's candidates and arguments, ready for a child that may not
/// allocate.
#[derive(Debug)]
pub(crate) struct ExecImage {
    paths: Vec<CString>,
    // Keeps alive what `pointers` points to.
    arguments: Vec<CString>,
    /// None: ours, as it is.
    environment: Option<Vec<CString>>,
}

impl ExecImage {
    /// `paths` are tried in order; `arguments` start with the program.
    pub(crate) fn new(
        paths: Vec<CString>,
        arguments: Vec<CString>,
        environment: Option<Vec<CString>>,
    ) -> ExecImage {
        ExecImage { paths, arguments, environment }
    }

    /// envp, null at the end.
    fn envp(&self) -> Option<Vec<*const c_char>> {
        let environment = self.environment.as_ref()?;
        Some(environment.iter().map(|a| a.as_ptr()).chain([ptr::null()]).collect())
    }

    /// argv, null at the end; with `before` it starts with two more slots.
    fn argv(&self) -> Vec<*const c_char> {
        self.arguments.iter().map(|a| a.as_ptr()).chain([ptr::null()]).collect()
    }

    /// argv of the shell that runs a script: its path goes to slot 1.
    fn shell_argv(&self) -> Vec<*const c_char> {
        let rest = self.arguments.iter().skip(1).map(|a| a.as_ptr());
        [SHELL.as_ptr(), ptr::null()].into_iter().chain(rest).chain([ptr::null()]).collect()
    }
}

#[derive(Debug)]
pub(crate) struct ChildPipes {
    /// One byte is leave to go; end of file: give up.
    pub(crate) release_pipe: OwnedFd,
    /// Takes the errno of a failed exec; closes on exec.
    pub(crate) failure: OwnedFd,
    /// Our ends of all leave pipes: held open in the child they would hide
    /// our death, from it and from its siblings.
    pub(crate) release_writers: Vec<RawFd>,
}

/// Forks. The child gets the caller's signal mask, default dispositions for
/// what the caller handles, those of its start for SIGPIPE and SIGCHLD, and
/// its open files; it execs `image` once a byte comes through `pipes.release_pipe`.
/// The caller keeps `pipes` only to drop them.
pub(crate) fn fork(image: &ExecImage, pipes: &ChildPipes) -> io::Result<i32> {
    let (argv, envp) = (image.argv(), image.envp());
    let mut shell_argv = image.shell_argv();
    // The kernel throws the status of children away while it is ignored.
    if inherited::is_ignored(libc::SIGCHLD) {
        inherited::ignore(libc::SIGCHLD, false);
    }
    // A handler of ours that ran in the child would swallow a signal that
    // was meant to end it.
    let mask = block_all_signals()?;
    // SAFETY: the child calls async-signal-safe functions only, and leaves
    // by exec or _exit.
    let pid = unsafe { libc::fork() };
    let failed = io::Error::last_os_error();
    if pid == 0 {
        let arguments =
            ExecArguments { argv: &argv, shell_argv: &mut shell_argv, envp: envp.as_deref() };
        let errno = child(image, arguments, pipes, &mask);
        report_and_exit(pipes.failure.as_raw_fd(), errno);
    }
    set_mask(&mask);
    if pid < 0 { Err(failed) } else { Ok(pid) }
}

/// What execve(2) is given, in memory that was allocated before the fork.
#[derive(Debug)]
struct ExecArguments<'w> {
    argv: &'w [*const c_char],
    shell_argv: &'w mut [*const c_char],
    envp: Option<&'w [*const c_char]>,
}

/// The child's life up to exec; gives the errno that exec failed with, or 0
/// when there was no leave to go.
fn child(
    image: &ExecImage,
    arguments: ExecArguments<'_>,
    pipes: &ChildPipes,
    mask: &libc::sigset_t,
) -> c_int {
    for &fd in &pipes.release_writers {
        // SAFETY: a plain descriptor number; the parent's is not affected.
        unsafe { libc::close(fd) };
    }
    for signal in 1..=LAST_SIGNAL {
        reset_handler(signal);
    }
    set_mask(mask);
    if !wait_for_release(pipes.release_pipe.as_raw_fd()) {
        return 0;
    }
    let ExecArguments { argv, shell_argv, envp } = arguments;
    // As execvp(3): go on after ENOENT and ENOTDIR, remember EACCES.
    let mut result = libc::ENOENT;
    for path in &image.paths {
        exec(path, argv, envp);
        let mut failed = errno();
        if failed == libc::ENOEXEC {
            shell_argv[1] = path.as_ptr();
            exec(SHELL, shell_argv, envp);
            failed = libc::ENOEXEC;
        }
        match failed {
            libc::ENOENT | libc::ENOTDIR => {}
            libc::EACCES => result = libc::EACCES,
            other => return other,
        }
    }
    result
}

/// Returns where execve(2) failed.
fn exec(path: &CStr, argv: &[*const c_char], envp: Option<&[*const c_char]>) {
    match envp {
        // SAFETY: all are null-terminated and outlive the call.
        Some(envp) => unsafe { libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr()) },
        // SAFETY: as above.
        None => unsafe { libc::execv(path.as_ptr(), argv.as_ptr()) },
    };
}

fn wait_for_release(fd: RawFd) -> bool {
    let mut byte = 0u8;
    loop {
        // SAFETY: one byte at most is written, to `byte`.
        let read = unsafe { libc::read(fd, (&raw mut byte).cast(), 1) };
        if read == 1 {
            return true;
        }
        if read == 0 || errno() != libc::EINTR {
            return false;
        }
    }
}

fn report_and_exit(fd: RawFd, errno: c_int) -> ! {
    if errno != 0 {
        let bytes = errno.to_ne_bytes();
        // SAFETY: reads the four bytes given.
        unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    }
    // SAFETY: never returns and runs no destructors.
    unsafe { libc::_exit(127) }
}

/// A signal that is handled goes back to its default; ignored ones stay
/// ignored. SIGPIPE, which Rust's runtime ignores on its own, and SIGCHLD,
/// which must not be while we wait for a child, become what they were.
fn reset_handler(signal: c_int) {
    let Some(disposition) = inherited::disposition(signal) else { return };
    let ours = matches!(signal, libc::SIGPIPE | libc::SIGCHLD)
        || !matches!(disposition, libc::SIG_DFL | libc::SIG_IGN);
    if ours {
        inherited::ignore(signal, inherited::was_ignored(signal));
    }
}

fn block_all_signals() -> io::Result<libc::sigset_t> {
    // SAFETY: a sigset is plain bits; filled next.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: writes the set given.
    unsafe { libc::sigfillset(&raw mut all) };
    // SAFETY: reads one set and writes the other.
    let failed =
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) };
    if failed == 0 { Ok(before) } else { Err(io::Error::from_raw_os_error(failed)) }
}

fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: reads the set; SIG_SETMASK with a valid set cannot fail.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, ptr::null_mut()) };
}

/// The calling thread's errno, without io::Error's detour.
fn errno() -> c_int {
    // SAFETY: points to the thread's errno.
    let location = unsafe { libc::__errno_location() };
    // SAFETY: valid as long as the thread.
    unsafe { *location }
}
