//! Blocks that were told of and live: a set of addresses without locks, of a fixed size.
//!
//! Each call of free(3) asks it, nearly always for a block that is not in it: a filter that fits in
//! the first cache answers then.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Addresses that there is room for; a power of two.
const PLACES: usize = 1 << 18;
/// Places that an address may be in, from its own on.
const REACH: usize = 16;
const FILTER: usize = 1 << 13;

/// A set of addresses of blocks, none of which is 0. The filter is at its start: `sys::hooks` looks
/// at it by itself.
#[repr(C)]
pub(crate) struct LiveBlocks {
    /// How many addresses there are of each part of all; 255: so many that nobody counts.
    filter: [AtomicU8; FILTER],
    places: [AtomicU64; PLACES],
}

/// What a block's address, by 16, is multiplied by.
pub(crate) const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// How far the product is shifted to the right to be a place in the filter.
pub(crate) const FILTER_SHIFT: u32 = u64::BITS - FILTER.trailing_zeros();

impl LiveBlocks {
    pub(crate) const fn new() -> LiveBlocks {
        LiveBlocks {
            filter: [const { AtomicU8::new(0) }; FILTER],
            places: [const { AtomicU64::new(0) }; PLACES],
        }
    }

    /// Whether the block may be in it, as `sys::hooks` asks; false: it is not.
    #[cfg(test)]
    pub(crate) fn may_hold(&self, block: u64) -> bool {
        let part = self.filter.get(part(block));
        part.is_some_and(|part| part.load(Ordering::Relaxed) != 0)
    }

    /// Takes in a block; false: there is no room.
    pub(crate) fn insert(&self, block: u64) -> bool {
        self.count(block, |count| count.saturating_add(1));
        let exchanged = |place: &AtomicU64| {
            place.compare_exchange(0, block, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let taken = self.reach(block).any(exchanged);
        if !taken {
            self.count(block, |count| count.saturating_sub(1));
        }
        taken
    }

    /// Takes a block out; false: it was not in it.
    pub(crate) fn remove(&self, block: u64) -> bool {
        let exchanged = |place: &AtomicU64| {
            place.load(Ordering::Relaxed) == block
                && place.compare_exchange(block, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let taken = self.reach(block).any(exchanged);
        if taken {
            self.count(block, |count| count.saturating_sub(1));
        }
        taken
    }

    /// From now on the filter says of the block that it may be in it, for good.
    pub(crate) fn mark(&self, block: u64) {
        if let Some(part) = self.filter.get(part(block)) {
            part.store(u8::MAX, Ordering::Relaxed);
        }
    }

    pub(crate) fn mark_all(&self) {
        self.filter.iter().for_each(|part| part.store(u8::MAX, Ordering::Relaxed));
    }

    fn reach(&self, block: u64) -> impl Iterator<Item = &AtomicU64> {
        let first = usize::try_from(hash(block) >> 20).unwrap_or(0);
        (0..REACH).filter_map(move |step| self.places.get(first.wrapping_add(step) % PLACES))
    }

    /// A count that has come to 255 stays there.
    fn count(&self, block: u64, change: fn(u8) -> u8) {
        let Some(part) = self.filter.get(part(block)) else { return };
        let changed = |count: u8| (count != u8::MAX).then(|| change(count));
        let _stays = part.fetch_update(Ordering::AcqRel, Ordering::Relaxed, changed);
    }
}

/// Blocks are aligned to 16 bytes, and neighbours are alike.
#[inline]
fn hash(block: u64) -> u64 {
    (block >> 4).wrapping_mul(FACTOR)
}

/// The highest bits, which depend on all of the address.
#[inline]
fn part(block: u64) -> usize {
    usize::try_from(hash(block) >> FILTER_SHIFT).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_in_is_in_it_until_it_is_taken_out() {
        static LIVE: LiveBlocks = LiveBlocks::new();
        let blocks: Vec<u64> =
            (1..20_000u64).map(|number| 0x5555_0000_0000 + number * 48).collect();
        for block in &blocks {
            assert!(!LIVE.remove(*block), "{block:#x}");
            assert!(LIVE.insert(*block), "{block:#x}");
            assert!(LIVE.may_hold(*block));
        }
        for block in &blocks {
            assert!(LIVE.may_hold(*block) && LIVE.remove(*block), "{block:#x}");
            assert!(!LIVE.remove(*block), "{block:#x}");
        }
        assert!(blocks.iter().all(|block| !LIVE.may_hold(*block)), "no count has come to 255");
    }

    #[test]
    fn what_is_marked_is_looked_at_for_good() {
        static LIVE: LiveBlocks = LiveBlocks::new();
        LIVE.mark(48);
        assert!(LIVE.may_hold(48) && !LIVE.remove(48));
        assert!(LIVE.insert(48) && LIVE.remove(48) && LIVE.may_hold(48));
        LIVE.mark_all();
        assert!((1..9000u64).all(|number| LIVE.may_hold(number * 16)));
    }

    #[test]
    fn what_has_no_room_is_refused() {
        static LIVE: LiveBlocks = LiveBlocks::new();
        let alike = |number: u64| hash(number * 16) >> 20;
        let mut blocks = (1..40_000_000u64)
            .filter(|number| alike(*number) % (PLACES as u64) == 5)
            .map(|number| number * 16);
        let taken = blocks.by_ref().take_while(|block| LIVE.insert(*block)).count();
        assert_eq!(taken, REACH);
        assert!(blocks.next().is_some_and(|block| !LIVE.insert(block)));
    }
}
