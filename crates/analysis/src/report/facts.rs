//! What hits have in common that the kernel counted without keeping them.

use crate::collect::registers::{Evidence, alignment, same_low_bits};
use crate::name::cell::hex;
use perfdata::aggregate::{Bits, Range, Strides};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::{BTreeMap, BTreeSet};

/// What the kernel counted of an event.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct KernelCountReport {
    /// Hits, those that filters left out included.
    pub hits: u64,
    /// Those that went into rows.
    pub counted: u64,
    /// Aggregates that they came in.
    pub intervals: u64,
    /// Begin of the first, nanoseconds of CLOCK_MONOTONIC.
    pub from: u64,
    /// End of the last, same clock.
    pub to: u64,
    /// Whether processes were told apart; false where there are no hits.
    pub by_process: bool,
    /// Hits that the program could not count, by cause.
    pub lost: BTreeMap<String, u64>,
    /// Hits that the program was asked to leave out, by what they did not
    /// meet: no losses.
    pub filtered: BTreeMap<String, u64>,
    /// What hits at the site have in common that registers were asked for.
    pub at_site: Option<RowFacts>,
}

/// What all hits of a row have in common.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RowFacts {
    /// The oldest hit, nanoseconds of CLOCK_MONOTONIC.
    pub first: u64,
    /// The newest, same clock.
    pub last: u64,
    /// Their data addresses; None where the event has none.
    pub address: Option<CommonBits>,
    /// Their registers.
    pub registers: Vec<CommonBits>,
    /// Distances of addresses that follow each other on a CPU, nearest first.
    /// Empty where they were not asked for.
    pub strides: Vec<Stride>,
    /// A few hits, whole, each as likely as any other.
    pub taken: Vec<WholeHit>,
}

/// Distances from `from` to `to` bytes, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Stride {
    /// Smallest.
    pub from: u64,
    /// Largest.
    pub to: u64,
    /// Pairs that lie so far apart.
    pub count: u64,
}

/// A whole hit.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WholeHit {
    /// Nanoseconds of CLOCK_MONOTONIC.
    pub time: u64,
    /// Process.
    pub pid: i32,
    /// Thread.
    pub tid: i32,
    /// Logical CPU.
    pub cpu: u32,
    /// Events that it stands for.
    pub period: u64,
    /// Weight and data source as the machine has them, 0 without.
    pub weight: u64,
    /// The same.
    pub data_src: u64,
    /// Data address, when the event has one, and registers, hex by name.
    pub values: BTreeMap<String, String>,
}

/// What the values of one register, or of data addresses, have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonBits {
    /// The register's name, or "addr".
    pub name: String,
    /// AND and OR of all values.
    pub bits: Bits,
    /// Lowest and highest, where that is known.
    pub range: Option<(u64, u64)>,
    /// Hits that had a value.
    hits: u64,
    /// Distinct values among the hits that were taken.
    taken: BTreeSet<u64>,
}

/// A pattern that chance would show once in 2^18 registers is no finding:
/// what four whole hits can tell of 64-byte alignment.
const CHANCE_BITS: u64 = 18;
/// AND and OR do not say how many values there were. Of fewer hits than this,
/// or fewer distinct values among the whole ones, nothing is concluded: two
/// places on a stack have 21 bits in common.
const HITS: u64 = 16;
const DISTINCT: u64 = 3;
/// Objects aligned to less than a cache line say little about a structure.
const STRUCTURE_BITS: u32 = 6;

impl CommonBits {
    pub(crate) fn of_register(
        name: String,
        bits: Bits,
        hits: u64,
        taken: impl Iterator<Item = u64>,
    ) -> CommonBits {
        CommonBits { name, bits, range: None, hits, taken: taken.collect() }
    }

    pub(crate) fn of_addresses(
        range: Range,
        hits: u64,
        taken: impl Iterator<Item = u64>,
    ) -> CommonBits {
        let (bounds, taken) = (Some((range.min, range.max)), taken.collect());
        CommonBits { name: "addr".to_owned(), bits: range.bits, range: bounds, hits, taken }
    }

    pub(crate) fn named(&self, name: String) -> CommonBits {
        CommonBits { name, ..self.clone() }
    }

    /// Low bits that never changed, 0 to 64.
    pub fn low_bits(&self) -> u32 {
        self.bits.low_constant()
    }

    /// What those low bits are.
    pub fn low_value(&self) -> u64 {
        match self.low_bits() {
            64 => self.bits.all,
            bits => self.bits.all & ((1 << bits) - 1),
        }
    }

    /// Whether low bits that never changed speak of aligned structures.
    pub fn is_structure(&self) -> bool {
        self.low_bits() >= STRUCTURE_BITS && !self.alignment().is_empty()
    }

    /// For example `cx: same 13 low bits (0x0000): 8 KiB-aligned structures`.
    pub fn brief(&self) -> String {
        let low = same_low_bits(self.low_bits(), self.low_value());
        format!("{}: {low}{}", self.name, self.alignment())
    }

    /// For example `cx: bits 0x1ffe000 of 0xffff888000000000 change, same 13
    /// low bits (0x0000): 8 KiB-aligned structures`.
    pub fn finding(&self) -> String {
        let (name, changing) = (&self.name, !self.bits.constant());
        if changing == 0 {
            return format!("{name}: always {:#x}", self.bits.all);
        }
        let values = match self.range {
            Some((min, max)) => format!("{min:#x}-{max:#x}"),
            None if changing == u64::MAX => "all bits change".to_owned(),
            None => format!("bits {changing:#x} of {:#x} change", self.bits.all),
        };
        match self.low_bits() {
            0 => format!("{name}: {values}"),
            bits => {
                let low = same_low_bits(bits, self.low_value());
                format!("{name}: {values}, {low}{}", self.alignment())
            }
        }
    }

    fn alignment(&self) -> String {
        let least = self.range.map(|(min, _)| min).or(self.taken.first().copied());
        let Some(least) = least.filter(|_| self.low_bits() < 64) else { return String::new() };
        let distinct = u64::try_from(self.taken.len()).unwrap_or(u64::MAX);
        if self.hits < HITS || distinct < DISTINCT {
            return String::new();
        }
        let evidence = Evidence { distinct, least, chance_bits: CHANCE_BITS };
        alignment(&self.name, self.low_bits(), self.low_value(), evidence)
    }
}

impl RowFacts {
    /// What speaks of aligned structures, most aligned first.
    pub fn structures(&self) -> Vec<&CommonBits> {
        let all = self.registers.iter().chain(&self.address);
        let mut found: Vec<&CommonBits> = all.filter(|common| common.is_structure()).collect();
        found.sort_by_key(|common| std::cmp::Reverse(common.low_bits()));
        found
    }

    /// The most frequent distance, and its part of all, 0 to 1.
    pub fn stride(&self) -> Option<(Stride, f64)> {
        let most = self.strides.iter().max_by_key(|stride| stride.count)?;
        let all = self.strides.iter().fold(0u64, |sum, one| sum.saturating_add(one.count));
        Some((*most, crate::share_interval::ratio(most.count, all)))
    }
}

/// Those that there are, nearest first.
pub(crate) fn strides(strides: &Strides) -> Vec<Stride> {
    let there = strides.0.iter().enumerate().filter(|(_, count)| **count > 0);
    there
        .filter_map(|(bucket, count)| {
            let (from, to) = Strides::bounds(bucket)?;
            Some(Stride { from, to, count: *count })
        })
        .collect()
}

impl Serialize for CommonBits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let constant = self.bits.constant();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("register", &self.name)?;
        if let Some((min, max)) = self.range {
            map.serialize_entry("min", &hex(min))?;
            map.serialize_entry("max", &hex(max))?;
        }
        map.serialize_entry("same_mask", &hex(constant))?;
        map.serialize_entry("same_value", &hex(self.bits.all & constant))?;
        map.serialize_entry("low_bits", &self.low_bits())?;
        map.serialize_entry("low_value", &hex(self.low_value()))?;
        map.serialize_entry("is_structure", &self.is_structure())?;
        map.serialize_entry("finding", &self.finding())?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(values: &[u64]) -> CommonBits {
        let mut bits = Bits::NONE;
        values.iter().for_each(|value| bits.merge(Bits::of(*value)));
        let hits = values.len() as u64;
        CommonBits::of_register("cx".to_owned(), bits, hits, values.iter().copied().take(4))
    }

    fn list(start: u64, step: u64) -> Vec<u64> {
        (0..1000).map(|item| start + item * step).collect()
    }

    #[test]
    fn a_list_of_8_kib_structures_shows_in_one_line() {
        let nodes = common(&list(0xffff_8880_0000_0000, 8192));
        assert_eq!(
            nodes.finding(),
            "cx: bits 0x7fe000 of 0xffff888000000000 change, \
             same 13 low bits (0x0000): 8 KiB-aligned structures"
        );
        assert_eq!(nodes.brief(), "cx: same 13 low bits (0x0000): 8 KiB-aligned structures");
        assert!(nodes.is_structure());
        let member = common(&list(0x7f00_0000_0040, 8192));
        assert_eq!(
            member.brief(),
            "cx: same 13 low bits (0x0040): 8 KiB-aligned structures, offset 0x40"
        );
    }

    #[test]
    fn little_is_said_of_few_small_and_equal_values() {
        assert_eq!(common(&[7, 7]).finding(), "cx: always 0x7");
        assert_eq!(common(&[0, u64::MAX]).finding(), "cx: all bits change");
        assert_eq!(common(&[4, 6]).finding(), "cx: bits 0x2 of 0x4 change, same 1 low bit (0x0)");
        let two = [0x7f00_0020_0000, 0x7f00_0000_0000].repeat(20);
        let quick = list(0x7f00_0000_0000, 8192)[..15].to_vec();
        for few in [list(0, 64), vec![0x10_0000, 0x10_2000], vec![0x7f00_0000_0000; 9], two, quick]
        {
            assert!(!common(&few).is_structure(), "{}", common(&few).finding());
        }
        assert!(common(&list(0x7f00_0000_0000, 64)).is_structure());
        assert!(!common(&list(0x7f00_0000_0000, 32)).is_structure());
    }

    #[test]
    fn addresses_have_bounds() {
        let mut range = Range::of(0x7000_1000);
        range.merge(Range::of(0x7fff_0000));
        let taken = [0x7000_1000, 0x7fff_0000, 0x7123_4000].into_iter();
        assert_eq!(
            CommonBits::of_addresses(range, 16, taken).finding(),
            "addr: 0x70001000-0x7fff0000, same 12 low bits (0x000): 4 KiB-aligned structures"
        );
    }
}
