//! The commonest way through the model: a thread that is alone misses the
//! first level with a line whose place in the table is free. The same as
//! [`Core::plain`](super::Core::plain) does, with less to carry; a test
//! compares both.

use super::first::{least, which};
use super::outcome::{Events, Outcome, Served, Translated};
use super::pages::NO_PAGE;
use super::stack::{of, to_front};
use super::{Access, Core, EXCLUSIVE, LINE, MODIFIED, STATE, word};
use crate::block::{NO_LINE, index, key, stamp_index};

const SECOND: Outcome = Outcome::new(Events::L1_MISS, Served::Second, Translated::Unknown);
const THIRD: Outcome =
    Outcome::new(Events(Events::L1_MISS.0 | Events::L2_MISS.0), Served::Third, Translated::Unknown);
const MEMORY: Outcome = Outcome::new(
    Events(Events::L1_MISS.0 | Events::L2_MISS.0 | Events::L3_MISS.0),
    Served::Memory,
    Translated::Unknown,
);

impl Core<'_> {
    /// Looks up the one line of an access if all is as said above, in a first
    /// level of so many ways; None when not, and nothing is changed then.
    #[inline(always)]
    pub fn quick<const WAYS: usize, const TLB: bool>(
        &mut self,
        common: &mut [u64],
        access: Access,
    ) -> Option<Outcome> {
        let line = access.address & !(LINE - 1);
        let number = line >> 6;
        let shape = self.shape;
        let at = index(line);
        let level = &shape.l1d;
        let from = word(level.start + level.set(number) * (2 * level.ways));
        let tags = self.words.get(from..)?.first_chunk::<WAYS>()?;
        let hidden = self.words.first()?;
        if self.tables.loads.get(at) != Some(&NO_LINE)
            || *hidden != 0 && which(tags, line).is_some()
        {
            return None;
        }
        // The way used the longest time ago, as Core::install finds it: first
        // of all, since the rest can go on while the host fetches its words.
        let mut slot = from;
        for turn in 0..=WAYS {
            let (tags, rest) = self.words.get_mut(from..)?.split_first_chunk_mut::<WAYS>()?;
            let stamps = rest.first_chunk_mut::<WAYS>()?;
            let oldest = least(stamps);
            let (way, stamp) = (word(oldest & 0xff), oldest >> 8);
            let tag = *tags.get(way)?;
            let gone = tag & !STATE;
            let place = index(gone);
            let shown = tag != 0 && self.tables.loads.get(place) == Some(&key(gone));
            let hit = if shown { *self.tables.load_stamps.get(stamp_index(place))? } else { 0 };
            if hit > stamp && turn < WAYS {
                *stamps.get_mut(way)? = hit;
                if TLB {
                    self.page_used(gone, hit);
                }
                continue;
            }
            slot = from + way;
            if shown {
                *self.tables.loads.get_mut(place)? = NO_LINE;
                *self.tables.stores.get_mut(place)? = NO_LINE;
            } else if tag != 0 {
                self.count_hidden(-1);
            }
            break;
        }
        let (of_page, page) = if TLB {
            let (outcome, page) = self.translate(line, access.stamp);
            let other = if access.write { Events::DTLB_LOAD_MISS } else { Events::DTLB_STORE_MISS };
            (outcome.without(other), page)
        } else {
            (Outcome::default(), NO_PAGE)
        };
        let mut state = if access.write { MODIFIED } else { EXCLUSIVE };
        let mut was = 0;
        if let Some(set) = of(self.words, &shape.l2, number) {
            was = to_front(set, line | state, |here| super::is(here, line));
            if !access.write && was != 0 {
                state = was & STATE;
                if let Some(first) = set.first_mut() {
                    *first = line | state;
                }
            }
        }
        let outcome = if was != 0 {
            SECOND
        } else if self.third(common, line) {
            THIRD
        } else {
            MEMORY
        };
        *self.words.get_mut(slot)? = line | state;
        *self.words.get_mut(slot + WAYS)? = access.stamp;
        *self.tables.loads.get_mut(at)? = key(line);
        *self.tables.load_stamps.get_mut(stamp_index(at))? = access.stamp;
        if state == MODIFIED {
            *self.tables.stores.get_mut(at)? = key(line);
        }
        if TLB {
            self.page_shows(page, line);
        }
        Some(outcome.join(of_page))
    }
}
