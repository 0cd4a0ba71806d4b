//! The commonest way through the model: a thread misses the first level with a line whose place in the table is free. The same as
//! [`Core::plain`](super::Core::plain) does, with less to carry; a test
//! compares both.
//!
//! It is for first levels of 64 sets and 8 or 12 ways, which all x86 cores of
//! these years have, and not where each access must be seen: see
//! [`Shape::quick`](super::Shape::quick).

use super::first::which;
use super::order::LruOrder;
use super::outcome::{AccessOutcome, Events, LineSource, TranslationSource};
use super::pages::NO_PAGE;
use super::shape::{NEAR, QUICK_SETS};
use super::stack::{of, to_front};
use super::uncore::Uncore;
use super::{Core, DataAccess, EXCLUSIVE, LINE, MODIFIED, STATE, word};
use crate::block::{NO_LINE, index, key, names, stamp_index, veiled};

const SECOND: AccessOutcome =
    AccessOutcome::new(Events::L1_MISS, LineSource::Second, TranslationSource::Unknown);
const THIRD: AccessOutcome = AccessOutcome::new(
    Events(Events::L1_MISS.0 | Events::L2_MISS.0),
    LineSource::Third,
    TranslationSource::Unknown,
);
const MEMORY: AccessOutcome = AccessOutcome::new(
    Events(Events::L1_MISS.0 | Events::L2_MISS.0 | Events::L3_MISS.0),
    LineSource::Memory,
    TranslationSource::Unknown,
);

/// Where the words of order begin, and the sets: the first level is the first
/// of the structures.
pub(super) const ORDERS: usize = 8;
pub(super) const FIRST: usize = 8 + 64;

impl Core<'_> {
    /// Looks up the one line of an access if all is as said above, in a first
    /// level of so many ways; None when not, and nothing is changed then but
    /// what the model knows of the order of the set.
    #[inline(always)]
    pub fn quick<const WAYS: usize, const TLB: bool>(
        &mut self,
        uncore: &mut impl Uncore,
        access: DataAccess,
    ) -> Option<AccessOutcome> {
        let line = access.address & !(LINE - 1);
        let number = line >> 6;
        let at = index(line);
        let set = word(number & (QUICK_SETS - 1));
        let from = FIRST + set * 2 * WAYS;
        let near = self.words.first_chunk::<NEAR>()?;
        let found = *self.tables.loads.get(at)?;
        if TLB && found == veiled(line) {
            return self.bring_back(at, line, access);
        }
        if found != NO_LINE
            || near.first() != Some(&0)
                && which(near.get(from..)?.first_chunk::<WAYS>()?, line).is_some()
        {
            return None;
        }
        let (of_page, page) =
            if TLB { self.translated(line, access) } else { (AccessOutcome::default(), NO_PAGE) };
        let (mut outcome, entry) = self.beyond(uncore, line, access.write);
        if !access.read {
            outcome = outcome.without(Events::HIT_MODIFIED);
        }
        self.replace::<WAYS, TLB>(set, entry, access.stamp)?;
        *self.tables.loads.get_mut(at)? = key(line);
        // Its stamp in there is older than the one it has now: as good as none.
        if entry & STATE == MODIFIED {
            *self.tables.stores.get_mut(at)? = key(line);
        }
        if TLB {
            self.page_shows(page, line);
            return Some(outcome.join(of_page));
        }
        Some(outcome)
    }

    /// A line that is in the first level, whose page may be in no TLB; None
    /// where a store is the first one to it.
    #[inline(always)]
    fn bring_back(&mut self, at: usize, line: u64, access: DataAccess) -> Option<AccessOutcome> {
        if access.write && *self.tables.stores.get(at)? != veiled(line) {
            return None;
        }
        let (outcome, page) = self.translated(line, access);
        self.unveil(at, line);
        *self.tables.load_stamps.get_mut(stamp_index(at))? = access.stamp;
        self.page_shows(page, line);
        Some(outcome)
    }

    /// What came of the page of an access, and its entry.
    #[inline(always)]
    fn translated(&mut self, line: u64, access: DataAccess) -> (AccessOutcome, u64) {
        let (outcome, page) = self.translate(line, access.stamp);
        let other = if access.write { Events::DTLB_LOAD_MISS } else { Events::DTLB_STORE_MISS };
        (outcome.without(other), page)
    }

    /// Brings a line from beyond the first level, as [`Core::outer`] does.
    #[inline(always)]
    fn beyond(&mut self, uncore: &mut impl Uncore, line: u64, write: bool) -> (AccessOutcome, u64) {
        if uncore.has_other_cores() {
            let (outcome, state) = self.outer(uncore, line, write);
            return (outcome, line | state);
        }
        let entry = line | if write { MODIFIED } else { EXCLUSIVE };
        if let Some(set) = of(self.words, &self.shape.l2, line >> 6) {
            let was = to_front(set, entry, |here| super::is(here, line));
            if was != 0 {
                let entry = if write { entry } else { was };
                if let Some(first) = set.first_mut() {
                    *first = entry;
                }
                return (SECOND, entry);
            }
        }
        (if self.third(uncore.common(), line) { THIRD } else { MEMORY }, entry)
    }

    /// Puts a line into the place of the one of its set that was used the
    /// longest time ago, as [`Core::install`] does.
    #[inline(always)]
    fn replace<const WAYS: usize, const TLB: bool>(
        &mut self,
        set: usize,
        new: u64,
        stamp: u64,
    ) -> Option<()> {
        let from = FIRST + set * 2 * WAYS;
        let near = self.words.first_chunk_mut::<NEAR>()?;
        let mut order = LruOrder::of(*near.get(ORDERS + set)?, WAYS);
        let mut slot = from + order.first();
        let mut gone = *near.get(slot)?;
        let mut place = index(gone);
        let listed = |found: &u64| {
            if TLB { names(*found, gone & !STATE) } else { *found == key(gone & !STATE) }
        };
        let mut shown = self.tables.loads.get(place).is_some_and(listed);
        let hit = *self.tables.load_stamps.get(stamp_index(place))?;
        // Mostly it was not hit since the next one came.
        if shown && hit > *near.get(from + WAYS + order.second())? {
            slot = self.victim::<false>(new & !STATE).0 & (NEAR - 1);
            let near = self.words.first_chunk_mut::<NEAR>()?;
            order = LruOrder::of(*near.get(ORDERS + set)?, WAYS);
            gone = *near.get(slot)?;
            place = index(gone);
            shown = self.is_shown(gone & !STATE);
        } else if TLB && shown && hit > *near.get(slot + WAYS)? {
            self.page_used(gone & !STATE, hit);
        }
        let near = self.words.first_chunk_mut::<NEAR>()?;
        *near.get_mut(ORDERS + set)? = order.rotated(WAYS).word(WAYS);
        *near.get_mut(slot)? = new;
        *near.get_mut(slot + WAYS)? = stamp;
        if gone == 0 {
            return Some(());
        }
        if !shown {
            self.count_hidden(-1);
            return Some(());
        }
        *self.tables.loads.get_mut(place)? = NO_LINE;
        // Stores write unseen only to what is modified.
        if gone & STATE == MODIFIED {
            *self.tables.stores.get_mut(place)? = NO_LINE;
        }
        Some(())
    }
}
