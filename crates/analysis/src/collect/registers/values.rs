//! The values of one register, folded as they come.

use super::{Register, ValueCount};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Exact in all but the counts of single values beyond the limit.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    pub(super) samples: u64,
    first: u64,
    all: u64,
    any: u64,
    min: u64,
    max: u64,
    stride: u64,
    counts: FxHashMap<u64, u64>,
    over_limit: bool,
}

pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Values {
    /// Whether it is counted one by one from now on.
    pub(super) fn add(&mut self, value: u64, limit: usize) -> bool {
        if self.samples == 0 {
            (self.first, self.all, self.any) = (value, value, value);
            (self.min, self.max) = (value, value);
        }
        self.samples += 1;
        let room = self.counts.len() < limit;
        match self.counts.entry(value) {
            // A value seen before changes nothing but its count.
            Entry::Occupied(mut count) => {
                *count.get_mut() += 1;
                return false;
            }
            Entry::Vacant(count) if room => {
                count.insert(1);
            }
            Entry::Vacant(_) => self.over_limit = true,
        }
        self.all &= value;
        self.any |= value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        // All differences are sums of differences to the first value.
        self.stride = gcd(self.stride, value.abs_diff(self.first));
        room
    }

    pub(super) fn summary(self, name: String, top: usize) -> Register {
        let mut values: Vec<ValueCount> =
            self.counts.iter().map(|(&value, &count)| ValueCount { value, count }).collect();
        values.sort_unstable_by(|a, b| b.count.cmp(&a.count).then(a.value.cmp(&b.value)));
        values.truncate(top);
        let same_mask = !(self.all ^ self.any);
        Register {
            name,
            samples: self.samples,
            distinct: u64::try_from(self.counts.len()).unwrap_or(u64::MAX)
                + u64::from(self.over_limit),
            distinct_exact: !self.over_limit,
            min: self.min,
            max: self.max,
            same_mask,
            same_value: self.all & same_mask,
            stride: self.stride,
            interval: 1,
            top: values,
        }
    }
}
