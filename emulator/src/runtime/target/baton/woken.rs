//! Threads that were woken and have not come yet.

use super::seat::Seats;
use super::words::BatonWords;

/// Address of the futex whose waiters were woken; 0: none.
const FUTEX: usize = 0;
/// How many may wait there still.
const STAYING: usize = 1;

/// Those that were woken at a futex. Until they want to run, nobody does: who
/// runs next must not depend on how soon they come.
#[derive(Clone, Copy, Debug)]
pub struct WokenThreads<'a> {
    words: BatonWords<'a>,
    seats: Seats<'a>,
}

impl<'a> WokenThreads<'a> {
    pub(super) const WORDS: usize = 2;

    #[inline(always)]
    pub(super) fn new(words: BatonWords<'a>, seats: Seats<'a>) -> WokenThreads<'a> {
        WokenThreads { words, seats }
    }

    /// `most` of those that wait at a futex are woken. False when none waits
    /// there.
    pub fn wake(&self, address: u64, most: u64) -> bool {
        let there = self.seats.waiting_at(address);
        self.words.put(STAYING, there.saturating_sub(most));
        self.words.put(FUTEX, if there == 0 { 0 } else { address });
        there != 0
    }

    /// Whether all that were woken are back.
    #[inline(always)]
    pub fn are_back(&self) -> bool {
        let address = self.words.get(FUTEX);
        address == 0 || self.seats.waiting_at(address) <= self.words.get(STAYING)
    }

    /// Nobody is waited for.
    #[inline(always)]
    pub fn forget(&self) {
        self.words.put(FUTEX, 0);
    }
}
