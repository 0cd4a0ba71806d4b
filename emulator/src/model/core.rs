//! The caches of one thread, and an access to them.

use super::outcome::{Events, Outcome, Served, Translated};
use super::outside::{Copies, Outside};
use super::{EXCLUSIVE, LINE, MODIFIED, SHARED, STATE, Shape};
use crate::block::ENTRIES;

/// Lines that hit without the model, and when they did.
#[derive(Debug)]
pub struct Filter<'a> {
    /// By [`crate::block::index`].
    pub keys: &'a mut [u64; ENTRIES],
    /// By [`crate::block::stamp_index`].
    pub hits: &'a mut [u64; ENTRIES],
}

/// All that belongs to one thread.
#[derive(Debug)]
pub struct Core<'a> {
    /// Sizes.
    pub shape: &'a Shape,
    /// `private_words` of them.
    pub words: &'a mut [u64],
    /// Of loads, and as to stamps of stores.
    pub data: Filter<'a>,
    /// Keys of lines that stores may write without the model.
    pub stores: &'a mut [u64; ENTRIES],
    /// Of fetches.
    pub code: Filter<'a>,
    /// Log2 of the size of the pages at an address.
    pub page: Pages<'a>,
}

/// Ranges whose pages are not of 4 KiB: begin, end, log2 of the size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pages<'a>(pub &'a [[u64; 3]]);

impl Pages<'_> {
    #[inline(always)]
    pub(super) fn shift(&self, address: u64) -> u64 {
        self.0
            .iter()
            .find(|[begin, end, _]| (*begin..*end).contains(&address))
            .map_or(12, |range| range[2] & 63)
    }
}

/// One access to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Whether it writes.
    pub write: bool,
    /// Address of the instruction.
    pub ip: u64,
    /// The clock; later accesses of the thread have larger ones. An access
    /// that crosses a line uses the next one too.
    pub stamp: u64,
}

impl Access {
    /// Its first line, and its last one.
    #[inline(always)]
    pub fn lines(&self) -> (u64, u64) {
        let last = self.address.wrapping_add(self.size.saturating_sub(1));
        (self.address & !(LINE - 1), last & !(LINE - 1))
    }
}

impl Core<'_> {
    /// Looks an access up, and brings in what it misses.
    #[inline(always)]
    pub fn access(&mut self, outside: &mut impl Outside, access: Access) -> Outcome {
        let (first, last) = access.lines();
        let mut outcome = self.line(outside, first, access, access.stamp);
        if last != first {
            outcome.join(self.split(outside, last, access));
        }
        if self.shape.forward != 0 {
            outcome.events.add(self.forward(&access));
        }
        outcome
    }

    #[cold]
    fn split(&mut self, outside: &mut impl Outside, last: u64, access: Access) -> Outcome {
        let mut outcome = self.line(outside, last, access, access.stamp + 1);
        let event = if access.write { Events::SPLIT_STORE } else { Events::SPLIT_LOAD };
        outcome.events.add(event);
        outcome
    }

    /// Fetches a line of code.
    #[inline(always)]
    pub fn fetch(&mut self, outside: &mut impl Outside, line: u64, stamp: u64) -> Outcome {
        self.settle::<true>(line);
        let mut outcome = Outcome::default();
        if let Some(slot) = self.find::<true>(line) {
            self.stamp::<true>(slot, stamp);
        } else {
            let (found, state) = self.outer(outside, line, false);
            outcome = found;
            self.install::<true>(line | state, stamp);
        }
        self.show::<true>(line, stamp);
        outcome
    }

    #[inline(always)]
    fn line(
        &mut self,
        outside: &mut impl Outside,
        line: u64,
        access: Access,
        stamp: u64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        if self.shape.dtlb.exists() {
            outcome.translated = self.translate(line, stamp);
            if outcome.translated > Translated::First {
                outcome.events.add(if access.write {
                    Events::DTLB_STORE_MISS
                } else {
                    Events::DTLB_LOAD_MISS
                });
                if outcome.translated == Translated::Walk {
                    outcome.events.add(Events::PAGE_WALK);
                }
            }
        }
        self.settle::<false>(line);
        let state;
        if let Some(slot) = self.find::<false>(line) {
            let was = self.words.get(slot).map_or(0, |entry| entry & STATE);
            state = if access.write { MODIFIED } else { was };
            if state != was {
                self.upgrade(outside, line, was, slot);
            }
            self.stamp::<false>(slot, stamp);
        } else {
            let (found, of_line) = self.outer(outside, line, access.write);
            state = of_line;
            outcome.served = found.served;
            outcome.elsewhere = found.elsewhere;
            outcome.events.add(found.events);
            self.install::<false>(line | state, stamp);
        }
        if self.shape.forward == 0 {
            self.show::<false>(line, stamp);
            if state == MODIFIED {
                self.show_store(line);
            }
        }
        if self.shape.prefetch != 0 {
            self.prefetch(outside, line, &access, stamp);
        }
        outcome
    }

    /// A line that is here is written for the first time.
    #[inline(always)]
    fn upgrade(&mut self, outside: &mut impl Outside, line: u64, was: u64, slot: usize) {
        if was == SHARED {
            self.ask(outside, line, true);
        }
        if let Some(entry) = self.words.get_mut(slot) {
            *entry = line | MODIFIED;
        }
        if let Some(entry) = self.find_in_second(line).and_then(|slot| self.words.get_mut(slot)) {
            *entry = line | MODIFIED;
        }
    }

    /// Brings a line from beyond the first level: what had it, and its state.
    #[inline(always)]
    pub(super) fn outer(
        &mut self,
        outside: &mut impl Outside,
        line: u64,
        write: bool,
    ) -> (Outcome, u64) {
        let mut outcome = Outcome { events: Events::L1_MISS, ..Outcome::default() };
        let was = self.second(line);
        if was != 0 {
            outcome.served = Served::Second;
            if !write || was == MODIFIED {
                self.set_second(line | was);
                return (outcome, was);
            }
            if was == SHARED {
                self.ask(outside, line, true);
            }
            self.set_second(line | MODIFIED);
            return (outcome, MODIFIED);
        }
        outcome.events.add(Events::L2_MISS);
        let copies = self.ask(outside, line, write);
        let state = match (write, copies) {
            (true, _) => MODIFIED,
            (false, Copies::None) => EXCLUSIVE,
            (false, _) => SHARED,
        };
        self.set_second(line | state);
        outcome.elsewhere = copies == Copies::Clean;
        let third = self.third(outside.common(), line);
        if copies == Copies::Modified {
            outcome.served = Served::Modified;
            outcome.events.add(Events::HIT_MODIFIED);
        } else if third {
            outcome.served = Served::Third;
        } else {
            outcome.served = Served::Memory;
            outcome.events.add(Events::L3_MISS);
        }
        (outcome, state)
    }
}
