//! How often each routine came.

use super::direct::Direct;
use rustc_hash::FxHashMap;

/// A counter per stretch of the kernel's text, a hash table for addresses
/// elsewhere.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    direct: &'a Direct,
    counters: Vec<u32>,
    /// How often a counter went round.
    rounds: FxHashMap<u32, u64>,
    elsewhere: FxHashMap<u64, u64>,
    /// Of the addresses that are just counted.
    stretches: Vec<u32>,
    left: Vec<u32>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(direct: &'a Direct) -> Tally<'a> {
        Tally {
            direct,
            counters: vec![0; direct.len()],
            rounds: FxHashMap::default(),
            elsewhere: FxHashMap::default(),
            stretches: Vec::new(),
            left: Vec::new(),
        }
    }

    pub(super) fn add_all(&mut self, addresses: &[u64]) {
        self.stretches.resize(addresses.len(), 0);
        self.direct.find_all(addresses, &mut self.stretches, &mut self.left);
        for (&address, &stretch) in addresses.iter().zip(&self.stretches) {
            match self.counters.get_mut(stretch as usize) {
                Some(counter) => {
                    *counter = counter.wrapping_add(1);
                    if *counter == 0 {
                        *self.rounds.entry(stretch).or_default() += 1;
                    }
                }
                None => *self.elsewhere.entry(address).or_default() += 1,
            }
        }
    }

    /// Takes in what another thread counted.
    pub(super) fn merge(&mut self, other: Tally<'_>) {
        for (stretch, (own, other)) in (0..).zip(self.counters.iter_mut().zip(other.counters)) {
            let (sum, over) = own.overflowing_add(other);
            *own = sum;
            if over {
                *self.rounds.entry(stretch).or_default() += 1;
            }
        }
        for (stretch, rounds) in other.rounds {
            *self.rounds.entry(stretch).or_default() += rounds;
        }
        for (address, count) in other.elsewhere {
            *self.elsewhere.entry(address).or_default() += count;
        }
    }

    /// Each stretch that came, and how often.
    pub(super) fn stretches(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..).zip(&self.counters).filter_map(|(stretch, &counter)| {
            let rounds = match self.rounds.is_empty() {
                true => 0,
                false => self.rounds.get(&stretch).copied().unwrap_or_default(),
            };
            let count = (rounds << 32) + u64::from(counter);
            (count != 0).then_some((stretch, count))
        })
    }

    /// Each address elsewhere that came, and how often.
    pub(super) fn elsewhere(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.elsewhere.iter().map(|(&address, &count)| (address, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_goes_round_is_counted_on_one_thread_and_over_two() {
        let direct = Direct::new([0x1000..0x1010, 0x1010..0x1400].into_iter());
        let (mut one, mut two) = (Tally::new(&direct), Tally::new(&direct));
        one.counters[0] = u32::MAX;
        one.add_all(&[0x1004, 0x1008, 0x1013, 7]);
        two.counters[0] = u32::MAX;
        two.add_all(&[7, 8]);
        one.merge(two);
        let expected = [(0, (1 << 32) + 1 + u64::from(u32::MAX)), (1, 1)];
        assert_eq!(one.stretches().collect::<Vec<_>>(), expected);
        let mut elsewhere: Vec<_> = one.elsewhere().collect();
        elsewhere.sort_unstable();
        assert_eq!(elsewhere, [(7, 2), (8, 1)]);
    }
}
