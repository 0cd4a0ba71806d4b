//! The thread that goes to wait at a futex, until the kernel has it.

use super::shared_words::SharedWords;
use super::wait_slot::WaitSlots;

/// Address of the futex; 0: none goes.
const FUTEX: usize = 0;
/// `FUTEX_PRIVATE_FLAG` or 0.
const PRIVATE: usize = 1;

/// A thread that passed the run token on and is about to wait at a futex. Until
/// the kernel has it nobody runs: else who comes first to the futex, and
/// whether it still has the value, would depend on the host.
#[derive(Clone, Copy, Debug)]
pub struct PendingFutexWait<'a> {
    words: SharedWords<'a>,
    wait_slots: WaitSlots<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramFutex {
    pub address: u64,
    /// `FUTEX_PRIVATE_FLAG` or 0.
    pub private: u64,
}

impl<'a> PendingFutexWait<'a> {
    pub(super) const WORDS: usize = 2;

    #[inline(always)]
    pub(super) fn new(words: SharedWords<'a>, wait_slots: WaitSlots<'a>) -> PendingFutexWait<'a> {
        PendingFutexWait { words, wait_slots }
    }

    pub fn begin_wait(&self, futex: ProgramFutex) {
        self.words.put(PRIVATE, futex.private);
        self.words.put(FUTEX, futex.address);
    }

    #[inline(always)]
    pub fn take(&self) -> Option<ProgramFutex> {
        let address = self.words.get(FUTEX);
        if address == 0 {
            return None;
        }
        self.words.put(FUTEX, 0);
        Some(ProgramFutex { address, private: self.words.get(PRIVATE) })
    }

    /// Whether the kernel has all that wait there, of whom it has `there`.
    pub fn is_asleep(&self, futex: ProgramFutex, there: u64) -> bool {
        self.wait_slots.waiting_at(futex.address) <= there
    }
}
