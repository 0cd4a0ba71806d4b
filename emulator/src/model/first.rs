//! A first-level cache behind a table of lines that hit without it.
//!
//! Exact LRU: each way has a stamp, and a line that is in the table has a
//! later one there when it was hit since. Stamps of ways are lower bounds,
//! and the way with the smallest is brought up to date before it goes.

use super::Level;
use crate::block::{ENTRIES, NO_LINE, index, key, line_of, stamp_index};

/// Bits of a way's word below the line's address: its state, 0 when empty.
const STATE: u64 = 3;
/// Held by others too.
#[allow(dead_code, reason = "coherence is to come")]
pub(crate) const SHARED: u64 = 1;
/// Held by this cache alone, as it is in memory.
pub(crate) const EXCLUSIVE: u64 = 2;
/// Written.
pub(crate) const MODIFIED: u64 = 3;

/// What a first-level cache and its tables are made of.
#[derive(Debug)]
pub struct First<'a> {
    /// Size and place.
    pub level: Level,
    /// The words of the thread: for each set the ways' lines, then stamps.
    pub words: &'a mut [u64],
    /// Keys of lines that hit for loads or fetches.
    pub keys: &'a mut [u64; ENTRIES],
    /// When they did.
    pub hits: &'a mut [u64; ENTRIES],
    /// Keys of lines that hit for stores.
    pub stores: Option<&'a mut [u64; ENTRIES]>,
}

/// What a lookup came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The line was there.
    Hit,
    /// It was there, but not for writing.
    Upgrade,
    /// It was not.
    Miss,
}

#[inline(always)]
fn find(ways: &[u64], line: u64) -> Option<usize> {
    ways.iter().position(|way| (way ^ line).wrapping_sub(1) < STATE)
}

impl First<'_> {
    /// Takes a line out of the tables.
    #[inline(always)]
    fn hide(&mut self, line: u64) {
        let at = index(line);
        if let Some(found) = self.keys.get_mut(at)
            && *found == key(line)
        {
            *found = NO_LINE;
            if let Some(store) = self.stores.as_mut().and_then(|stores| stores.get_mut(at)) {
                *store = NO_LINE;
            }
        }
    }

    /// When a line was last hit without the slow path, if the table has it.
    #[inline(always)]
    fn hit(&self, line: u64) -> Option<u64> {
        let at = index(line);
        let found = self.keys.get(at).is_some_and(|&found| found == key(line));
        if found { self.hits.get(stamp_index(at)).copied() } else { None }
    }

    /// Looks up the line at an address that is a multiple of a line's size,
    /// and brings it in when it is missing.
    #[inline(always)]
    pub fn access(&mut self, line: u64, stamp: u64, write: bool) -> Found {
        let ways = usize::try_from(self.level.ways).unwrap_or(0);
        let set = self.level.set(line >> 6);
        let from = usize::try_from(self.level.start + set * self.level.ways * 2).unwrap_or(0);
        let at = index(line);
        let before = self.keys.get(at).copied().unwrap_or(NO_LINE);
        // Lines of one place in the table are in one set as well.
        let displaced = if before == NO_LINE || before == key(line) {
            None
        } else {
            self.hits.get(stamp_index(at)).map(|&hit| (line_of(before), hit))
        };
        let Some((tags, stamps)) = set_of(self.words, from, ways) else { return Found::Miss };
        if let Some((other, hit)) = displaced
            && let Some(old) = find(tags, other).and_then(|way| stamps.get_mut(way))
        {
            *old = hit;
        }
        let (way, state, result) = match find(tags, line) {
            Some(way) => {
                let state = tags.get(way).map_or(0, |tag| tag & STATE);
                if write && state != MODIFIED {
                    (way, MODIFIED, Found::Upgrade)
                } else {
                    (way, state, Found::Hit)
                }
            }
            None => {
                if displaced.is_some()
                    && let Some(found) = self.keys.get_mut(at)
                {
                    *found = NO_LINE;
                }
                let way = self.victim(from, ways);
                (way, if write { MODIFIED } else { EXCLUSIVE }, Found::Miss)
            }
        };
        let mut gone = 0;
        if let Some((tags, stamps)) = set_of(self.words, from, ways)
            && let (Some(tag), Some(old)) = (tags.get_mut(way), stamps.get_mut(way))
        {
            gone = *tag;
            *tag = line | state;
            *old = stamp;
        }
        if result == Found::Miss && gone != 0 {
            self.hide(gone & !STATE);
        }
        if let Some(found) = self.keys.get_mut(at) {
            *found = key(line);
        }
        if let Some(hit) = self.hits.get_mut(stamp_index(at)) {
            *hit = stamp;
        }
        if let Some(store) = self.stores.as_mut().and_then(|stores| stores.get_mut(at)) {
            *store = if state == MODIFIED { key(line) } else { NO_LINE };
        }
        result
    }

    /// The way of a full set that was used the longest time ago.
    #[inline(always)]
    fn victim(&mut self, from: usize, ways: usize) -> usize {
        let mut least = 0;
        for _ in 0..=ways {
            let Some((tags, stamps)) = set_of(self.words, from, ways) else { return 0 };
            let mut stamp = u64::MAX;
            for (way, &of_way) in stamps.iter().enumerate() {
                if of_way < stamp {
                    stamp = of_way;
                    least = way;
                }
            }
            let line = tags.get(least).map_or(0, |tag| tag & !STATE);
            let Some(hit) = self.hit(line).filter(|&hit| hit > stamp) else { return least };
            if let Some((_, stamps)) = set_of(self.words, from, ways)
                && let Some(old) = stamps.get_mut(least)
            {
                *old = hit;
            }
        }
        least
    }
}

#[inline(always)]
fn set_of(words: &mut [u64], from: usize, ways: usize) -> Option<(&mut [u64], &mut [u64])> {
    words.get_mut(from..from.wrapping_add(2 * ways))?.split_at_mut_checked(ways)
}
