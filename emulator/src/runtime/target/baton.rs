//! Who of the threads of a space runs: the one that holds the baton.
//!
//! Threads that want it are bits of a map, and it goes to the next of them by
//! number. Each has a seat where it waits. The words lie in the space's head;
//! threads and the tracer work on them alike.

use core::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::header::THREADS;

/// Number of the holder, plus 1; 0: nobody runs.
const HOLDER: usize = 0;
/// How often it was passed on.
const PASSES: usize = 1;
/// Address of the futex whose waiters were woken, and how many may wait there
/// still; 0: none.
const WOKEN: usize = 2;
const STAYING: usize = 3;
/// State of the generator of lengths.
const RANDOM: usize = 4;
/// Not 0 where threads take turns.
const ON: usize = 5;
/// Number of the thread, plus 1, that wants to run first; 0: none.
const URGENT: usize = 6;
/// Lines that went from thread to thread last, by hash.
const LINES: usize = 8;
const LINES_LEN: usize = 256;
/// Bits of those that want to run.
const WANT: usize = LINES + LINES_LEN;
const WANT_LEN: usize = THREADS / 64;
const SEATS: usize = WANT + WANT_LEN;

/// Words of a seat: a line of the host's.
const SEAT: usize = 8;
/// The futex that the thread sleeps at: changes when it is to look.
const BELL: usize = 0;
/// Not 0 while it sleeps.
const ASLEEP: usize = 1;
/// Not 0: it is to come out of the runtime, with the baton or without.
const OUT: usize = 2;
/// Address of the program's futex that it waits at; 0: none. 1: it waits for
/// something else.
const FUTEX: usize = 3;
/// Not 0 while it makes a system call with the baton in its hand.
const CALL: usize = 4;
/// Not 0: a filter judges its system calls, so that we make none.
const FILTERED: usize = 5;
/// Address that the kernel clears, and wakes a waiter of, when it ends.
const CLEARED: usize = 6;

/// Not 0 while it waits for room in the ring, with the baton in its hand.
const FULL: usize = 7;

/// Words that it needs.
pub const WORDS: usize = SEATS + THREADS * SEAT;

/// The words of a space.
#[derive(Clone, Copy, Debug)]
pub struct Baton<'a> {
    words: &'a [AtomicU64],
    /// Threads' numbers are below this.
    highest: usize,
}

impl<'a> Baton<'a> {
    /// [`WORDS`] words; threads' numbers are below `highest`.
    #[inline(always)]
    pub fn new(words: &'a [AtomicU64], highest: u64) -> Baton<'a> {
        let highest = usize::try_from(highest).unwrap_or(THREADS).min(THREADS);
        Baton { words, highest }
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u64 {
        self.words.get(at).map_or(0, |word| word.load(SeqCst))
    }

    #[inline(always)]
    fn put(&self, at: usize, value: u64) {
        if let Some(word) = self.words.get(at) {
            word.store(value, SeqCst);
        }
    }

    #[inline(always)]
    fn change(&self, from: u64, to: u64) -> bool {
        let holder = self.words.get(HOLDER);
        holder.is_some_and(|word| word.compare_exchange(from, to, SeqCst, SeqCst).is_ok())
    }

    /// Lets the threads of a new space take turns whose lengths follow from a
    /// seed.
    pub fn begin(&self, seed: u64) {
        self.put(RANDOM, seed);
        self.put(ON, 1);
    }

    /// Whether threads take turns here.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.get(ON) != 0
    }

    /// Enters a new thread, which runs if nobody does and else wants to.
    pub fn join(&self, index: usize, filtered: bool) {
        self.put(seat(index) + FILTERED, u64::from(filtered));
        if !self.change(0, holder(index)) {
            self.want(index);
        }
    }

    /// Takes out a thread that has ended. The one that runs then, if it is
    /// to be woken.
    pub fn leave(&self, index: usize) -> Option<usize> {
        let cleared = self.get(seat(index) + CLEARED);
        for at in 0..SEAT {
            self.put(seat(index) + at, 0);
        }
        self.unwant(index);
        if cleared != 0 {
            self.woke(cleared, 1);
        }
        self.pass(index)
    }

    /// Whether a thread holds it.
    #[inline(always)]
    pub fn is_held(&self, index: usize) -> bool {
        self.get(HOLDER) == holder(index)
    }

    /// The thread that holds it, and how often it was passed on until then.
    pub fn holding(&self) -> (Option<usize>, u64) {
        let holder = self.get(HOLDER).checked_sub(1).and_then(|index| usize::try_from(index).ok());
        (holder, self.get(PASSES))
    }

    /// A thread wants to run.
    #[inline(always)]
    pub fn want(&self, index: usize) {
        if let Some(word) = self.words.get(WANT + index / 64) {
            word.fetch_or(1 << (index % 64), SeqCst);
        }
    }

    /// It does not any more.
    #[inline(always)]
    pub fn unwant(&self, index: usize) {
        if let Some(word) = self.words.get(WANT + index / 64) {
            word.fetch_and(!(1 << (index % 64)), SeqCst);
        }
    }

    /// The next thread behind one, all around, that wants to run.
    #[inline(always)]
    pub fn next(&self, index: usize) -> Option<usize> {
        let words = self.highest.div_ceil(64);
        let start = index + 1;
        let later = u64::MAX << (start % 64);
        for step in 0..=words {
            let mut at = start / 64 + step;
            if at >= words {
                at = at.wrapping_sub(words).min(words);
            }
            let mut bits = if at < words { self.get(WANT + at) } else { 0 };
            if step == 0 {
                bits &= later;
            } else if at == start / 64 {
                bits &= !later;
            }
            if bits != 0 {
                return usize::try_from(bits.trailing_zeros()).ok().map(|bit| at * 64 + bit);
            }
        }
        None
    }

    /// How many want to run.
    pub fn wanting(&self) -> u64 {
        let words = self.highest.div_ceil(64);
        (0..words).map(|at| u64::from(self.get(WANT + at).count_ones())).sum()
    }

    /// A thread that waited for the world outside is not to wait long.
    pub fn hurry(&self, index: usize) {
        self.put(URGENT, holder(index));
    }

    /// Whether there is one.
    #[inline(always)]
    pub fn is_urgent(&self) -> bool {
        self.get(URGENT) != 0
    }

    /// The one that runs next, if any wants to.
    #[inline(always)]
    fn chosen(&self, index: usize) -> Option<usize> {
        let urgent = self.get(URGENT);
        if urgent == 0 {
            return self.next(index);
        }
        self.put(URGENT, 0);
        let urgent = usize::try_from(urgent).ok()?.wrapping_sub(1);
        let wants = self.get(WANT + urgent / 64) >> (urgent % 64) & 1 != 0;
        if wants { Some(urgent) } else { self.next(index) }
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
            self.unwant(next);
            if !self.change(from, holder(next)) {
                self.want(next);
                return None;
            }
            self.put(PASSES, self.get(PASSES).wrapping_add(1));
            return Some(next);
        }
    }

    /// Takes it if nobody has it.
    #[inline(always)]
    pub fn claim(&self, index: usize) -> bool {
        self.change(0, holder(index))
    }

    /// A number from 1 to `most`, all as likely.
    #[inline(always)]
    pub fn draw(&self, most: u64) -> u64 {
        let mut random = self.get(RANDOM);
        let drawn = super::random::below(&mut random, most);
        self.put(RANDOM, random);
        drawn + 1
    }

    /// A line went from one thread to another: whether it had done so lately.
    #[inline(always)]
    pub fn is_wanted(&self, line: u64) -> bool {
        let hash = (line >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let at = LINES + usize::try_from(hash).unwrap_or(0) % LINES_LEN;
        let before = self.get(at);
        self.put(at, line);
        before == line
    }

    /// Some that wait at a futex are woken. Until they want to run, nobody
    /// does: who runs next must not depend on how soon they come.
    /// False when there are none.
    pub fn woke(&self, address: u64, most: u64) -> bool {
        let there = self.waiters(address);
        self.put(STAYING, there.saturating_sub(most));
        self.put(WOKEN, if there == 0 { 0 } else { address });
        there != 0
    }

    /// Whether all that were woken are back.
    #[inline(always)]
    pub fn is_settled(&self) -> bool {
        let address = self.get(WOKEN);
        address == 0 || self.waiters(address) <= self.get(STAYING)
    }

    /// Nobody is waited for.
    #[inline(always)]
    pub fn settle(&self) {
        self.put(WOKEN, 0);
    }

    fn waiters(&self, address: u64) -> u64 {
        let at = |index: &usize| self.get(seat(*index) + FUTEX) == address;
        u64::try_from((0..self.highest).filter(at).count()).unwrap_or(0)
    }

    /// A thread's seat.
    #[inline(always)]
    pub fn seat(&self, index: usize) -> Seat<'a> {
        let from = seat(index);
        Seat { words: self.words.get(from..from + SEAT).unwrap_or_default() }
    }
}

const fn seat(index: usize) -> usize {
    SEATS + index * SEAT
}

fn holder(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(0) + 1
}

/// Where a thread waits.
#[derive(Clone, Copy, Debug)]
pub struct Seat<'a> {
    words: &'a [AtomicU64],
}

impl<'a> Seat<'a> {
    #[inline(always)]
    fn put(&self, at: usize, value: u64) {
        if let Some(word) = self.words.get(at) {
            word.store(value, SeqCst);
        }
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u64 {
        self.words.get(at).map_or(0, |word| word.load(SeqCst))
    }

    /// The word to sleep at.
    #[inline(always)]
    pub fn bell(&self) -> Option<&'a AtomicU64> {
        self.words.get(BELL)
    }

    /// It is about to sleep, or awake.
    pub fn sleeps(&self, asleep: bool) {
        self.put(ASLEEP, u64::from(asleep));
    }

    /// Changes the word to sleep at; whether the thread sleeps.
    #[inline(always)]
    pub fn ring(&self) -> bool {
        if let Some(bell) = self.bell() {
            bell.fetch_add(1, SeqCst);
        }
        self.get(ASLEEP) != 0
    }

    /// Calls the thread out of the runtime; [`Seat::ring`] follows.
    pub fn call_out(&self) {
        self.put(OUT, 1);
    }

    /// Whether it was called.
    #[inline(always)]
    pub fn is_called(&self) -> bool {
        self.words.get(OUT).is_some_and(|word| word.swap(0, SeqCst) != 0)
    }

    /// It is about to wait at a futex, or, with 0, back from one.
    pub fn waits_at(&self, address: u64) {
        self.put(FUTEX, address);
    }

    /// It is about to wait for something else.
    pub fn goes_away(&self) {
        self.put(FUTEX, 1);
    }

    /// Whether it did.
    pub fn is_away(&self) -> bool {
        self.get(FUTEX) == 1
    }

    /// It makes a system call that it may be kept in, or is back.
    #[inline(always)]
    pub fn calls(&self, calling: bool) {
        self.put(CALL, u64::from(calling));
    }

    /// Whether it makes one.
    pub fn is_calling(&self) -> bool {
        self.get(CALL) != 0
    }

    /// It waits for room in the ring, or has it.
    pub fn waits_for_room(&self, waits: bool) {
        self.put(FULL, u64::from(waits));
    }

    /// Whether it waits for that, which no other thread could bring.
    pub fn is_without_room(&self) -> bool {
        self.get(FULL) != 0
    }

    /// Whether a filter judges its calls.
    #[inline(always)]
    pub fn is_filtered(&self) -> bool {
        self.get(FILTERED) != 0
    }

    /// What the kernel clears at its end.
    pub fn clears(&self, address: u64) {
        self.put(CLEARED, address);
    }

    /// A filter judges its calls from now on.
    pub fn filter(&self) {
        self.put(FILTERED, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Vec<AtomicU64> {
        (0..WORDS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn it_goes_to_the_next_by_number_all_around() {
        let words = words();
        let baton = Baton::new(&words, 200);
        for index in [3, 70, 199, 0] {
            baton.join(index, false);
        }
        assert!(baton.is_held(3), "who comes first runs at once");
        let mut holders = vec![3];
        for _ in 0..5 {
            let from = *holders.last().unwrap();
            baton.want(from);
            holders.push(baton.pass(from).unwrap());
        }
        assert_eq!(holders, [3, 70, 199, 0, 3, 70]);
        assert_eq!(baton.pass(3), None, "who has it not cannot pass it on");
    }

    #[test]
    fn a_thread_that_ends_passes_it_on() {
        let words = words();
        let baton = Baton::new(&words, 10);
        baton.join(1, false);
        baton.join(2, false);
        assert_eq!(baton.leave(1), Some(2));
        assert!(baton.is_held(2));
        assert_eq!(baton.leave(2), None);
        assert!(baton.claim(5), "nobody has it");
    }

    #[test]
    fn who_waited_for_the_outside_comes_first_once() {
        let words = words();
        let baton = Baton::new(&words, 10);
        for index in 0..4 {
            baton.join(index, false);
        }
        baton.hurry(3);
        assert!(baton.is_urgent());
        assert_eq!(baton.pass(0), Some(3));
        assert!(!baton.is_urgent());
        baton.hurry(9);
        assert_eq!(baton.pass(3), Some(1), "9 does not want to");
    }

    #[test]
    fn those_that_were_woken_are_waited_for() {
        let words = words();
        let baton = Baton::new(&words, 10);
        for index in 1..4 {
            baton.seat(index).waits_at(0x1000);
        }
        assert!(!baton.woke(0x2000, 1) && baton.is_settled(), "nobody waits there");
        assert!(baton.woke(0x1000, 2) && !baton.is_settled());
        baton.seat(1).waits_at(0);
        assert!(!baton.is_settled());
        baton.seat(3).waits_at(0);
        assert!(baton.is_settled());
    }

    #[test]
    fn a_line_is_wanted_when_it_comes_again() {
        let words = words();
        let baton = Baton::new(&words, 10);
        assert!(!baton.is_wanted(0x1000) && !baton.is_wanted(0x1040));
        assert!(baton.is_wanted(0x1000) && baton.is_wanted(0x1040));
        for _ in 0..100 {
            assert!((1..=3).contains(&baton.draw(3)));
        }
    }
}
