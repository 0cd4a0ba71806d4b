//! A first-level cache behind a table of lines that hit without it.
//!
//! Exact LRU: each way has a stamp, and a line that is in the table has a
//! later one there when it was hit since. Stamps of ways are lower bounds,
//! and the way with the smallest is brought up to date before it goes.
//!
//! In memory each set has the words of its ways (address and state), then
//! their stamps. `CODE` chooses between the two caches.

use super::{Core, Filter, Level, STATE, is, word};
use crate::block::{NO_LINE, index, key, line_of, stamp_index};

impl Core<'_> {
    #[inline(always)]
    fn level<const CODE: bool>(&self) -> Level {
        if CODE { self.shape.l1i } else { self.shape.l1d }
    }

    #[inline(always)]
    fn filter<const CODE: bool>(&self) -> &Filter<'_> {
        if CODE { &self.code } else { &self.data }
    }

    /// First word of a line's set.
    #[inline(always)]
    fn set<const CODE: bool>(&self, line: u64) -> usize {
        let level = self.level::<CODE>();
        word(level.start + level.set(line >> 6) * level.ways * 2)
    }

    #[inline(always)]
    fn ways<const CODE: bool>(&self) -> usize {
        word(self.level::<CODE>().ways)
    }

    /// Where the word of a line is, if it is in the cache.
    #[inline(always)]
    pub(super) fn find<const CODE: bool>(&self, line: u64) -> Option<usize> {
        if !self.level::<CODE>().exists() {
            return None;
        }
        let from = self.set::<CODE>(line);
        let ways = self.words.get(from..from.wrapping_add(self.ways::<CODE>()))?;
        Some(from + ways.iter().position(|&here| is(here, line))?)
    }

    /// Sets the stamp of the way whose word is at `slot`.
    #[inline(always)]
    pub(super) fn stamp<const CODE: bool>(&mut self, slot: usize, stamp: u64) {
        let ways = self.ways::<CODE>();
        if let Some(old) = self.words.get_mut(slot.wrapping_add(ways)) {
            *old = stamp;
        }
    }

    /// When a line was last hit unseen, if the table has it.
    #[inline(always)]
    pub(super) fn hit<const CODE: bool>(&self, line: u64) -> Option<u64> {
        let filter = self.filter::<CODE>();
        let at = index(line);
        let found = filter.keys.get(at).is_some_and(|&found| found == key(line));
        if found { filter.hits.get(stamp_index(at)).copied() } else { None }
    }

    /// Takes a line out of the table: when it was last hit there.
    #[inline(always)]
    pub(super) fn hide<const CODE: bool>(&mut self, line: u64) -> Option<u64> {
        let hit = self.hit::<CODE>(line)?;
        let filter = if CODE { &mut self.code } else { &mut self.data };
        if let Some(found) = filter.keys.get_mut(index(line)) {
            *found = NO_LINE;
        }
        if !CODE && let Some(found) = self.stores.get_mut(index(line)) {
            *found = NO_LINE;
        }
        Some(hit)
    }

    /// Another thread has taken a line, or (not `taken`) reads it: stores and,
    /// if taken, loads and fetches must ask again.
    pub(super) fn unlist(&mut self, line: u64, taken: bool) {
        if taken {
            if let Some(hit) = self.hide::<false>(line) {
                self.page_used(line, hit);
            }
            self.hide::<true>(line);
        } else if let Some(found) = self.stores.get_mut(index(line))
            && *found == key(line)
        {
            *found = NO_LINE;
        }
    }

    /// Takes the line out of the table that has the place of `line`, if it is
    /// another. What the table knew of it goes where it belongs; both lines
    /// are of one set, since no cache has more sets than the table entries.
    #[inline(always)]
    pub(super) fn settle<const CODE: bool>(&mut self, line: u64) {
        let before = self.filter::<CODE>().keys.get(index(line)).copied().unwrap_or(NO_LINE);
        if before != NO_LINE && before != key(line) {
            self.retire::<CODE>(line_of(before));
        }
    }

    /// Takes a line out of the table; the cache and its page learn when it
    /// was last hit.
    #[inline(never)]
    pub(super) fn retire<const CODE: bool>(&mut self, line: u64) {
        let Some(hit) = self.hide::<CODE>(line) else { return };
        if let Some(slot) = self.find::<CODE>(line) {
            self.stamp::<CODE>(slot, hit);
        }
        if !CODE {
            self.page_used(line, hit);
        }
    }

    /// Enters a line in the table, whose place is free or its own.
    #[inline(always)]
    pub(super) fn show<const CODE: bool>(&mut self, line: u64, stamp: u64) {
        if !self.level::<CODE>().exists() {
            return;
        }
        let at = index(line);
        let filter = if CODE { &mut self.code } else { &mut self.data };
        if let Some(found) = filter.keys.get_mut(at) {
            *found = key(line);
        }
        if let Some(hit) = filter.hits.get_mut(stamp_index(at)) {
            *hit = stamp;
        }
        if !CODE {
            self.page_shows(line);
        }
    }

    /// Lets stores write a line unseen that the table has for loads.
    #[inline(always)]
    pub(super) fn show_store(&mut self, line: u64) {
        if self.shape.l1d.exists()
            && let Some(found) = self.stores.get_mut(index(line))
        {
            *found = key(line);
        }
    }

    /// Puts a line that is not there into the place of the one that was used
    /// the longest time ago.
    #[inline(always)]
    pub(super) fn install<const CODE: bool>(&mut self, entry: u64, stamp: u64) {
        if !self.level::<CODE>().exists() {
            return;
        }
        let from = self.set::<CODE>(entry & !STATE);
        let ways = self.ways::<CODE>();
        let slot = self.victim::<CODE>(from, ways);
        let Some(place) = self.words.get_mut(slot) else { return };
        let gone = core::mem::replace(place, entry);
        let Some(old) = self.words.get_mut(slot.wrapping_add(ways)) else { return };
        let known = core::mem::replace(old, stamp);
        if gone != 0
            && let Some(hit) = self.hide::<CODE>(gone & !STATE)
            && !CODE
            && hit > known
        {
            self.page_used(gone & !STATE, hit);
        }
    }

    /// The way of a set that was used the longest time ago: where its word is.
    #[inline(always)]
    fn victim<const CODE: bool>(&mut self, from: usize, ways: usize) -> usize {
        let mut least = 0;
        for _ in 0..=ways {
            let of_set = self.words.get(from..from.wrapping_add(2 * ways));
            let Some((lines, stamps)) = of_set.and_then(|set| set.split_at_checked(ways)) else {
                return from;
            };
            let mut stamp = u64::MAX;
            for (way, (&line, &of_way)) in lines.iter().zip(stamps).enumerate() {
                // An empty way is older than all.
                let of_way = if line == 0 { 0 } else { of_way };
                if of_way < stamp {
                    stamp = of_way;
                    least = way;
                }
            }
            let line = lines.get(least).map_or(0, |line| line & !STATE);
            let Some(hit) = self.hit::<CODE>(line).filter(|&hit| hit > stamp) else { break };
            if let Some(old) = self.words.get_mut(from.wrapping_add(ways + least)) {
                *old = hit;
                if !CODE {
                    // The page hears of it too: what the way knows now is
                    // what `install` compares with.
                    self.page_used(line, hit);
                }
            }
        }
        from.wrapping_add(least)
    }
}
