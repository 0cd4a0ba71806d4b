//! Rows and their counts.
//!
//! A row is a path: event, then one atom a key. Each level maps (number of
//! the path so far, atom) to the number of the longer path, so a row of any
//! number of keys costs one small lookup a key and no allocation.

use crate::error::Error;
use crate::name::atom::Atom;
use crate::ratio::ratio;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Step {
    parent: u32,
    atom: Atom,
}

/// What is summed up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) period: u64,
    pub(crate) exact: u64,
    /// Of each sample's period the square.
    pub(crate) squares: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, period: u64, exact: bool) {
        self.count = self.count.saturating_add(1);
        // Periods are the kernel's; 2^64 events need a hostile stream.
        self.period = self.period.saturating_add(period);
        self.exact += u64::from(exact);
        self.squares += square(period);
    }

    /// So many samples that stand for so many events in all, each for as many.
    pub(crate) fn of(count: u64, period: u64) -> Sum {
        let squares = ratio(1, count) * square(period);
        Sum { count, period, exact: 0, squares }
    }

    /// Adds another's samples.
    #[inline]
    pub(crate) fn join(&mut self, other: Sum) {
        self.count = self.count.saturating_add(other.count);
        self.period = self.period.saturating_add(other.period);
        self.exact += other.exact;
        self.squares += other.squares;
    }
}

/// Of a period.
fn square(period: u64) -> f64 {
    ratio(period, 1).powi(2)
}

/// All rows of all events.
#[derive(Debug)]
pub(crate) struct RowTally<S = Sum> {
    /// Paths to all keys but the last.
    levels: Vec<FxHashMap<Step, u32>>,
    /// Whole paths.
    rows: FxHashMap<Step, S>,
}

impl<S: Default> RowTally<S> {
    /// Rows of so many keys; without keys nothing is kept.
    pub(crate) fn new(keys: usize) -> RowTally<S> {
        let levels = vec![FxHashMap::default(); keys.saturating_sub(1)];
        RowTally { levels, rows: FxHashMap::default() }
    }

    /// The sums of the row of these atoms, one a key; None without keys.
    #[inline]
    pub(crate) fn row(&mut self, event: u32, atoms: &[Atom]) -> Result<Option<&mut S>, Error> {
        let Some((last, first)) = atoms.split_last() else { return Ok(None) };
        let mut parent = event;
        for (level, atom) in self.levels.iter_mut().zip(first) {
            let next = u32::try_from(level.len()).map_err(|_| Error::Rows)?;
            parent = *level.entry(Step { parent, atom: *atom }).or_insert(next);
        }
        Ok(Some(self.rows.entry(Step { parent, atom: *last }).or_default()))
    }

    /// How many rows there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is a row of these atoms.
    pub(crate) fn has(&self, event: u32, atoms: &[Atom]) -> bool {
        let Some((last, first)) = atoms.split_last() else { return false };
        let mut parent = event;
        for (level, atom) in self.levels.iter().zip(first) {
            match level.get(&Step { parent, atom: *atom }) {
                Some(next) => parent = *next,
                None => return false,
            }
        }
        self.rows.contains_key(&Step { parent, atom: *last })
    }

    /// Counts the same rows anew with other atoms: those that become alike
    /// are joined.
    pub(crate) fn rename(
        &mut self,
        rename: impl FnMut(usize, &mut [Atom], &S),
        join: impl FnMut(&mut S, S),
    ) -> Result<(), Error> {
        let anew = RowTally::new(self.levels.len() + 1);
        *self = std::mem::replace(self, anew).rows().counted(rename, join)?;
        Ok(())
    }

    /// The rows, in no order.
    pub(crate) fn rows(self) -> Rows<S> {
        let keys = self.levels.len() + 1;
        let steps: Vec<Vec<Step>> = self.levels.into_iter().map(by_number).collect();
        let mut rows = Rows { keys, atoms: Vec::new(), sums: Vec::new() };
        rows.atoms.reserve_exact(self.rows.len() * keys);
        rows.sums.reserve_exact(self.rows.len());
        for (step, sum) in self.rows {
            let start = rows.atoms.len();
            rows.atoms.push(step.atom);
            let mut path = usize::try_from(step.parent).unwrap_or(usize::MAX);
            for level in steps.iter().rev() {
                let step = level[path];
                rows.atoms.push(step.atom);
                path = usize::try_from(step.parent).unwrap_or(usize::MAX);
            }
            rows.atoms[start..].reverse();
            rows.sums.push((path, sum));
        }
        rows
    }
}

/// Counted rows.
#[derive(Debug)]
pub(crate) struct Rows<S = Sum> {
    keys: usize,
    atoms: Vec<Atom>,
    /// Event and sums of each row.
    sums: Vec<(usize, S)>,
}

impl<S> Rows<S> {
    /// Rows of one event: atoms, one a key, and sums.
    pub(crate) fn of(&self, event: usize) -> impl Iterator<Item = (&[Atom], &S)> {
        let rows = self.atoms.chunks_exact(self.keys).zip(&self.sums);
        rows.filter(move |(_, (of, _))| *of == event).map(|(atoms, (_, sum))| (atoms, sum))
    }

    /// The atoms of every row, one after the other, each row's in order.
    pub(crate) fn atoms(&self) -> impl Iterator<Item = &[Atom]> {
        self.atoms.chunks_exact(self.keys)
    }

    /// Event and sums of every row.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (usize, &S)> {
        self.sums.iter().map(|(event, sum)| (*event, sum))
    }

    /// The same with other atoms: rows that become alike are joined.
    pub(crate) fn renamed(
        self,
        rename: impl Fn(&mut [Atom]),
        join: impl FnMut(&mut S, S),
    ) -> Result<Rows<S>, Error>
    where
        S: Default,
    {
        Ok(self.counted(|_, atoms, _| rename(atoms), join)?.rows())
    }

    /// The same, counted anew.
    pub(crate) fn counted(
        mut self,
        mut rename: impl FnMut(usize, &mut [Atom], &S),
        mut join: impl FnMut(&mut S, S),
    ) -> Result<RowTally<S>, Error>
    where
        S: Default,
    {
        let mut tally = RowTally::new(self.keys);
        for (atoms, (event, sum)) in self.atoms.chunks_exact_mut(self.keys).zip(self.sums) {
            rename(event, atoms, &sum);
            if let Some(row) = tally.row(u32::try_from(event).unwrap_or(u32::MAX), atoms)? {
                join(row, sum);
            }
        }
        Ok(tally)
    }
}

/// Steps in the order of the numbers they were given.
fn by_number(level: FxHashMap<Step, u32>) -> Vec<Step> {
    let mut steps: Vec<(u32, Step)> = level.into_iter().map(|(step, n)| (n, step)).collect();
    steps.sort_unstable_by_key(|(number, _)| *number);
    steps.into_iter().map(|(_, step)| step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};
    use std::collections::BTreeMap;

    fn atoms(values: &[u64]) -> Vec<Atom> {
        values.iter().map(|&value| Atom::number(value)).collect()
    }

    proptest! {
        #[test]
        fn equals_a_naive_count(
            keys in 1usize..4,
            samples in prop::collection::vec((0u32..2, [0u64..3, 0..3, 0..3], 0u64..9), 0..200),
        ) {
            let mut tally = RowTally::<Sum>::new(keys);
            let mut naive: BTreeMap<(u32, Vec<Atom>), (u64, u64, u64)> = BTreeMap::new();
            for (event, values, period) in samples {
                let row = atoms(&values[..keys]);
                let mut one = Sum::default();
                one.add(period, period % 2 == 1);
                tally.row(event, &row).unwrap().unwrap().join(one);
                let sum = naive.entry((event, row)).or_default();
                *sum = (sum.0 + 1, sum.1 + period, sum.2 + period % 2);
            }
            let rows = tally.rows();
            let mut counted = BTreeMap::new();
            for event in 0..2u32 {
                for (atoms, sum) in rows.of(usize::try_from(event).unwrap()) {
                    let sums = (sum.count, sum.period, sum.exact);
                    prop_assert_eq!(counted.insert((event, atoms.to_vec()), sums), None);
                }
            }
            prop_assert_eq!(counted, naive);
        }
    }
}
