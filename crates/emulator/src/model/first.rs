//! A first-level cache behind a table of lines that hit without it.
//!
//! Exact LRU: each way has a stamp, and a line that is in the table has a
//! later one there when it was hit since. Stamps of ways are lower bounds,
//! and the way with the smallest is brought up to date before it goes. A set
//! keeps its ways in the order of their stamps (see `LruOrder`), so
//! that the smallest is known at once.
//!
//! In memory each set has the words of its ways (address and state), then
//! their stamps; the words of order of all sets are in front. `CODE` chooses
//! between the two caches. The thread's very first word counts the lines of
//! data that are in the cache and not in the table: while it is 0, what the
//! table has not the cache has not either.

use super::order::{self, LruOrder};
use super::{Core, LevelShape, LineTables, STATE, is, word};
use crate::block::{ENTRIES, NO_LINE, index, key, line_of, names, stamp_index, veiled};

impl Core<'_> {
    #[inline(always)]
    fn level<const CODE: bool>(&self) -> LevelShape {
        if CODE { self.shape.l1i } else { self.shape.l1d }
    }

    #[inline(always)]
    fn keys<const CODE: bool>(&self) -> &[u64; ENTRIES] {
        if CODE { &self.tables.fetches } else { &self.tables.loads }
    }

    #[inline(always)]
    fn set_key<const CODE: bool>(&mut self, line: u64, key: u64) {
        let keys = if CODE { &mut self.tables.fetches } else { &mut self.tables.loads };
        if let Some(place) = keys.get_mut(index(line)) {
            *place = key;
        }
    }

    #[inline(always)]
    fn set_store(&mut self, line: u64, key: u64) {
        if let Some(place) = self.tables.stores.get_mut(index(line)) {
            *place = key;
        }
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
        self.find_in(self.set::<CODE>(line), self.ways::<CODE>(), line)
    }

    /// The same in a set whose words are known to begin at `from`.
    #[inline(always)]
    fn find_in(&self, from: usize, ways: usize, line: u64) -> Option<usize> {
        let words = self.words.get(from..)?;
        match ways {
            8 => which(words.first_chunk::<8>()?, line),
            12 => which(words.first_chunk::<12>()?, line),
            _ => words.get(..ways)?.iter().position(|&here| is(here, line)),
        }
        .map(|way| from + way)
    }

    /// The way whose word is at `slot` was hit then, or later as it knows.
    #[inline]
    pub(super) fn stamp_later<const CODE: bool>(&mut self, line: u64, slot: usize, hit: u64) {
        let known = self.words.get(slot.wrapping_add(self.ways::<CODE>()));
        if known.is_some_and(|&known| known < hit) {
            self.stamp::<CODE>(line, slot, hit);
        }
    }

    /// Sets the stamp of the way whose word is at `slot`, and its place in
    /// the order of the set.
    #[inline]
    pub(super) fn stamp<const CODE: bool>(&mut self, line: u64, slot: usize, stamp: u64) {
        let from = self.set::<CODE>(line);
        let ways = self.ways::<CODE>();
        let way = slot.wrapping_sub(from);
        let Some(stamps) = self.words.get_mut(from + ways..from + 2 * ways) else { return };
        if let Some(old) = stamps.get_mut(way) {
            *old = stamp;
        }
        let earlier = stamps.iter().filter(|&&other| other < stamp).count();
        let at = self.order_at::<CODE>(line);
        if let Some(word) = self.words.get_mut(at).filter(|_| ways <= order::MAX_WAYS) {
            *word = LruOrder::of(*word, ways).with(way, earlier).word(ways);
        }
    }

    #[inline(always)]
    fn order_at<const CODE: bool>(&self, line: u64) -> usize {
        let level = self.level::<CODE>();
        word(level.start - level.sets.next_multiple_of(8) + level.set(line >> 6))
    }

    /// When a line was last hit unseen, if the table has it; before that it
    /// may be any earlier time.
    #[inline(always)]
    pub(super) fn hit<const CODE: bool>(&self, line: u64) -> Option<u64> {
        hit_of::<CODE>(self.tables, line)
    }

    /// Whether the table has a line of data, be it veiled.
    #[inline(always)]
    pub(super) fn is_shown(&self, line: u64) -> bool {
        self.tables.loads.get(index(line)).is_some_and(|&found| names(found, line))
    }

    /// Veils a line of data if the table has it: its page goes from the TLB.
    #[inline(always)]
    pub(super) fn veil(&mut self, line: u64) {
        let at = index(line);
        for table in [&mut self.tables.loads, &mut self.tables.stores] {
            if let Some(place) = table.get_mut(at).filter(|place| **place == key(line)) {
                *place = veiled(line);
            }
        }
    }

    /// Takes the veil from a line whose place in the table is `at`.
    #[inline(always)]
    pub(super) fn unveil(&mut self, at: usize, line: u64) {
        for table in [&mut self.tables.loads, &mut self.tables.stores] {
            if let Some(place) = table.get_mut(at).filter(|place| **place == veiled(line)) {
                *place = key(line);
            }
        }
    }

    /// A line of data that is in the cache went from the table, or came there
    /// or went from the cache without having been there.
    #[inline(always)]
    pub(super) fn count_hidden(&mut self, change: i64) {
        if let Some(hidden) = self.words.first_mut() {
            *hidden = hidden.wrapping_add_signed(change);
        }
    }

    /// Takes a line out of the table: when it was last hit there.
    #[inline(always)]
    pub(super) fn hide<const CODE: bool>(&mut self, line: u64) -> Option<u64> {
        let hit = self.hit::<CODE>(line)?;
        self.set_key::<CODE>(line, NO_LINE);
        if !CODE {
            self.set_store(line, NO_LINE);
            if self.shape.shadows.first.exists() {
                self.note_hit(line, hit);
            }
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
        } else if self.tables.stores.get(index(line)).is_some_and(|&found| names(found, line)) {
            self.set_store(line, NO_LINE);
        }
    }

    /// Takes the line out of the table that has the place of `line`, if it is
    /// another. What the table knew of it goes where it belongs; both lines
    /// are of one set, since no cache has more sets than the table entries.
    #[inline(always)]
    pub(super) fn settle<const CODE: bool>(&mut self, line: u64) {
        let before = self.keys::<CODE>().get(index(line)).copied().unwrap_or(NO_LINE);
        if before != NO_LINE && !names(before, line) {
            self.retire::<CODE>(line_of(before));
        }
    }

    /// Takes a line out of the table; the cache and its page learn when it
    /// was last hit.
    #[inline(never)]
    pub(super) fn retire<const CODE: bool>(&mut self, line: u64) {
        let Some(hit) = self.hide::<CODE>(line) else { return };
        if let Some(slot) = self.find::<CODE>(line) {
            self.stamp_later::<CODE>(line, slot, hit);
            if !CODE {
                self.count_hidden(1);
            }
        }
        if !CODE {
            self.page_used(line, hit);
        }
    }

    /// Enters a line in the table, whose place is free or its own. For data,
    /// [`Core::page_shows`] must hear of it.
    #[inline(always)]
    pub(super) fn show<const CODE: bool>(&mut self, line: u64, stamp: u64) {
        if !self.level::<CODE>().exists() {
            return;
        }
        self.set_key::<CODE>(line, key(line));
        let tables = &mut self.tables;
        let hits = if CODE { &mut tables.fetch_stamps } else { &mut tables.load_stamps };
        if let Some(hit) = hits.get_mut(stamp_index(index(line))) {
            *hit = stamp;
        }
    }

    /// Lets stores write a line unseen that the table has for loads.
    #[inline(always)]
    pub(super) fn show_store(&mut self, line: u64) {
        if self.shape.l1d.exists() {
            self.set_store(line, key(line));
        }
    }

    /// Puts a line that is not there into the place of the one that was used
    /// the longest time ago.
    #[inline(always)]
    pub(super) fn install<const CODE: bool>(&mut self, entry: u64, stamp: u64) {
        if !self.level::<CODE>().exists() {
            return;
        }
        let line = entry & !STATE;
        let (slot, known) = self.victim::<CODE>(line);
        let Some(place) = self.words.get_mut(slot) else { return };
        let gone = core::mem::replace(place, entry);
        self.stamp::<CODE>(line, slot, stamp);
        if gone == 0 {
            return;
        }
        let shown = self.hide::<CODE>(gone & !STATE);
        if !CODE {
            match shown {
                Some(hit) if hit > known => self.page_used(gone & !STATE, hit),
                Some(_) => {}
                None => self.count_hidden(-1),
            }
        }
    }

    /// Where the way is that was used the longest time ago in the set of a
    /// line, and its stamp. An empty way's stamp is 0.
    #[inline(never)]
    pub(super) fn victim<const CODE: bool>(&mut self, of: u64) -> (usize, u64) {
        let from = self.set::<CODE>(of);
        let ways = self.ways::<CODE>();
        for _ in 0..=ways {
            let slot = from.wrapping_add(self.oldest::<CODE>(of, from, ways));
            let Some(&entry) = self.words.get(slot) else { break };
            let stamp = self.words.get(slot + ways).copied().unwrap_or(0);
            let line = entry & !STATE;
            let Some(hit) = self.hit::<CODE>(line).filter(|&hit| entry != 0 && hit > stamp) else {
                return (slot, stamp);
            };
            self.stamp::<CODE>(line, slot, hit);
            if !CODE {
                self.page_used(line, hit);
            }
        }
        (from, 0)
    }

    #[inline(always)]
    fn oldest<const CODE: bool>(&self, line: u64, from: usize, ways: usize) -> usize {
        if ways <= order::MAX_WAYS {
            let word = self.words.get(self.order_at::<CODE>(line)).copied().unwrap_or(0);
            return LruOrder::of(word, ways).first();
        }
        let stamps = self.words.get(from + ways..from + 2 * ways).unwrap_or_default();
        let least = stamps.iter().enumerate().min_by_key(|&(_, stamp)| stamp);
        least.map_or(0, |(way, _)| way)
    }
}

/// When a line was last hit unseen, by the tables of a thread.
#[inline(always)]
pub(super) fn hit_of<const CODE: bool>(tables: &LineTables, line: u64) -> Option<u64> {
    let at = index(line);
    let keys = if CODE { &tables.fetches } else { &tables.loads };
    if keys.get(at).is_none_or(|&found| !names(found, line)) {
        return None;
    }
    let hits = if CODE { &tables.fetch_stamps } else { &tables.load_stamps };
    hits.get(stamp_index(at)).copied()
}

/// The way that has a line, without a branch for each.
#[inline(always)]
pub(super) fn which<const WAYS: usize>(ways: &[u64; WAYS], line: u64) -> Option<usize> {
    let mut found = WAYS;
    for (way, &here) in ways.iter().enumerate() {
        found = if is(here, line) { way } else { found };
    }
    (found < WAYS).then_some(found)
}
