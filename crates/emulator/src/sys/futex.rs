//! Waking who sleeps at a word, in whatever process.

use std::sync::atomic::AtomicU64;

/// Wakes one that sleeps at the lower half of a word.
pub(crate) fn wake(word: &AtomicU64) {
    // SAFETY: the kernel reads nothing at the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}
