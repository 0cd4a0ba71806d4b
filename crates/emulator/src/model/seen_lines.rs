//! Which lines a shadow has ever had: two bits a line, those of a page in one
//! entry of a table by hash.

use super::word;

/// Entries of the table: a page each, so that more than 3 GiB find room.
const ENTRIES: u64 = 1 << 20;
/// Words of an entry: the page, a bit for each of its lines that came, a bit for
/// each that another thread took, and nothing.
const ENTRY: usize = 4;
/// Words of it all, with one in front that counts entries in use.
pub(super) const WORDS: u64 = ENTRIES * ENTRY as u64 + 8;
/// Entries that are used at most: beyond that a search takes long.
const MAX_WAYS: u64 = ENTRIES / 8 * 7;
/// Marks an entry in use, in bits that a page's address leaves free.
const USED: u64 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineHistory {
    New,
    /// It was, and the level lost it to another thread last.
    Taken,
    Known,
    /// The table is full, and has no entry for its page.
    Forgotten,
}

pub(super) struct SeenLines<'w> {
    used: &'w mut u64,
    entries: &'w mut [[u64; ENTRY]],
}

impl<'w> SeenLines<'w> {
    /// In words of which the first [`WORDS`] are its own.
    pub(super) fn new(words: &'w mut [u64]) -> Option<SeenLines<'w>> {
        let (head, rest) = words.split_first_chunk_mut::<8>()?;
        let entries = rest.get_mut(..word(ENTRIES) * ENTRY)?.as_chunks_mut().0;
        Some(SeenLines { used: head.first_mut()?, entries })
    }

    pub(super) fn enter(&mut self, line: u64) -> LineHistory {
        let bit = 1 << (line >> 6 & 63);
        let full = *self.used >= MAX_WAYS;
        let Some(entry) = self.entry(line) else { return LineHistory::Forgotten };
        let [page, seen, taken, _] = entry;
        let mut history = LineHistory::Known;
        let mut fresh = false;
        if *page == 0 {
            if full {
                return LineHistory::Forgotten;
            }
            *page = page_of(line);
            fresh = true;
        }
        if *seen & bit == 0 {
            history = LineHistory::New;
        } else if *taken & bit != 0 {
            history = LineHistory::Taken;
        }
        *seen |= bit;
        *taken &= !bit;
        *self.used += u64::from(fresh);
        history
    }

    /// Another thread takes a line.
    pub(super) fn take(&mut self, line: u64) {
        if let Some([page, _, taken, _]) = self.entry(line)
            && *page != 0
        {
            *taken |= 1 << (line >> 6 & 63);
        }
    }

    /// The entry of a line's page, or the free one that it would have.
    fn entry(&mut self, line: u64) -> Option<&mut [u64; ENTRY]> {
        let own = page_of(line);
        let mask = word(ENTRIES - 1);
        let mut at = word((line >> 12).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) & mask;
        loop {
            let &[page, ..] = self.entries.get(at)?;
            if page == own || page == 0 {
                return self.entries.get_mut(at);
            }
            // Some are free always.
            at = (at + 1) & mask;
        }
    }
}

fn page_of(line: u64) -> u64 {
    line & !0xfff | USED
}
