//! How long calls wait for a reader that does not come: one word that all programs share.
//!
//! A reader that was killed or stopped costs the programs of a session one wait, not one per
//! process: the word says at which READ a wait began, and when.

use std::sync::atomic::{AtomicU64, Ordering};

/// Milliseconds that calls wait while nothing is read, all programs together.
const PATIENCE: u32 = 2000;

/// Whether a call that finds no room may still wait. The wait begins with the first call that asks
/// at this READ; once it is over, no call waits until something was read.
pub(crate) fn lasts(word: &AtomicU64, read: u64, now: u64) -> bool {
    let (at, now) = (read.wrapping_add(1) & LOW, now & LOW);
    let known = word.load(Ordering::Relaxed);
    if known >> 32 == at {
        // The distance of two moments is right across the end of 32 bits, too.
        return now.wrapping_sub(known & LOW) & LOW < u64::from(PATIENCE);
    }
    // Who comes second finds the wait of the first at its next look.
    let _or_another =
        word.compare_exchange(known, at << 32 | now, Ordering::Relaxed, Ordering::Relaxed);
    true
}

const LOW: u64 = u32::MAX as u64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_programs_together_wait_once_until_something_is_read() {
        let word = AtomicU64::new(0);
        for (read, start) in [(0, 5), (700, 90_000), (u64::MAX, LOW - 10), (1 << 32, 1 << 40)] {
            assert!(lasts(&word, read, start));
            assert!(lasts(&word, read, start + 1999), "another program, too");
            for later in [2000, 2001, 60_000, 1 << 30] {
                assert!(!lasts(&word, read, start + later), "{read}: a wait that is over, again");
            }
        }
        assert!(lasts(&word, 701, 0), "something was read");
    }
}
