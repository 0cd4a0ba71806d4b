//! How often each address came.

use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;

/// Addresses for which a counter each is set aside. Counters that are never
/// used take no memory: the system gives zeroed pages when they are touched.
const MOST_DENSE: u64 = 64 << 20;
/// Routines further apart than this get blocks of their own.
const GAP: u64 = 1 << 20;

/// A counter per address: in a plain array over the kernel's text, in a hash
/// table elsewhere.
#[derive(Debug)]
pub(super) struct Counts {
    blocks: Vec<Block>,
    sparse: FxHashMap<u64, u64>,
}

#[derive(Debug)]
struct Block {
    first: u64,
    counters: Vec<u32>,
    /// How often a counter went round.
    rounds: FxHashMap<usize, u64>,
}

impl Counts {
    /// `dense`: where most addresses will lie, sorted.
    pub(super) fn new(dense: impl Iterator<Item = Range<u64>>) -> Counts {
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in dense.filter(|range| range.start < range.end) {
            match merged.last_mut() {
                Some(last)
                    if range.start >= last.start && range.start.saturating_sub(last.end) < GAP =>
                {
                    last.end = last.end.max(range.end);
                }
                _ => merged.push(range),
            }
        }
        merged.sort_by_key(|range| Reverse(range.end - range.start));
        let mut left = MOST_DENSE;
        let blocks = merged.into_iter().filter_map(|range| {
            let size = range.end - range.start;
            left = left.checked_sub(size)?;
            let counters = vec![0; usize::try_from(size).ok()?];
            Some(Block { first: range.start, counters, rounds: FxHashMap::default() })
        });
        Counts { blocks: blocks.collect(), sparse: FxHashMap::default() }
    }

    pub(super) fn add_all(&mut self, addresses: &[u64]) {
        let Some((block, others)) = self.blocks.split_first_mut() else {
            addresses.iter().for_each(|&address| *self.sparse.entry(address).or_default() += 1);
            return;
        };
        for &address in addresses {
            if !block.add(address) && !others.iter_mut().any(|other| other.add(address)) {
                *self.sparse.entry(address).or_default() += 1;
            }
        }
    }

    /// Every address that came, in order, and how often.
    pub(super) fn into_sorted(self) -> Vec<(u64, u64)> {
        let mut all: Vec<(u64, u64)> = self.sparse.into_iter().collect();
        for Block { first, counters, rounds } in self.blocks {
            let counted = (first..).zip(counters).enumerate();
            all.extend(counted.filter_map(|(index, (address, counter))| {
                let rounds = match rounds.is_empty() {
                    true => 0,
                    false => rounds.get(&index).copied().unwrap_or_default(),
                };
                let count = (rounds << 32) + u64::from(counter);
                (count != 0).then_some((address, count))
            }));
        }
        all.sort_unstable();
        all
    }
}

impl Block {
    #[inline]
    fn add(&mut self, address: u64) -> bool {
        let index = usize::try_from(address.wrapping_sub(self.first)).unwrap_or(usize::MAX);
        match self.counters.get_mut(index) {
            None => false,
            Some(counter) => {
                *counter = counter.wrapping_add(1);
                if *counter == 0 {
                    *self.rounds.entry(index).or_default() += 1;
                }
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        // Each case may walk through millions of counters.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn equals_a_map(
            ranges in prop::collection::vec((0_u64..1 << 23, 0_u64..1 << 21), 0..4),
            addresses in prop::collection::vec(prop_oneof![0_u64..1 << 24, 0_u64..64, any::<u64>()], 0..200),
        ) {
            let mut ranges: Vec<_> = ranges.iter().map(|&(start, size)| start..start + size).collect();
            ranges.sort_by_key(|range| range.start);
            let mut counts = Counts::new(ranges.into_iter());
            counts.add_all(&addresses);
            counts.add_all(&addresses);
            let mut map = BTreeMap::new();
            addresses.iter().for_each(|&address| *map.entry(address).or_insert(0) += 2);
            prop_assert_eq!(counts.into_sorted(), map.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_counter_that_goes_round_is_counted() {
        let mut counts = Counts::new(std::iter::once(16..32));
        counts.blocks[0].counters[4] = u32::MAX;
        counts.add_all(&[20, 20, 21]);
        assert_eq!(counts.into_sorted(), [(20, (1 << 32) + 1), (21, 1)]);
    }
}
