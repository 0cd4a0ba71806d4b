//! Counts by row and column of a picture that is bounded: where there is no room,
//! two become one.

use std::collections::BTreeMap;

/// A range of numbers in steps, each twice as long as the ones before it were
/// once there are more than fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapAxis {
    /// Numbers of a step.
    pub(crate) step: u64,
    most: u64,
    /// First and last step that has something; None: none has.
    ends: Option<[u64; 2]>,
}

impl MapAxis {
    /// Of at most so many steps, each of so many numbers at first.
    pub(crate) fn new(step: u64, most: u64) -> MapAxis {
        MapAxis { step: step.max(1), most: most.max(1), ends: None }
    }

    /// Makes room for a number: so many times steps became twice as long.
    pub(crate) fn include(&mut self, number: u64) -> u32 {
        let mut halved = 0;
        loop {
            let at = number / self.step;
            let [first, last] = self.ends.unwrap_or([at, at]);
            let [first, last] = [first.min(at), last.max(at)];
            if last - first < self.most {
                self.ends = Some([first, last]);
                return halved;
            }
            self.step = self.step.saturating_mul(2);
            self.ends = self.ends.map(|ends| ends.map(|end| end / 2));
            halved += 1;
        }
    }

    pub(crate) fn at(&self, number: u64) -> u64 {
        number / self.step
    }

    /// The first step that has something.
    pub(crate) fn first(&self) -> u64 {
        self.ends.map_or(0, |[first, _]| first)
    }

    /// Steps from the first that has something to the last.
    pub(crate) fn len(&self) -> u64 {
        self.ends.map_or(0, |[first, last]| last - first + 1)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellPlace {
    pub(crate) row: u64,
    pub(crate) column: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct MapCells {
    pub(crate) counts: BTreeMap<CellPlace, u64>,
}

impl MapCells {
    pub(crate) fn add(&mut self, at: CellPlace) {
        let count = self.counts.entry(at).or_default();
        *count = count.saturating_add(1);
    }

    pub(crate) fn join(&mut self, other: &MapCells) {
        for (at, count) in &other.counts {
            let sum = self.counts.entry(*at).or_default();
            *sum = sum.saturating_add(*count);
        }
    }

    /// Steps of these axes became twice as long, so many times.
    pub(crate) fn halve(&mut self, rows: u32, columns: u32) {
        if rows == 0 && columns == 0 {
            return;
        }
        let shift = |step: u64, by: u32| step.checked_shr(by).unwrap_or(0);
        let halved = std::mem::take(&mut self.counts);
        for (at, count) in halved {
            let at = CellPlace { row: shift(at.row, rows), column: shift(at.column, columns) };
            let sum = self.counts.entry(at).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn nothing_is_lost_and_all_fits(numbers in prop::collection::vec(any::<u64>(), 1..200)) {
            let mut axis = MapAxis::new(1, 8);
            let mut cells = MapCells::default();
            for number in &numbers {
                let halved = axis.include(*number);
                cells.halve(0, halved);
                cells.add(CellPlace { row: 0, column: axis.at(*number) });
            }
            prop_assert_eq!(cells.total(), numbers.len() as u64);
            prop_assert!(axis.len() <= 8);
            for number in &numbers {
                let step = axis.at(*number);
                prop_assert!(step >= axis.first() && step - axis.first() < axis.len());
                let at = CellPlace { row: 0, column: step };
                prop_assert!(cells.counts.contains_key(&at));
            }
        }
    }
}
