//! Where the model is about to look: words that may be far from the host's
//! caches, for whoever can bring them near before they are asked for.

use super::order::LruOrder;
use super::quick::{FIRST, ORDERS};
use super::shape::{NEAR, QUICK_SETS};
use super::{Core, LevelShape, STATE, word};
use crate::block::{index, stamp_index};

impl Core<'_> {
    /// Such words for a line that [`Core::quick`] is to look up in a first
    /// level of so many ways, and to ask other threads for.
    #[inline(always)]
    pub fn ahead<'w, const WAYS: usize>(
        &'w self,
        common: &'w [u64],
        line: u64,
    ) -> [Option<&'w u64>; 6] {
        let number = line >> 6;
        let set = |level: &LevelShape| word(level.start + level.set(number) * level.ways);
        let listed = !self.is_owned(common, line);
        let sharers = common.get(self.sharers_at(line)).filter(|_| listed);
        let overflow_sharers = if listed { self.overflow_word(common, line) } else { None };
        let third = common.get(set(&self.shape.l3));
        let second = self.words.get(set(&self.shape.l2)).filter(|_| self.shape.l2.exists());
        let [key, stamp] = self.going::<WAYS>(word(number & (QUICK_SETS - 1)));
        [sharers, overflow_sharers, third, second, key, stamp]
    }

    /// What the table has of the line that has been longest in a set of the
    /// first level.
    #[inline(always)]
    fn going<const WAYS: usize>(&self, set: usize) -> [Option<&u64>; 2] {
        let Some(near) = self.words.first_chunk::<NEAR>() else { return [None; 2] };
        let order = LruOrder::of(near.get(ORDERS + set).copied().unwrap_or(0), WAYS);
        let entry = near.get(FIRST + set * 2 * WAYS + order.first()).copied().unwrap_or(0);
        let place = index(entry & !STATE);
        [self.tables.loads.get(place), self.tables.load_stamps.get(stamp_index(place))]
    }
}
