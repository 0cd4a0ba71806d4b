//! Register histograms: what the values of each register at a site have in
//! common. A pointer to objects of one size shows as equal low bits and as a
//! stride.

mod finding;
#[cfg(test)]
mod tests;
mod values;

pub(crate) use finding::{Evidence, alignment, same_low_bits};

use crate::name::cell::hex;
use serde::ser::{Serialize, SerializeMap, Serializer};
use values::{Values, gcd};

/// Values of several registers, counted.
#[derive(Clone, Debug)]
pub struct Histogram {
    registers: Vec<(String, Values)>,
    limit: usize,
}

impl Histogram {
    /// A histogram of the registers with these names; at most `limit`
    /// distinct values of each are counted one by one.
    pub fn new(names: impl IntoIterator<Item = String>, limit: usize) -> Histogram {
        let registers = names.into_iter().map(|name| (name, Values::default())).collect();
        Histogram { registers, limit }
    }

    /// Adds a value of register number `index`, counted in the order of the
    /// names; an index beyond them adds nothing.
    #[inline]
    pub fn add(&mut self, index: usize, value: u64) {
        self.add_within(index, value, usize::MAX);
    }

    /// The same where `room` distinct values more may be counted one by one:
    /// whether this is one.
    #[inline]
    pub(crate) fn add_within(&mut self, index: usize, value: u64, room: usize) -> bool {
        let limit = if room > 0 { self.limit } else { 0 };
        let values = self.registers.get_mut(index);
        values.is_some_and(|(_, values)| values.add(value, limit))
    }

    /// The registers that had values, each with its `top` most frequent ones.
    pub fn finish(self, top: usize) -> Vec<Register> {
        let seen = self.registers.into_iter().filter(|(_, values)| values.samples > 0);
        seen.map(|(name, values)| values.summary(name, top)).collect()
    }
}

/// What the values of one register have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The register's name, or "addr" for the data address.
    pub name: String,
    /// Samples that had a value.
    pub samples: u64,
    /// Distinct values; at least so many when not exact.
    pub distinct: u64,
    /// False when there were more distinct values than are counted one by
    /// one: `distinct` and `top` then cover only those that came first.
    pub distinct_exact: bool,
    /// Smallest value, unsigned.
    pub min: u64,
    /// Largest value, unsigned.
    pub max: u64,
    /// Bits that are the same in all values.
    pub same_mask: u64,
    /// What those bits are; 0 elsewhere.
    pub same_value: u64,
    /// Greatest number that divides all differences of values; 0 for a
    /// single value.
    pub stride: u64,
    /// The even sampling interval in events; 1 where each event was sampled or
    /// intervals were drawn at random. Samples of a loop are this many of its
    /// strides apart.
    pub interval: u64,
    /// Most frequent values, ties in ascending order of value.
    pub top: Vec<ValueCount>,
}

/// A value and how often it was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueCount {
    /// The register's value.
    pub value: u64,
    /// Samples with it.
    pub count: u64,
}

impl Register {
    /// How many low bits are the same in all values, 0 to 64: the power of
    /// two in the stride.
    pub fn low_bits(&self) -> u32 {
        self.same_mask.trailing_ones()
    }

    /// The same, of values sampled at an even interval.
    #[must_use]
    pub(crate) fn at_interval(self, interval: u64) -> Register {
        Register { interval: interval.max(1), ..self }
    }

    /// The stride; None: the interval may have made it, or a part of it.
    pub fn known_stride(&self) -> Option<u64> {
        (gcd(self.stride, self.interval) == 1 || self.stride == 0).then_some(self.stride)
    }

    /// What those low bits are.
    pub fn low_value(&self) -> u64 {
        match self.low_bits() {
            64 => self.same_value,
            bits => self.same_value & ((1 << bits) - 1),
        }
    }
}

impl Serialize for ValueCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("value", &hex(self.value))?;
        map.serialize_entry("count", &self.count)?;
        map.end()
    }
}

impl Serialize for Register {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("register", &self.name)?;
        map.serialize_entry("samples", &self.samples)?;
        map.serialize_entry("distinct", &self.distinct)?;
        map.serialize_entry("distinct_exact", &self.distinct_exact)?;
        map.serialize_entry("min", &hex(self.min))?;
        map.serialize_entry("max", &hex(self.max))?;
        map.serialize_entry("same_mask", &hex(self.same_mask))?;
        map.serialize_entry("same_value", &hex(self.same_value))?;
        map.serialize_entry("low_bits", &self.low_bits())?;
        map.serialize_entry("low_value", &hex(self.low_value()))?;
        map.serialize_entry("stride", &self.known_stride())?;
        map.serialize_entry("finding", &self.finding())?;
        map.serialize_entry("top", &self.top)?;
        map.end()
    }
}
