//! A way to wake a thread that waits in waitpid(2): a child of it that ends.

use std::io::{self, PipeWriter};
use std::os::fd::AsRawFd;

/// Starts a child of the calling thread that ends when a byte is written to
/// the writer, or all copies of it are gone. Gives its process id; waitpid(2)
/// of the calling thread reports its end.
pub(crate) fn arm() -> io::Result<(i32, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    let fd = reader.as_raw_fd();
    // SAFETY: the child calls async-signal-safe functions only, and leaves
    // by _exit.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    if pid == 0 {
        sleep(fd);
    }
    Ok((pid, writer))
}

/// The child: keeps no file of ours open but its pipe, hears no signal that
/// is meant for the terminal's group, waits for a byte or the pipe's end.
fn sleep(fd: i32) -> ! {
    let kept = fd.cast_unsigned();
    if kept > 0 {
        // SAFETY: closes files of the child alone.
        unsafe { libc::syscall(libc::SYS_close_range, 0u32, kept - 1, 0u32) };
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, kept + 1, u32::MAX, 0u32) };
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGTSTP] {
        // SAFETY: ignoring a signal installs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    let mut byte = 0u8;
    loop {
        // SAFETY: writes one byte at most, to `byte`.
        let read = unsafe { libc::read(fd, (&raw mut byte).cast(), 1) };
        // SAFETY: points to the thread's errno.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: valid as long as the thread.
        let interrupted = read < 0 && unsafe { *errno } == libc::EINTR;
        if !interrupted {
            // SAFETY: never returns and runs no destructors.
            unsafe { libc::_exit(0) };
        }
    }
}
