//! Who of the threads of a space runs: the one that holds the run token.
//!
//! Threads that want it queue, and it goes to the next of them by number.
//! Each has a wait slot where it waits. The words lie in the space's head; threads
//! and the tracer work on them alike.

mod pending_futex_wait;
mod queue;
mod shared_words;
#[cfg(test)]
mod tests;
mod wait_slot;
mod woken;

pub use pending_futex_wait::{PendingFutexWait, ProgramFutex};
pub use queue::TurnQueue;
pub use shared_words::ContendedLines;
pub use wait_slot::{THREADS, WaitSlot};
pub use woken::WokenThreads;

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use shared_words::SharedWords;
use wait_slot::WaitSlots;

/// Number of the holder, plus 1, in the lower half; 0: nobody runs. In the
/// upper one how often that changed: who sees that it holds the run token sees
/// which turn it is.
const HOLDER: usize = 0;
/// State of the generator of lengths.
const RANDOM: usize = 1;
/// Not 0 where threads take turns.
const ON: usize = 2;
/// Number of the thread, plus 1, that wants to run first; 0: none.
const URGENT: usize = 3;
const OWN_WORDS: usize = 6;

const WOKEN: usize = OWN_WORDS;
const PENDING_WAIT: usize = WOKEN + WokenThreads::WORDS;
const LINES: usize = PENDING_WAIT + PendingFutexWait::WORDS;
const QUEUE: usize = LINES + ContendedLines::WORDS;
const WAIT_SLOTS: usize = QUEUE + TurnQueue::WORDS;
pub const WORDS: usize = WAIT_SLOTS + WaitSlots::WORDS;

#[derive(Clone, Copy, Debug)]
pub struct RunToken<'a> {
    words: SharedWords<'a>,
    pub queue: TurnQueue<'a>,
    pub lines: ContendedLines<'a>,
    pub woken: WokenThreads<'a>,
    pub pending_wait: PendingFutexWait<'a>,
    wait_slots: WaitSlots<'a>,
}

impl<'a> RunToken<'a> {
    /// [`WORDS`] words; threads' numbers are below `highest`.
    #[inline(always)]
    pub fn new(words: &'a [AtomicU64], highest: u64) -> RunToken<'a> {
        let highest = usize::try_from(highest).unwrap_or(THREADS).min(THREADS);
        let words = SharedWords::new(words);
        let wait_slots = WaitSlots::new(words.part(WAIT_SLOTS, WaitSlots::WORDS), highest);
        RunToken {
            words: words.part(0, OWN_WORDS),
            queue: TurnQueue::new(words.part(QUEUE, TurnQueue::WORDS), highest),
            lines: ContendedLines::new(words.part(LINES, ContendedLines::WORDS)),
            woken: WokenThreads::new(words.part(WOKEN, WokenThreads::WORDS), wait_slots),
            pending_wait: PendingFutexWait::new(
                words.part(PENDING_WAIT, PendingFutexWait::WORDS),
                wait_slots,
            ),
            wait_slots,
        }
    }

    /// Lets the threads of a new space take turns whose lengths follow from a
    /// seed.
    pub fn begin(&self, seed: u64) {
        self.words.put(RANDOM, seed);
        self.words.put(ON, 1);
    }

    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.words.get(ON) != 0
    }

    #[inline(always)]
    pub fn wait_slot(&self, index: usize) -> WaitSlot<'a> {
        self.wait_slots.wait_slot(index)
    }

    /// Enters a new thread, which runs if nobody does and else wants to.
    pub fn join(&self, index: usize, filtered: bool) {
        self.wait_slot(index).filter(filtered);
        if !self.claim(index) {
            self.queue.add(index);
        }
    }

    /// Takes out a thread that has ended. The one that runs then, if it is
    /// to be woken.
    pub fn leave(&self, index: usize) -> Option<usize> {
        let cleared = self.wait_slot(index).leave();
        self.queue.remove(index);
        match cleared.map(|address| (address, self.wait_slots.alone_at(address))) {
            // Who joins it wants to run from now on, not from when it comes.
            Some((_, Some(waiter))) => {
                self.wait_slot(waiter).set_futex(0);
                self.queue.add(waiter);
            }
            Some((address, None)) => {
                self.woken.wake(address, 1, None);
            }
            None => {}
        }
        self.pass(index)
    }

    #[inline(always)]
    pub fn is_held(&self, index: usize) -> bool {
        held(self.words.get(HOLDER)) == holder(index)
    }

    /// The thread that holds it, and how often that changed until then.
    pub fn holding(&self) -> (Option<usize>, u64) {
        let word = self.words.get(HOLDER);
        let holder = held(word).checked_sub(1);
        (holder.and_then(|index| usize::try_from(index).ok()), word >> 32)
    }

    #[inline(always)]
    pub fn claim(&self, index: usize) -> bool {
        self.change(0, holder(index))
    }

    /// Where those that wait at a futex are is not known any more: they may
    /// wait at another.
    pub fn forget_futex(&self, address: u64) {
        self.wait_slots.forget_futex(address);
    }

    /// Whether threads are known to wait at a futex.
    #[inline(always)]
    pub fn has_waiting(&self, address: u64) -> bool {
        self.wait_slots.waiting_at(address) != 0
    }

    /// A thread that waited for the world outside is not to wait long.
    pub fn mark_urgent(&self, index: usize) {
        self.words.put(URGENT, holder(index));
    }

    #[inline(always)]
    pub fn is_urgent(&self) -> bool {
        self.words.get(URGENT) != 0
    }

    /// Passes it on from the thread that holds it: who runs now, to be woken.
    #[inline(always)]
    pub fn pass(&self, index: usize) -> Option<usize> {
        if !self.is_held(index) {
            return None;
        }
        let mut from = holder(index);
        loop {
            let Some(next) = self.chosen(index) else {
                if from == 0 || !self.change(from, 0) {
                    return None;
                }
                // One may have come to want it before it was free.
                from = 0;
                continue;
            };
            // Before it runs: it may want to again at once.
            self.queue.remove(next);
            if !self.change(from, holder(next)) {
                self.queue.add(next);
                return None;
            }
            return Some(next);
        }
    }

    #[inline(always)]
    fn chosen(&self, index: usize) -> Option<usize> {
        let urgent = self.words.get(URGENT);
        if urgent == 0 {
            return self.queue.next(index);
        }
        self.words.put(URGENT, 0);
        let urgent = usize::try_from(urgent).ok()?.wrapping_sub(1);
        if self.queue.has(urgent) { Some(urgent) } else { self.queue.next(index) }
    }

    /// A number from 1 to `most`, all as likely.
    #[inline(always)]
    pub fn draw(&self, most: u64) -> u64 {
        let mut random = self.words.get(RANDOM);
        let drawn = super::period::random_below(&mut random, most);
        self.words.put(RANDOM, random);
        drawn + 1
    }

    #[inline(always)]
    fn change(&self, from: u64, to: u64) -> bool {
        let change = |word| (held(word) == from).then(|| (word >> 32).wrapping_add(1) << 32 | to);
        let holder = self.words.word(HOLDER);
        holder.is_some_and(|word| word.fetch_update(SeqCst, SeqCst, change).is_ok())
    }
}

#[inline(always)]
fn held(word: u64) -> u64 {
    word & u64::from(u32::MAX)
}

fn holder(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(0) + 1
}
