//! Stacks of one event in the order of samples, as far as there is room.

use analysis::StackId;
use rustc_hash::FxHashMap;

/// Samples in order that are kept, 16 bytes each.
const MOST_SAMPLES: usize = 1 << 21;

/// Stacks with their weights.
#[derive(Debug, Default)]
pub(super) struct SampledProfile {
    samples: Vec<(StackId, u64)>,
    /// Those that there was no room for, by stack.
    others: FxHashMap<StackId, u64>,
    total: u64,
}

impl SampledProfile {
    /// Adds a sample; it joins the one before if their stacks are one.
    pub(super) fn add(&mut self, stack: StackId, weight: u64) {
        self.total = self.total.saturating_add(weight);
        if self.samples.len() >= MOST_SAMPLES {
            let sum = self.others.entry(stack).or_default();
            *sum = sum.saturating_add(weight);
            return;
        }
        match self.samples.last_mut() {
            Some((last, sum)) if *last == stack => *sum = sum.saturating_add(weight),
            _ => self.samples.push((stack, weight)),
        }
    }

    /// The sum of all weights.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// All of them; those that there was no room for behind the others, one a stack.
    pub(super) fn samples(&self) -> impl Iterator<Item = (StackId, u64)> + '_ {
        let others = self.others.iter().map(|(stack, sum)| (*stack, *sum));
        self.samples.iter().copied().chain(others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_stay_in_order_and_none_is_lost() {
        let mut profile = SampledProfile::default();
        for (stack, weight) in [(1, 10), (1, 5), (2, 1), (1, 2)] {
            profile.add(StackId(stack), weight);
        }
        let all: Vec<_> = profile.samples().map(|(stack, sum)| (stack.0, sum)).collect();
        assert_eq!((profile.total(), all), (18, vec![(1, 15), (2, 1), (1, 2)]));
        for stack in 0..3_000_000 {
            profile.add(StackId(stack % 4), 1);
        }
        assert_eq!(profile.samples().count(), MOST_SAMPLES + 4);
        let sum: u64 = profile.samples().map(|(_, sum)| sum).sum();
        assert_eq!((sum, profile.total()), (3_000_018, 3_000_018));
    }
}
