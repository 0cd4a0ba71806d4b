//! Which threads may have a line: a table that knows lines by their address,
//! so that what one look finds untrue is not looked for again.
//!
//! A thread enters itself when it brings a line in, and is struck out when
//! it is asked for the line and has it no more. So a miss asks as many others
//! as have brought lines in before, on average, however many threads there
//! are. A line that finds no room among those that threads have goes to a
//! table of bits by hash, which forgets nothing.

use super::{Core, LINE, Uncore, word};

/// Lines of a set: as many words for a line and its threads' bits as fit in
/// one line of the host's.
const WAYS: usize = 4;
/// Words of a set.
const WORDS: usize = 2 * WAYS;
const SETS: u64 = 1 << 17;
/// Bits by hash.
const OVERFLOW: u64 = 1 << 16;
/// Words of both tables, and of one behind them: not 0 when the second has any.
pub(super) const DIRECTORY: u64 = SETS * 8 + OVERFLOW + 8;
/// More threads than these are not asked whether a line may be forgotten.
const MAX_ASKED: u32 = 4;

/// Who may have a line: bits of threads by their numbers modulo 64.
#[derive(Clone, Copy)]
pub(super) struct Sharers {
    at: usize,
    /// Those that are struck out when they have it not.
    pub(super) listed: u64,
    /// Those that may have it for all that is known.
    pub(super) others: u64,
    /// Bit of the one that brought it in last.
    pub(super) latest: u64,
}

fn hash(line: u64) -> u64 {
    (line >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

impl Core<'_> {
    pub(super) fn sharers(&self, uncore: &mut impl Uncore, line: u64) -> Sharers {
        let start = self.sharers_at(line);
        let others = self.overflow_sharers(uncore.common(), line) | uncore.unlisted();
        let none = Sharers { at: usize::MAX, listed: 0, others, latest: 0 };
        let found = uncore.common().get(start..).and_then(|words| words.first_chunk::<WORDS>());
        let Some(&words) = found else { return none };
        let entries = words.as_chunks::<2>().0;
        let Some(way) = entries.iter().position(|entry| entry[0] & !63 == line) else {
            let way = self.room(uncore, entries, start / WORDS);
            return Sharers { at: start + 2 * way, ..none };
        };
        let [of, listed] = entries.get(way).copied().unwrap_or_default();
        Sharers { at: start + 2 * way, listed, others: others & !listed, latest: 1 << (of & 63) }
    }

    /// First word of a line's set. Neighbours are in one, so that what a
    /// program has side by side is so here, too.
    #[inline(always)]
    pub(super) fn sharers_at(&self, line: u64) -> usize {
        let set = (line >> 8 ^ hash(line >> 20) >> 8) & (SETS - 1);
        word(self.shape.directory + set * 8)
    }

    /// Bits of those that may have a line whose entry went.
    #[inline(always)]
    fn overflow_sharers(&self, common: &[u64], line: u64) -> u64 {
        self.overflow_word(common, line).copied().unwrap_or(0)
    }

    /// The word that has them, if any such word is in use.
    #[inline(always)]
    pub(super) fn overflow_word<'w>(&self, common: &'w [u64], line: u64) -> Option<&'w u64> {
        let used = common.get(word(self.shape.directory + SETS * 8 + OVERFLOW));
        if used == Some(&0) {
            return None;
        }
        common.get(self.overflow(line))
    }

    /// Whether lines of a page may be anybody's, for all that is listed.
    pub(super) fn lists_any(&self, uncore: &mut impl Uncore, page: u64) -> bool {
        (0..64).map(|number| page + number * LINE).any(|line| {
            let from = self.sharers_at(line);
            let common = uncore.common();
            let words = common.get(from..).and_then(|words| words.first_chunk::<WORDS>());
            let entries = words.map_or(&[][..], |words| words.as_chunks::<2>().0);
            entries.iter().any(|[of, bits]| of & !63 == line && *bits != 0)
                || self.overflow_sharers(common, line) != 0
        })
    }

    fn overflow(&self, line: u64) -> usize {
        word(self.shape.directory + SETS * 8 + (hash(line) & (OVERFLOW - 1)))
    }

    /// A way of a set for a line that is not there: free, or of a line that no
    /// thread has any more, or one whose threads are remembered by hash.
    fn room(&self, uncore: &mut impl Uncore, entries: &[[u64; 2]], set: usize) -> usize {
        if let Some(free) = entries.iter().position(|entry| entry[1] == 0) {
            return free;
        }
        for (way, &[of, bits]) in entries.iter().enumerate() {
            let line = of & !63;
            if bits.count_ones() > MAX_ASKED || self.has(line) {
                continue;
            }
            let mut there = false;
            uncore.each(bits, |other| {
                there = other.has(line);
                !there
            });
            if !there {
                return way;
            }
        }
        let way = set / WAYS % WAYS;
        let [of, bits] = entries.get(way).copied().unwrap_or_default();
        let used = word(self.shape.directory + SETS * 8 + OVERFLOW);
        for (at, bits) in [(self.overflow(of & !63), bits), (used, 1)] {
            if let Some(place) = uncore.common().get_mut(at) {
                *place |= bits;
            }
        }
        way
    }

    /// Lists a thread, by its number modulo 64, and those that have the line
    /// still.
    pub(super) fn list_sharers(uncore: &mut impl Uncore, line: u64, sharers: Sharers, thread: u64) {
        let words = uncore.common().get_mut(sharers.at..);
        if let Some([of, bits]) = words.and_then(|words| words.first_chunk_mut::<2>()) {
            *of = line | thread;
            *bits = sharers.listed | 1 << thread;
        }
    }

    pub(super) fn has(&self, line: u64) -> bool {
        self.find::<false>(line).is_some()
            || self.find::<true>(line).is_some()
            || self.find_in_second(line).is_some()
    }
}
