//! Accesses to memory: what served them and how long they took.
//!
//! A row of accesses is a path of the query's keys, then one atom that holds
//! the access's kind (the answers of its data source) and its latency. So a
//! row keeps its whole distribution of latencies at the cost of one entry for
//! each kind and latency that it has.

use crate::atom::{Atom, Lack};
use crate::error::Error;
use crate::lookup::Lookup;
use crate::tally::{Join, Rows, Sum, Tally};
use record::DataSrc;
use record::data_src::{Aspect, Distance, Level};
use rustc_hash::FxHashMap;

/// What a kind of access is told by, in the order of columns.
pub(crate) const ASPECTS: [Aspect; 4] =
    [Aspect::Level, Aspect::Operation, Aspect::Tlb, Aspect::Snoop];

/// Latencies below this are kept as they are, longer ones with as many
/// leading bits: in steps of less than 0.1 per cent.
const EXACT: u64 = 1 << 11;
/// In place of a latency: the access has none.
const NO_LATENCY: u64 = u64::MAX;
/// Data sources remembered: real recordings have dozens.
const MOST_WORDS: usize = 1 << 16;

/// Samples of one kind and latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) sum: Sum,
    /// Sum of the latencies, as they were.
    pub(crate) cycles: u64,
}

impl Join for Access {
    #[inline]
    fn join(&mut self, other: Access) {
        self.sum.join(other.sum);
        self.cycles = self.cycles.saturating_add(other.cycles);
    }
}

/// One kind of access: its answers, as [`ASPECTS`] lists them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub(crate) answers: [Atom; 4],
    /// How far from the core it was served.
    pub(crate) rank: (Level, Option<Distance>),
}

/// All accesses of all events.
#[derive(Debug)]
pub(crate) struct Accesses {
    tally: Tally<Access>,
    kinds: Vec<Kind>,
    by_answers: FxHashMap<[Atom; 4], u32>,
    by_word: FxHashMap<Option<DataSrc>, u32>,
}

impl Accesses {
    /// For rows of so many keys.
    pub(crate) fn new(keys: usize) -> Accesses {
        Accesses {
            tally: Tally::new(keys + 1),
            kinds: Vec::new(),
            by_answers: FxHashMap::default(),
            by_word: FxHashMap::default(),
        }
    }

    /// Counts a sample in the row of `path`, to which its own atom is added.
    pub(crate) fn add(
        &mut self,
        event: u32,
        path: &mut Vec<Atom>,
        (source, latency): (Option<DataSrc>, Option<u64>),
        (sample, lookup): (Sum, &mut Lookup),
    ) -> Result<(), Error> {
        let kind = self.kind(source, lookup);
        path.push(Atom::pair(kind, latency.map_or(NO_LATENCY, rounded)));
        let access = Access { sum: sample, cycles: latency.unwrap_or(0) };
        self.tally.add(event, path, access)
    }

    fn kind(&mut self, source: Option<DataSrc>, lookup: &mut Lookup) -> u32 {
        if let Some(kind) = self.by_word.get(&source) {
            return *kind;
        }
        if self.by_word.len() >= MOST_WORDS {
            self.by_word.clear();
        }
        let answers = ASPECTS.map(|aspect| match source {
            Some(source) => lookup.access(aspect, source),
            None => Atom::lack(Lack::DataSrc),
        });
        let next = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        let kind = *self.by_answers.entry(answers).or_insert(next);
        if kind == next {
            let source = source.unwrap_or_default();
            self.kinds.push(Kind { answers, rank: (source.level(), source.distance()) });
        }
        self.by_word.insert(source, kind);
        kind
    }

    /// The rows, and the kinds that their last atoms number.
    pub(crate) fn rows(self) -> (Rows<Access>, Vec<Kind>) {
        (self.tally.rows(), self.kinds)
    }
}

fn rounded(latency: u64) -> u64 {
    let spare = (u64::BITS - EXACT.leading_zeros()).saturating_sub(1);
    let shift = (u64::BITS - latency.leading_zeros()).saturating_sub(spare);
    // Never NO_LATENCY: its low bits are zero.
    latency >> shift << shift
}

/// Latencies of some accesses, ascending, each with how many took so long.
#[derive(Clone, Debug, Default)]
pub(crate) struct Distribution {
    counts: Vec<(u64, u64)>,
    cycles: u64,
    total: u64,
}

impl Distribution {
    /// Of atoms that [`Accesses`] made.
    pub(crate) fn of<'a>(accesses: impl Iterator<Item = &'a (Atom, Access)>) -> Distribution {
        let mut all = Distribution::default();
        for (atom, access) in accesses {
            let (_, latency) = atom.as_pair();
            if latency != NO_LATENCY {
                all.counts.push((latency, access.sum.count));
                all.cycles = all.cycles.saturating_add(access.cycles);
                all.total += access.sum.count;
            }
        }
        all.counts.sort_unstable();
        all
    }

    /// Accesses with a latency.
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
        reached.map_or(0, |(latency, _)| *latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};

    fn distribution(latencies: &[u64]) -> Distribution {
        let one = Sum { count: 1, ..Sum::default() };
        let accesses: Vec<_> = latencies
            .iter()
            .map(|&cycles| (Atom::pair(7, rounded(cycles)), Access { sum: one, cycles }))
            .collect();
        Distribution::of(accesses.iter())
    }

    proptest! {
        #[test]
        fn rounding_loses_less_than_a_thousandth(latency: u64) {
            let kept = rounded(latency);
            prop_assert!(kept <= latency && kept != NO_LATENCY);
            prop_assert!((latency - kept) <= latency / 1000);
            prop_assert!(latency >= EXACT || kept == latency);
        }

        /// Against the definition, on the sorted list of all.
        #[test]
        fn quantiles_are_of_nearest_rank(
            latencies in prop::collection::vec(0u64..EXACT, 1..300),
            percent in 1u64..=100,
        ) {
            let mut sorted = latencies.clone();
            sorted.sort_unstable();
            let rank = (sorted.len() * usize::try_from(percent).unwrap()).div_ceil(100);
            let all = distribution(&latencies);
            prop_assert_eq!(all.quantile(percent), sorted[rank - 1]);
            prop_assert_eq!(all.cycles(), latencies.iter().sum::<u64>());
            prop_assert_eq!(all.total(), latencies.len() as u64);
        }
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(distribution(&[]).quantile(50), 0);
    }
}
