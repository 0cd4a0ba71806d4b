//! How many distinct lines lie between two misses of one line.
//!
//! A fully associative cache with LRU replacement has a line still when fewer
//! distinct lines than it holds were used since (Mattson et al. 1970). Of a
//! stream of misses, hits in between are not seen: a distance is a lower bound,
//! tight where what misses does so again and again.

use rustc_hash::FxHashMap;

/// The distances of a stream's misses, counted one after the other in time that
/// grows with the logarithm of its length.
#[derive(Clone, Debug)]
pub(crate) struct StackDistances {
    /// Where each line was missed last: the number of the miss, from 1.
    last: FxHashMap<u64, usize>,
    /// Sums over those places (Fenwick 1994): each of a last miss counts 1.
    sums: Vec<u32>,
    at: usize,
}

impl StackDistances {
    /// Of a stream of at most so many misses.
    pub(crate) fn new(misses: usize) -> StackDistances {
        StackDistances { last: FxHashMap::default(), sums: vec![0; misses + 1], at: 0 }
    }

    /// The next miss: distinct lines since the last one of its line, this among
    /// them, 1 or more; None: it is the first.
    pub(crate) fn next(&mut self, line: u64) -> Option<u64> {
        self.at += 1;
        let before = self.last.insert(line, self.at);
        let distance = before.map(|before| {
            let since = self.until(self.at - 1) - self.until(before);
            self.add(before, false);
            u64::from(since) + 1
        });
        self.add(self.at, true);
        distance
    }

    fn until(&self, mut place: usize) -> u32 {
        let mut sum = 0_u32;
        while place > 0 {
            sum = sum.wrapping_add(self.sums.get(place).copied().unwrap_or(0));
            place &= place - 1;
        }
        sum
    }

    fn add(&mut self, mut place: usize, counts: bool) {
        while let Some(sum) = self.sums.get_mut(place) {
            *sum = if counts { sum.wrapping_add(1) } else { sum.wrapping_sub(1) };
            place += place & place.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StackDistances;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn all(lines: &[u64]) -> Vec<Option<u64>> {
        let mut distances = StackDistances::new(lines.len());
        lines.iter().map(|line| distances.next(*line)).collect()
    }

    /// By a look at all lines in between.
    fn counted(lines: &[u64], at: usize) -> Option<u64> {
        let before = lines[..at].iter().rposition(|line| *line == lines[at])?;
        Some(lines[before..at].iter().collect::<BTreeSet<_>>().len() as u64)
    }

    #[test]
    fn a_circle_has_its_length() {
        let lines: Vec<u64> = (0..6400).map(|miss| miss % 64).collect();
        let distances = all(&lines);
        assert!(distances[..64].iter().all(Option::is_none));
        assert!(distances[64..].iter().all(|it| *it == Some(64)));
        assert_eq!(all(&[]), []);
    }

    proptest! {
        #[test]
        fn distances_are_those_that_are_counted(
            lines in prop::collection::vec(prop_oneof![0_u64..4, 0_u64..40], 0..200),
        ) {
            let expected: Vec<_> = (0..lines.len()).map(|at| counted(&lines, at)).collect();
            prop_assert_eq!(all(&lines), expected);
        }
    }
}
