//! What threads ask of the kernel while they take turns.

use core::sync::atomic::AtomicU64;

use super::header::Header;
use super::run_token::ProgramFutex;

pub trait Kernel {
    /// Sleeps as long as the word's lower half is `expected`, until it is
    /// woken or so many nanoseconds are over.
    fn sleep(&self, word: &AtomicU64, expected: u64, nanoseconds: u64);
    fn wake(&self, word: &AtomicU64);
    /// Whether a file is ready for one of the events, or broken.
    fn is_ready(&self, file: u64, events: u64) -> bool;
    /// What differs if a thread has run on meanwhile.
    fn progress(&self, header: &Header, index: usize) -> u64;
    fn would_wait(&self, futex: ProgramFutex, value: u64) -> bool;
    /// How many wait at a futex of the program in the kernel; None: it does
    /// not tell.
    fn waiters(&self, futex: ProgramFutex) -> Option<u64>;
}
