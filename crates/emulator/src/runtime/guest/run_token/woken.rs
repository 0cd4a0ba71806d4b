//! Threads that were woken and have not come yet.

use super::shared_words::SharedWords;
use super::wait_slot::WaitSlots;

/// How many futexes are known of those whose waiters were woken.
const PLACES: usize = 0;
/// The first of them: its address, and how many may wait there still.
const FIRST: usize = 1;
const PLACE: usize = 2;
const MAX_FUTEXES: usize = 8;

/// Those that were woken at futexes. Until they want to run, the run token goes to
/// nobody: who runs next must not depend on how soon they come.
#[derive(Clone, Copy, Debug)]
pub struct WokenThreads<'a> {
    words: SharedWords<'a>,
    wait_slots: WaitSlots<'a>,
}

impl<'a> WokenThreads<'a> {
    pub(super) const WORDS: usize = FIRST + MAX_FUTEXES * PLACE;

    #[inline(always)]
    pub(super) fn new(words: SharedWords<'a>, wait_slots: WaitSlots<'a>) -> WokenThreads<'a> {
        WokenThreads { words, wait_slots }
    }

    /// `most` of those that wait at a futex are woken; the kernel has `there`
    /// of them, if that is known. False when none waits there.
    pub fn wake(&self, address: u64, most: u64, there: Option<u64>) -> bool {
        let places = self.places();
        let known = (0..places).find(|&place| self.address(place) == address);
        let there = match (there, known) {
            (Some(there), _) => there,
            (None, Some(place)) => self.staying(place),
            (None, None) => self.wait_slots.waiting_at(address),
        };
        if there == 0 {
            return false;
        }
        let place = known.unwrap_or(places.min(MAX_FUTEXES - 1));
        self.words.put(FIRST + place * PLACE + 1, there.saturating_sub(most));
        self.words.put(FIRST + place * PLACE, address);
        self.words.put(PLACES, places.max(place + 1) as u64);
        true
    }

    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.places() < MAX_FUTEXES
    }

    #[inline(always)]
    pub fn are_awaited(&self) -> bool {
        self.places() != 0
    }

    #[inline(always)]
    pub fn are_back(&self) -> bool {
        let back = |place| self.wait_slots.waiting_at(self.address(place)) <= self.staying(place);
        (0..self.places()).all(back)
    }

    #[inline(always)]
    pub fn forget(&self) {
        self.words.put(PLACES, 0);
    }

    #[inline(always)]
    fn places(&self) -> usize {
        usize::try_from(self.words.get(PLACES)).unwrap_or(0).min(MAX_FUTEXES)
    }

    fn address(&self, place: usize) -> u64 {
        self.words.get(FIRST + place * PLACE)
    }

    fn staying(&self, place: usize) -> u64 {
        self.words.get(FIRST + place * PLACE + 1)
    }
}
