//! Pages whose lines one thread alone may have: nobody need be asked for
//! them, and nobody is listed. Stacks are such, and most of heaps.
//!
//! A page is a thread's from its first line on, if its place in the table is
//! free and no line of it is listed. Another thread that wants a line of it
//! becomes its owner when the first one has no more of it; else the lines
//! that are there are listed, and the page, with all others of its place, is
//! looked up line by line for ever.

use super::{Core, LINE, Uncore, word};

/// Words of the table: an owner's number in the low bits of a page's address,
/// 0 for none.
pub(super) const OWNERS: u64 = 1 << 15;
/// Of a place whose pages' lines are listed.
const LISTED: u64 = u64::MAX;
/// Bits of an address within a page.
const WITHIN: u64 = 0xfff;

impl Core<'_> {
    #[inline(always)]
    fn owner_at(&self, line: u64) -> usize {
        let page = line >> 12;
        word(self.shape.owners + ((page ^ page >> 15) & (OWNERS - 1)))
    }

    /// Whether a page has an owner, so that lists will not be asked for.
    #[inline(always)]
    pub(super) fn is_owned(&self, common: &[u64], line: u64) -> bool {
        common.get(self.owner_at(line)).is_some_and(|entry| (entry ^ line) & !WITHIN == 0)
    }

    /// Whether no other thread may have a line of a page, now that this one
    /// is to have one.
    #[inline(always)]
    pub(super) fn owns(&self, uncore: &mut impl Uncore, line: u64) -> bool {
        let at = self.owner_at(line);
        let own = line & !WITHIN | uncore.number();
        match uncore.common().get(at) {
            // Who has been alone has lines that nobody knows of.
            Some(&entry) if entry == own => uncore.unlisted() == 0,
            Some(&LISTED) | None => false,
            Some(&entry) => self.take_page(uncore, at, entry, own),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_page(&self, uncore: &mut impl Uncore, at: usize, entry: u64, own: u64) -> bool {
        let known = uncore.unlisted() == 0;
        let page = own & !WITHIN;
        let free = if entry == 0 {
            if !known {
                return false;
            }
            !self.lists_any(uncore, page)
        } else if (entry ^ own) & !WITHIN == 0 {
            !self.list_owned(uncore, page, entry & WITHIN) && known
        } else {
            return false;
        };
        if let Some(place) = uncore.common().get_mut(at) {
            *place = if free { own } else { LISTED };
        }
        free
    }

    /// Lists the lines of a page that its owner has, and says whether there
    /// are any.
    fn list_owned(&self, uncore: &mut impl Uncore, page: u64, owner: u64) -> bool {
        let mut held = 0_u64;
        uncore.each(1 << (owner & 63), |other| {
            let has = |number: &u64| other.has(page + number * LINE);
            held |= (0..64).filter(has).fold(0, |lines, number| lines | 1 << number);
            true
        });
        for number in (0..64).filter(|number| held >> number & 1 != 0) {
            let line = page + number * LINE;
            let sharers = self.sharers(uncore, line);
            Core::list_sharers(uncore, line, sharers, owner & 63);
        }
        held != 0
    }
}
