//! Latencies of many accesses in little memory.

use std::collections::BTreeMap;

/// Latencies below this are kept as they are; longer ones with as many leading
/// bits, so that less than 0.1 per cent of them is lost.
const EXACT: u64 = 1 << LEADING;
const LEADING: u32 = 11;
/// Steps between two powers of two.
const STEPS: u64 = EXACT / 2;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Distribution {
    /// By number of the step, ascending.
    counts: Vec<(u16, u64)>,
    /// Sum of the latencies, as they were.
    cycles: u64,
    total: u64,
}

impl Distribution {
    #[inline]
    pub(crate) fn add(&mut self, latency: u64) {
        let step = step(latency);
        match self.counts.binary_search_by_key(&step, |(step, _)| *step) {
            Ok(index) => self.counts[index].1 += 1,
            Err(index) => self.counts.insert(index, (step, 1)),
        }
        self.cycles = self.cycles.saturating_add(latency);
        self.total += 1;
    }

    pub(crate) fn sum<'d>(several: impl Iterator<Item = &'d Distribution>) -> Distribution {
        let (mut counts, mut all) = (BTreeMap::new(), Distribution::default());
        for one in several {
            for (step, count) in &one.counts {
                *counts.entry(*step).or_default() += count;
            }
            all.cycles = all.cycles.saturating_add(one.cycles);
            all.total += one.total;
        }
        Distribution { counts: counts.into_iter().collect(), ..all }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Sum of the latencies, cycles.
    pub(crate) fn cycles(&self) -> u64 {
        self.cycles
    }

    /// The least latency that so many per cent of the accesses do not exceed
    /// (nearest rank); 0 of none.
    pub(crate) fn quantile(&self, percent: u64) -> u64 {
        let rank = (u128::from(self.total) * u128::from(percent)).div_ceil(100).max(1);
        let mut below = 0_u128;
        let reached = self.counts.iter().find(|(_, count)| {
            below += u128::from(*count);
            below >= rank
        });
        reached.map_or(0, |(step, _)| least(*step))
    }
}

fn step(latency: u64) -> u16 {
    let shift = (u64::BITS - latency.leading_zeros()).saturating_sub(LEADING);
    // At most 53 shifts of 1024 steps, and 2048 before.
    u16::try_from(u64::from(shift) * STEPS + (latency >> shift)).unwrap_or(u16::MAX)
}

fn least(step: u16) -> u64 {
    match u64::from(step) {
        exact @ 0..EXACT => exact,
        step => {
            let shift = step / STEPS - 1;
            (step - shift * STEPS) << shift
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    fn distribution(latencies: &[u64]) -> Distribution {
        let mut all = Distribution::default();
        latencies.iter().for_each(|latency| all.add(*latency));
        all
    }

    proptest! {
        #[test]
        fn a_step_loses_less_than_a_thousandth(latency: u64, shift in 0u32..64) {
            let latency = latency >> shift;
            let kept = least(step(latency));
            prop_assert!(kept <= latency);
            prop_assert!(latency - kept <= latency / 1000);
            prop_assert!(latency >= EXACT || kept == latency);
        }

        #[test]
        fn steps_ascend(latency: u64, shift in 0u32..64) {
            let latency = latency >> shift;
            prop_assert!(step(latency) <= step(latency.saturating_add(1)));
        }

        /// Against the definition, on the sorted list of all.
        #[test]
        fn quantiles_are_of_nearest_rank(
            latencies in prop::collection::vec(0u64..EXACT, 1..300),
            percent in 1u64..=100,
            cut in 0usize..300,
        ) {
            let mut sorted = latencies.clone();
            sorted.sort_unstable();
            let rank = (sorted.len() * usize::try_from(percent).unwrap()).div_ceil(100);
            let all = distribution(&latencies);
            prop_assert_eq!(all.quantile(percent), sorted[rank - 1]);
            prop_assert_eq!(all.cycles(), latencies.iter().sum::<u64>());
            prop_assert_eq!(all.total(), latencies.len() as u64);
            let (one, other) = latencies.split_at(cut.min(latencies.len()));
            let parts = [distribution(one), distribution(other)];
            prop_assert_eq!(Distribution::sum(parts.iter()), all);
        }
    }

    #[test]
    fn the_ends_fit() {
        assert_eq!(distribution(&[]).quantile(50), 0);
        assert_eq!((least(step(u64::MAX)), step(u64::MAX)), (0x7ff << 53, 56_319));
        assert_eq!([2047, 2048, 2049, 2050].map(|it| least(step(it))), [2047, 2048, 2048, 2050]);
    }
}
