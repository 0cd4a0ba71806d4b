//! Where a thread waits for the run token, and what is known of it meanwhile.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::shared_words::SharedWords;

/// Threads that a space can have at the same time.
pub const THREADS: usize = 8192;

/// The futex that the thread sleeps at: changes when it is to look.
const WAKE_WORD: usize = 0;
/// Not 0 while it sleeps.
const ASLEEP: usize = 1;
/// Not 0: it is to come out of the runtime, with the run token or without.
const OUT: usize = 2;
/// Address of the program's futex that it waits at; 0: none. 1: it waits for
/// something else. 2: at a futex, which is not known.
const FUTEX: usize = 3;
/// Not 0 while it makes a system call with the run token in its hand.
const CALL: usize = 4;
/// Not 0: a filter judges its system calls, so that we make none.
const FILTERED: usize = 5;
/// Address that the kernel clears, and wakes a waiter of, when it ends.
const CLEARED: usize = 6;
/// Not 0 while it waits for room in the ring, with the run token in its hand.
const FULL: usize = 7;
/// Words of a wait slot: a line of the host's.
const SLOT_WORDS: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) struct WaitSlots<'a> {
    words: SharedWords<'a>,
    /// Threads' numbers are below this.
    highest: usize,
}

impl<'a> WaitSlots<'a> {
    pub(super) const WORDS: usize = THREADS * SLOT_WORDS;

    #[inline(always)]
    pub(super) fn new(words: SharedWords<'a>, highest: usize) -> WaitSlots<'a> {
        WaitSlots { words, highest }
    }

    #[inline(always)]
    pub(super) fn wait_slot(&self, index: usize) -> WaitSlot<'a> {
        WaitSlot { words: self.words.part(index * SLOT_WORDS, SLOT_WORDS) }
    }

    pub(super) fn waiting_at(&self, address: u64) -> u64 {
        let at = |index: &usize| self.words.get(index * SLOT_WORDS + FUTEX) == address;
        u64::try_from((0..self.highest).filter(at).count()).unwrap_or(0)
    }

    /// The one that waits at a futex of the program, if no other does.
    pub(super) fn alone_at(&self, address: u64) -> Option<usize> {
        let mut waiting =
            (0..self.highest).filter(|index| self.words.get(index * SLOT_WORDS + FUTEX) == address);
        waiting.next().filter(|_| waiting.next().is_none())
    }

    /// Of those it is not known any more where they wait.
    pub(super) fn forget_futex(&self, address: u64) {
        for index in 0..self.highest {
            if self.words.get(index * SLOT_WORDS + FUTEX) == address {
                self.words.put(index * SLOT_WORDS + FUTEX, 2);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct WaitSlot<'a> {
    words: SharedWords<'a>,
}

impl<'a> WaitSlot<'a> {
    /// The word to sleep at.
    #[inline(always)]
    pub fn wake_word(&self) -> Option<&'a AtomicU64> {
        self.words.word(WAKE_WORD)
    }

    pub fn set_asleep(&self, asleep: bool) {
        self.words.put(ASLEEP, u64::from(asleep));
    }

    /// Changes the word to sleep at; whether the thread sleeps.
    #[inline(always)]
    pub fn ring(&self) -> bool {
        if let Some(wake_word) = self.wake_word() {
            wake_word.fetch_add(1, SeqCst);
        }
        self.words.get(ASLEEP) != 0
    }

    /// Calls the thread out of the runtime; [`WaitSlot::ring`] follows.
    pub fn interrupt_wait(&self) {
        self.words.put(OUT, 1);
    }

    /// Whether it is called and has not seen it.
    #[inline(always)]
    pub fn is_interrupted(&self) -> bool {
        self.words.get(OUT) != 0
    }

    #[inline(always)]
    pub fn take_interrupt(&self) -> bool {
        self.words.word(OUT).is_some_and(|word| word.swap(0, SeqCst) != 0)
    }

    /// It is about to wait at a futex, or, with 0, back from one.
    pub fn set_futex(&self, address: u64) {
        self.words.put(FUTEX, address);
    }

    /// It is about to wait for something else.
    pub fn begin_other_wait(&self) {
        self.words.put(FUTEX, 1);
    }

    pub fn is_waiting_elsewhere(&self) -> bool {
        self.words.get(FUTEX) == 1
    }

    /// It makes a system call that it may be kept in, or is back.
    #[inline(always)]
    pub fn calls(&self, calling: bool) {
        self.words.put(CALL, u64::from(calling));
    }

    pub fn is_calling(&self) -> bool {
        self.words.get(CALL) != 0
    }

    /// It waits for room in the ring, or has it.
    pub fn waits_for_room(&self, waits: bool) {
        self.words.put(FULL, u64::from(waits));
    }

    /// Whether it waits for that, which no other thread could bring.
    pub fn is_without_room(&self) -> bool {
        self.words.get(FULL) != 0
    }

    #[inline(always)]
    pub fn is_filtered(&self) -> bool {
        self.words.get(FILTERED) != 0
    }

    pub fn filter(&self, filtered: bool) {
        self.words.put(FILTERED, u64::from(filtered));
    }

    /// What the kernel clears at its end.
    pub fn clears(&self, address: u64) {
        self.words.put(CLEARED, address);
    }

    /// The thread has ended: what the kernel cleared, if anything.
    pub(super) fn leave(&self) -> Option<u64> {
        let cleared = self.words.get(CLEARED);
        self.words.clear();
        (cleared != 0).then_some(cleared)
    }
}
