//! Rows and their counts.
//!
//! A row is a path: event, then one value a key. Each level maps (number of
//! the path so far, value) to the number of the longer path, so a row of any
//! number of keys costs one small lookup a key and no allocation.

use crate::collect::row_count::RowCount;
use crate::collect::sum::Sum;
use crate::error::Error;
use crate::name::key_value::KeyValue;
use perfdata::aggregate::SeededRandom;
use rustc_hash::FxHashMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Step {
    parent: u32,
    value: KeyValue,
}

#[derive(Debug)]
pub(crate) struct RowTally {
    keys: usize,
    /// Paths to all keys but the last.
    levels: Vec<FxHashMap<Step, u32>>,
    /// Whole paths.
    rows: FxHashMap<Step, RowCount>,
    /// Where the last step of the row that was asked for last begins, and of
    /// which values that is: samples of one instruction come one behind the other.
    last: Option<(u32, u32)>,
    last_values: Vec<KeyValue>,
}

impl RowTally {
    /// Rows of so many keys; without keys each event has one.
    pub(crate) fn new(keys: usize) -> RowTally {
        let levels = vec![FxHashMap::default(); keys.saturating_sub(1)];
        let rows = FxHashMap::default();
        RowTally { keys, levels, rows, last: None, last_values: Vec::with_capacity(keys) }
    }

    #[inline]
    pub(crate) fn row(&mut self, event: u32, values: &[KeyValue]) -> Result<&mut RowCount, Error> {
        let (last, first) = values.split_last().unwrap_or((&NO_KEY, &[]));
        if let Some((of, parent)) = self.last
            && of == event
            && self.last_values == first
        {
            return Ok(self.rows.entry(Step { parent, value: *last }).or_default());
        }
        let mut parent = event;
        for (level, value) in self.levels.iter_mut().zip(first) {
            let next = u32::try_from(level.len()).map_err(|_| Error::Rows)?;
            parent = *level.entry(Step { parent, value: *value }).or_insert(next);
        }
        self.last = Some((event, parent));
        self.last_values.clear();
        self.last_values.extend_from_slice(first);
        Ok(self.rows.entry(Step { parent, value: *last }).or_default())
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// What is counted of each row, in no order.
    pub(crate) fn counts(&self) -> impl Iterator<Item = &RowCount> {
        self.rows.values()
    }

    /// The rows, in no order.
    pub(crate) fn into_rows(self) -> CountedRows {
        let keys = self.keys;
        let steps: Vec<Vec<Step>> = self.levels.into_iter().map(by_number).collect();
        let mut rows = CountedRows { keys, values: Vec::new(), counts: Vec::new() };
        rows.values.reserve_exact(self.rows.len() * keys);
        rows.counts.reserve_exact(self.rows.len());
        for (step, count) in self.rows {
            let start = rows.values.len();
            rows.values.extend((keys > 0).then_some(step.value));
            let mut path = usize::try_from(step.parent).unwrap_or(usize::MAX);
            for level in steps.iter().rev() {
                let step = level[path];
                rows.values.push(step.value);
                path = usize::try_from(step.parent).unwrap_or(usize::MAX);
            }
            rows.values[start..].reverse();
            rows.counts.push((path, count));
        }
        rows
    }
}

/// Ends the path of a row without keys.
const NO_KEY: KeyValue = KeyValue::NOT_KEPT;

#[derive(Debug)]
pub(crate) struct CountedRows {
    keys: usize,
    values: Vec<KeyValue>,
    /// Event and count of each row.
    counts: Vec<(usize, RowCount)>,
}

impl CountedRows {
    /// Rows of one event: values, one a key, and counts.
    pub(crate) fn of(
        &self,
        event: usize,
    ) -> impl Iterator<Item = (&[KeyValue], &RowCount)> + Clone {
        let rows = self.values().zip(&self.counts);
        rows.filter(move |(_, (of, _))| *of == event).map(|(values, (_, count))| (values, count))
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = (usize, &[KeyValue], &RowCount)> {
        let rows = self.values().zip(&self.counts);
        rows.map(|(values, (event, count))| (*event, values, count))
    }

    /// The values of every row, one after the other, each row's in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &[KeyValue]> + Clone {
        let starts = (0..self.counts.len()).map(|row| row * self.keys);
        starts.map(|start| &self.values[start..start + self.keys])
    }

    pub(crate) fn sums(&self) -> impl Iterator<Item = (usize, &Sum)> {
        self.counts.iter().map(|(event, count)| (*event, &count.sum))
    }

    /// The same rows with other values, counted anew: those that become alike
    /// are joined.
    pub(crate) fn counted(
        mut self,
        mut rename: impl FnMut(usize, &mut [KeyValue], &Sum),
        chance: &mut SeededRandom,
    ) -> Result<RowTally, Error> {
        let mut tally = RowTally::new(self.keys);
        for (row, (event, count)) in self.counts.into_iter().enumerate() {
            let start = row * self.keys;
            let values = &mut self.values[start..start + self.keys];
            rename(event, values, &count.sum);
            tally.row(u32::try_from(event).unwrap_or(u32::MAX), values)?.join(count, chance);
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

    fn path(values: &[u64]) -> Vec<KeyValue> {
        values.iter().map(|&value| KeyValue::number(value)).collect()
    }

    proptest! {
        #[test]
        fn equals_a_naive_count(
            keys in 0usize..4,
            samples in prop::collection::vec((0u32..2, [0u64..3, 0..3, 0..3], 0u64..9), 0..200),
        ) {
            let mut tally = RowTally::new(keys);
            let mut naive: BTreeMap<(u32, Vec<KeyValue>), (u64, u64, u64)> = BTreeMap::new();
            for (event, values, period) in samples {
                let row = path(&values[..keys]);
                let mut one = Sum::default();
                one.add(period, period % 2 == 1);
                tally.row(event, &row).unwrap().sum.join(one);
                let sum = naive.entry((event, row)).or_default();
                *sum = (sum.0 + 1, sum.1 + period, sum.2 + period % 2);
            }
            let rows = tally.into_rows();
            let mut counted = BTreeMap::new();
            for event in 0..2u32 {
                for (values, RowCount { sum, .. }) in rows.of(usize::try_from(event).unwrap()) {
                    let sums = (sum.count, sum.period, sum.exact);
                    prop_assert_eq!(counted.insert((event, values.to_vec()), sums), None);
                }
            }
            prop_assert_eq!(counted, naive);
        }
    }
}
