//! A first-level cache behind a table of lines that hit without it.
//!
//! Exact LRU: each way has a stamp, and a line that is in the table has a
//! later one there when it was hit since. Stamps of ways are lower bounds,
//! and the way with the smallest is brought up to date before it goes.
//!
//! In memory each set has the words of its ways (address and state), then
//! their stamps. `CODE` chooses between the two caches. The thread's very
//! first word counts the lines of data that are in the cache and not in the
//! table: while it is 0, what the table has not the cache has not either.

use super::{Core, Level, STATE, is, word};
use crate::block::{ENTRIES, NO_LINE, index, key, line_of, stamp_index};

impl Core<'_> {
    #[inline(always)]
    fn level<const CODE: bool>(&self) -> Level {
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
        let at = index(line);
        if self.keys::<CODE>().get(at).is_none_or(|&found| found != key(line)) {
            return None;
        }
        let tables = &self.tables;
        let hits = if CODE { &tables.fetch_stamps } else { &tables.load_stamps };
        hits.get(stamp_index(at)).copied()
    }

    /// Whether the table has a line of data.
    #[inline(always)]
    pub(super) fn is_shown(&self, line: u64) -> bool {
        self.tables.loads.get(index(line)) == Some(&key(line))
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
        } else if self.tables.stores.get(index(line)) == Some(&key(line)) {
            self.set_store(line, NO_LINE);
        }
    }

    /// Takes the line out of the table that has the place of `line`, if it is
    /// another. What the table knew of it goes where it belongs; both lines
    /// are of one set, since no cache has more sets than the table entries.
    #[inline(always)]
    pub(super) fn settle<const CODE: bool>(&mut self, line: u64) {
        let before = self.keys::<CODE>().get(index(line)).copied().unwrap_or(NO_LINE);
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
        let from = self.set::<CODE>(entry & !STATE);
        let ways = self.ways::<CODE>();
        let (way, known) = self.victim::<CODE>(from, ways);
        let slot = from.wrapping_add(way);
        let Some(place) = self.words.get_mut(slot) else { return };
        let gone = core::mem::replace(place, entry);
        self.stamp::<CODE>(slot, stamp);
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

    /// The way of a set that was used the longest time ago, and the stamp
    /// that it has had until now. An empty way's stamp is 0.
    #[inline(always)]
    fn victim<const CODE: bool>(&mut self, from: usize, ways: usize) -> (usize, u64) {
        for _ in 0..=ways {
            let Some((way, stamp)) = self.oldest(from, ways) else { break };
            let slot = from.wrapping_add(way);
            let line = self.words.get(slot).map_or(0, |line| line & !STATE);
            let Some(hit) = self.hit::<CODE>(line).filter(|&hit| hit > stamp) else {
                return (way, stamp);
            };
            self.stamp::<CODE>(slot, hit);
            if !CODE {
                self.page_used(line, hit);
            }
        }
        (0, 0)
    }

    /// The way with the smallest stamp.
    #[inline(always)]
    fn oldest(&self, from: usize, ways: usize) -> Option<(usize, u64)> {
        let stamps = self.words.get(from.wrapping_add(ways)..)?;
        let least = match ways {
            8 => least(stamps.first_chunk::<8>()?),
            12 => least(stamps.first_chunk::<12>()?),
            _ => least_of(stamps.get(..ways)?),
        };
        Some((word(least & WAY), least >> WAY_BITS))
    }
}

/// Bits for the number of a way below a stamp.
const WAY_BITS: u32 = 8;
const WAY: u64 = (1 << WAY_BITS) - 1;

/// The way that has a line, without a branch for each.
#[inline(always)]
pub(super) fn which<const WAYS: usize>(ways: &[u64; WAYS], line: u64) -> Option<usize> {
    let mut found = WAYS;
    for (way, &here) in ways.iter().enumerate() {
        found = if is(here, line) { way } else { found };
    }
    (found < WAYS).then_some(found)
}

/// The smallest stamp, and its way below it.
#[inline(always)]
pub(super) fn least<const WAYS: usize>(stamps: &[u64; WAYS]) -> u64 {
    let mut numbered = [0; WAYS];
    for ((to, from), way) in numbered.iter_mut().zip(stamps).zip(0..) {
        *to = from << WAY_BITS | way;
    }
    let mut halves = [u64::MAX; 4];
    for (way, &stamp) in numbered.iter().enumerate() {
        if let Some(half) = halves.get_mut(way & 3) {
            *half = (*half).min(stamp);
        }
    }
    let [a, b, c, d] = halves;
    a.min(b).min(c.min(d))
}

#[inline(always)]
fn least_of(stamps: &[u64]) -> u64 {
    stamps.iter().zip(0..).map(|(stamp, way)| stamp << WAY_BITS | way).min().unwrap_or(0)
}
