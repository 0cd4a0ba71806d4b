//! Who of the threads of a space runs: the one that holds the baton.
//!
//! Threads that want it queue, and it goes to the next of them by number.
//! Each has a seat where it waits. The words lie in the space's head; threads
//! and the tracer work on them alike.

mod queue;
mod seat;
mod sinking;
#[cfg(test)]
mod tests;
mod woken;
mod words;

pub use queue::TurnQueue;
pub use seat::Seat;
pub use sinking::{ProgramFutex, SinkingThread};
pub use woken::WokenThreads;
pub use words::ContestedLines;

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::header::THREADS;
use seat::Seats;
use words::BatonWords;

/// Number of the holder, plus 1, in the lower half; 0: nobody runs. In the
/// upper one how often that changed: who sees that it holds the baton sees
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
const SINKING: usize = WOKEN + WokenThreads::WORDS;
const LINES: usize = SINKING + SinkingThread::WORDS;
const QUEUE: usize = LINES + ContestedLines::WORDS;
const SEATS: usize = QUEUE + TurnQueue::WORDS;
pub const WORDS: usize = SEATS + Seats::WORDS;

#[derive(Clone, Copy, Debug)]
pub struct Baton<'a> {
    words: BatonWords<'a>,
    pub queue: TurnQueue<'a>,
    pub lines: ContestedLines<'a>,
    pub woken: WokenThreads<'a>,
    pub sinking: SinkingThread<'a>,
    seats: Seats<'a>,
}

impl<'a> Baton<'a> {
    /// [`WORDS`] words; threads' numbers are below `highest`.
    #[inline(always)]
    pub fn new(words: &'a [AtomicU64], highest: u64) -> Baton<'a> {
        let highest = usize::try_from(highest).unwrap_or(THREADS).min(THREADS);
        let words = BatonWords::new(words);
        let seats = Seats::new(words.part(SEATS, Seats::WORDS), highest);
        Baton {
            words: words.part(0, OWN_WORDS),
            queue: TurnQueue::new(words.part(QUEUE, TurnQueue::WORDS), highest),
            lines: ContestedLines::new(words.part(LINES, ContestedLines::WORDS)),
            woken: WokenThreads::new(words.part(WOKEN, WokenThreads::WORDS), seats),
            sinking: SinkingThread::new(words.part(SINKING, SinkingThread::WORDS), seats),
            seats,
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
    pub fn seat(&self, index: usize) -> Seat<'a> {
        self.seats.seat(index)
    }

    /// Enters a new thread, which runs if nobody does and else wants to.
    pub fn join(&self, index: usize, filtered: bool) {
        self.seat(index).filter(filtered);
        if !self.claim(index) {
            self.queue.add(index);
        }
    }

    /// Takes out a thread that has ended. The one that runs then, if it is
    /// to be woken.
    pub fn leave(&self, index: usize) -> Option<usize> {
        let cleared = self.seat(index).leave();
        self.queue.remove(index);
        match cleared.map(|address| (address, self.seats.alone_at(address))) {
            // Who joins it wants to run from now on, not from when it comes.
            Some((_, Some(waiter))) => {
                self.seat(waiter).waits_at(0);
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
    pub fn lose(&self, address: u64) {
        self.seats.lose(address);
    }

    /// Whether threads are known to wait at a futex.
    #[inline(always)]
    pub fn has_waiting(&self, address: u64) -> bool {
        self.seats.waiting_at(address) != 0
    }

    /// A thread that waited for the world outside is not to wait long.
    pub fn hurry(&self, index: usize) {
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
