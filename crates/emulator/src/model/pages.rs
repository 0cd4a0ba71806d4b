//! The first-level data TLB behind the table of lines.
//!
//! Exact LRU: a page's entry has a stamp, and lines of the page that are in
//! the table may have later ones. Entries of a set are in a list, ordered by
//! the stamp that each had when it was put there, a lower bound of its own;
//! the last one is brought up to date before it goes. A page that goes veils
//! its lines in the table, so that none of them is hit without it.
//!
//! In memory: entries of 8 words ([`PAGE`] on), for each set a word of list
//! ends, and a hash from pages to entries with linear probing.

use super::outcome::{AccessOutcome, Events, LineSource, TranslationSource};
use super::shape::PAGE_WORDS;
use super::{Core, STATE, word};

/// Address of the page, log2 of its size in the low bits; 0: empty.
const PAGE: u64 = 0;
/// When it was used, but for lines in the table.
const STAMP: u64 = 1;
/// Bit n: line n of the page may be in the table (pages of 64 lines).
const LINES: u64 = 2;
/// The stamp it has in the list.
const LISTED: u64 = 3;
/// Number of the entry before in the list (used later), [`NONE`] for none.
const NEWER: u64 = 4;
/// Number of the entry behind it.
const OLDER: u64 = 5;

const HIT: AccessOutcome = page(Events::NONE, TranslationSource::First);
/// Both events of a miss; who asked keeps the one it is.
const EITHER: u64 = Events::DTLB_LOAD_MISS.0 | Events::DTLB_STORE_MISS.0;
const MISS: AccessOutcome = page(Events(EITHER), TranslationSource::Second);
const WALK: AccessOutcome = page(Events(EITHER | Events::PAGE_WALK.0), TranslationSource::Walk);

const fn page(events: Events, translated: TranslationSource) -> AccessOutcome {
    AccessOutcome::new(events, LineSource::First, translated)
}

/// No entry: no TLB is modelled.
pub(super) const NO_PAGE: u64 = u64::MAX;

const NONE: u64 = 0xffff;

/// The word of list ends of a set: newest, oldest, number of entries used.
#[derive(Clone, Copy)]
struct ListEnds {
    newest: u64,
    oldest: u64,
    used: u64,
}

impl ListEnds {
    fn of(word: u64) -> ListEnds {
        ListEnds { newest: word & NONE, oldest: word >> 16 & NONE, used: word >> 32 }
    }

    fn word(self) -> u64 {
        self.newest | self.oldest << 16 | self.used << 32
    }
}

impl Core<'_> {
    #[inline(always)]
    fn load(&self, at: u64) -> u64 {
        self.words.get(word(at)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn save(&mut self, at: u64, value: u64) {
        if let Some(place) = self.words.get_mut(word(at)) {
            *place = value;
        }
    }

    #[inline(always)]
    fn entry(&self, number: u64) -> u64 {
        self.shape.dtlb.start + number * PAGE_WORDS
    }

    #[inline(always)]
    fn ends_at(&self, set: u64) -> u64 {
        let tlb = &self.shape.dtlb;
        tlb.start + tlb.sets * tlb.ways * PAGE_WORDS + set
    }

    #[inline(always)]
    fn hash_at(&self, place: u64) -> u64 {
        let tlb = &self.shape.dtlb;
        tlb.start + tlb.sets * tlb.ways * PAGE_WORDS + tlb.sets + (place & self.shape.page_hash)
    }

    #[inline(always)]
    fn hash(page: u64) -> u64 {
        (page >> 12).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }

    /// The page of an address, and its number among pages of its size.
    #[inline(always)]
    fn page_of(&self, address: u64) -> (u64, u64) {
        let shift = self.shape.page_shift(address);
        let number = address >> shift;
        (number << shift | shift, number)
    }

    #[inline(always)]
    fn page_entry(&self, page: u64) -> Option<u64> {
        let mut place = Self::hash(page);
        loop {
            let number = self.load(self.hash_at(place)).checked_sub(1)?;
            let entry = self.entry(number);
            if self.load(entry + PAGE) == page {
                return Some(entry);
            }
            place += 1;
        }
    }

    /// Looks up the page of an address, and brings it in; its entry.
    #[inline(always)]
    pub(super) fn translate(&mut self, address: u64, stamp: u64) -> (AccessOutcome, u64) {
        let (page, number) = self.page_of(address);
        if let Some(entry) = self.page_entry(page) {
            self.save(entry + STAMP, stamp);
            self.page_first(entry, number, stamp);
            return (HIT, entry);
        }
        self.bring_page(page, number, stamp)
    }

    /// A line was hit, and goes from the table or tells before it does.
    #[inline(always)]
    pub(super) fn page_used(&mut self, line: u64, hit: u64) {
        if !self.shape.dtlb.exists() {
            return;
        }
        let (page, _) = self.page_of(line);
        if let Some(entry) = self.page_entry(page) {
            let stamp = self.load(entry + STAMP);
            self.save(entry + STAMP, stamp.max(hit));
        }
    }

    /// A line of the page with this entry was put into the table.
    #[inline(always)]
    pub(super) fn page_shows(&mut self, entry: u64, line: u64) {
        if entry != NO_PAGE {
            let lines = self.load(entry + LINES);
            self.save(entry + LINES, lines | 1 << (line >> 6 & 63));
        }
    }

    /// Puts an entry that was used just now first in its set's list, so that
    /// few are brought up to date before one goes.
    #[inline(always)]
    fn page_first(&mut self, entry: u64, page: u64, stamp: u64) {
        let newer = self.load(entry + NEWER);
        if newer != NONE {
            let at = self.ends_at(self.shape.dtlb.set(page));
            let mut ends = ListEnds::of(self.load(at));
            let older = self.load(entry + OLDER);
            let number =
                if older == NONE { ends.oldest } else { self.load(self.entry(older) + NEWER) };
            self.link(&mut ends, newer, older);
            let newest = ends.newest;
            self.link(&mut ends, NONE, number);
            self.link(&mut ends, number, newest);
            self.save(at, ends.word());
        }
        self.save(entry + LISTED, stamp);
    }

    #[inline(never)]
    fn bring_page(&mut self, page: u64, number: u64, stamp: u64) -> (AccessOutcome, u64) {
        let tlb = self.shape.dtlb;
        let set = tlb.set(number);
        let mut ends = ListEnds::of(self.load(self.ends_at(set)));
        let free = if ends.used < tlb.ways {
            let free = set * tlb.ways + ends.used;
            ends.used += 1;
            if ends.used == 1 {
                ends.newest = NONE;
                ends.oldest = NONE;
            }
            free
        } else {
            self.evict_page(&mut ends)
        };
        let entry = self.entry(free);
        self.save(entry + PAGE, page);
        self.save(entry + STAMP, stamp);
        self.save(entry + LINES, 0);
        self.insert(&mut ends, free, stamp);
        self.save(self.ends_at(set), ends.word());
        let mut place = Self::hash(page);
        while self.load(self.hash_at(place)) != 0 {
            place += 1;
        }
        self.save(self.hash_at(place), free + 1);
        let second = self.second_page(page, number);
        (if second { MISS } else { WALK }, entry)
    }

    /// Puts an entry into the list behind those listed with later stamps,
    /// which are looked for from both ends.
    fn insert(&mut self, ends: &mut ListEnds, number: u64, stamp: u64) {
        let (mut newer, mut older) = (NONE, ends.newest);
        let (mut later, mut earlier) = (ends.oldest, NONE);
        loop {
            if older == NONE || self.load(self.entry(older) + LISTED) <= stamp {
                break;
            }
            if later == NONE || self.load(self.entry(later) + LISTED) > stamp {
                (newer, older) = (later, earlier);
                break;
            }
            (newer, older) = (older, self.load(self.entry(older) + OLDER));
            (later, earlier) = (self.load(self.entry(later) + NEWER), later);
        }
        let entry = self.entry(number);
        self.save(entry + LISTED, stamp);
        self.link(ends, newer, number);
        self.link(ends, number, older);
    }

    #[inline(always)]
    fn link(&mut self, ends: &mut ListEnds, newer: u64, older: u64) {
        if newer == NONE {
            ends.newest = older;
        } else {
            self.save(self.entry(newer) + OLDER, older);
        }
        if older == NONE {
            ends.oldest = newer;
        } else {
            self.save(self.entry(older) + NEWER, newer);
        }
    }

    /// Frees the entry of a full set that was used the longest time ago.
    fn evict_page(&mut self, ends: &mut ListEnds) -> u64 {
        for _ in 0..=self.shape.dtlb.ways {
            let number = ends.oldest;
            let entry = self.entry(number);
            let stamp = self.last_use(entry);
            let newer = self.load(entry + NEWER);
            let older = self.load(entry + OLDER);
            self.link(ends, newer, older);
            if stamp <= self.load(entry + LISTED) {
                self.forget(entry);
                return number;
            }
            self.insert(ends, number, stamp);
        }
        // Each entry was brought up to date once: the last one is the oldest.
        let number = ends.oldest;
        let entry = self.entry(number);
        let newer = self.load(entry + NEWER);
        self.link(ends, newer, NONE);
        self.forget(entry);
        number
    }

    /// When a page was last used, lines in the table considered.
    fn last_use(&mut self, entry: u64) -> u64 {
        let mut stamp = self.load(entry + STAMP);
        self.for_lines(entry, |core, line| {
            let hit = core.hit::<false>(line);
            stamp = stamp.max(hit.unwrap_or(0));
            hit.is_some()
        });
        self.save(entry + STAMP, stamp);
        stamp
    }

    /// Takes a page out of the hash, and veils its lines in the table.
    fn forget(&mut self, entry: u64) {
        self.for_lines(entry, |core, line| {
            core.veil(line);
            false
        });
        let mut hole = Self::hash(self.load(entry + PAGE));
        while self.load(self.hash_at(hole)) != 0 {
            let number = self.load(self.hash_at(hole)) - 1;
            if self.entry(number) == entry {
                break;
            }
            hole += 1;
        }
        // Moves up what would no longer be found across the hole.
        let mut place = hole;
        loop {
            place += 1;
            let there = self.load(self.hash_at(place));
            let Some(number) = there.checked_sub(1) else { break };
            let home = Self::hash(self.load(self.entry(number) + PAGE));
            let mask = self.shape.page_hash;
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.save(self.hash_at(hole), there);
                hole = place;
            }
        }
        self.save(self.hash_at(hole), 0);
    }

    /// Calls `visit` with each line of a page that the table may have; those
    /// for which it says false are not visited again.
    #[inline(always)]
    fn for_lines(&mut self, entry: u64, mut visit: impl FnMut(&mut Self, u64) -> bool) {
        let page = self.load(entry + PAGE);
        let shift = page & 63;
        let start = page & !63;
        if shift == 12 {
            let mut left = self.load(entry + LINES);
            let mut kept = left;
            while left != 0 {
                let bit = u64::from(left.trailing_zeros());
                left &= left - 1;
                if !visit(self, start + (bit << 6)) {
                    kept &= !(1 << bit);
                }
            }
            self.save(entry + LINES, kept);
            return;
        }
        // A large page has more lines than the cache: look at those there.
        let level = self.shape.l1d;
        for set in 0..level.sets {
            for way in 0..level.ways {
                let line = self.load(level.start + set * level.ways * 2 + way) & !STATE;
                if line >> shift == start >> shift {
                    visit(self, line);
                }
            }
        }
    }
}
