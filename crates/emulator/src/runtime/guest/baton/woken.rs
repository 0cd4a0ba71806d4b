//! Threads that were woken and have not come yet.

use super::seat::Seats;
use super::words::BatonWords;

/// How many futexes are known of those whose waiters were woken.
const PLACES: usize = 0;
/// The first of them: its address, and how many may wait there still.
const FIRST: usize = 1;
const PLACE: usize = 2;
const MOST: usize = 8;

/// Those that were woken at futexes. Until they want to run, the baton goes to
/// nobody: who runs next must not depend on how soon they come.
#[derive(Clone, Copy, Debug)]
pub struct WokenThreads<'a> {
    words: BatonWords<'a>,
    seats: Seats<'a>,
}

impl<'a> WokenThreads<'a> {
    pub(super) const WORDS: usize = FIRST + MOST * PLACE;

    #[inline(always)]
    pub(super) fn new(words: BatonWords<'a>, seats: Seats<'a>) -> WokenThreads<'a> {
        WokenThreads { words, seats }
    }

    /// `most` of those that wait at a futex are woken; the kernel has `there`
    /// of them, if that is known. False when none waits there.
    pub fn wake(&self, address: u64, most: u64, there: Option<u64>) -> bool {
        let places = self.places();
        let known = (0..places).find(|&place| self.address(place) == address);
        let there = match (there, known) {
            (Some(there), _) => there,
            (None, Some(place)) => self.staying(place),
            (None, None) => self.seats.waiting_at(address),
        };
        if there == 0 {
            return false;
        }
        let place = known.unwrap_or(places.min(MOST - 1));
        self.words.put(FIRST + place * PLACE + 1, there.saturating_sub(most));
        self.words.put(FIRST + place * PLACE, address);
        self.words.put(PLACES, places.max(place + 1) as u64);
        true
    }

    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.places() < MOST
    }

    #[inline(always)]
    pub fn are_awaited(&self) -> bool {
        self.places() != 0
    }

    #[inline(always)]
    pub fn are_back(&self) -> bool {
        let back = |place| self.seats.waiting_at(self.address(place)) <= self.staying(place);
        (0..self.places()).all(back)
    }

    #[inline(always)]
    pub fn forget(&self) {
        self.words.put(PLACES, 0);
    }

    #[inline(always)]
    fn places(&self) -> usize {
        usize::try_from(self.words.get(PLACES)).unwrap_or(0).min(MOST)
    }

    fn address(&self, place: usize) -> u64 {
        self.words.get(FIRST + place * PLACE)
    }

    fn staying(&self, place: usize) -> u64 {
        self.words.get(FIRST + place * PLACE + 1)
    }
}
