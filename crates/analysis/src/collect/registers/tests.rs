//! Findings to the letter, and the folds against a naive count.

use super::{Histogram, Register, ValueCount};
use proptest::prelude::{any, prop, prop_assert_eq, proptest};
use std::collections::BTreeMap;

fn register(values: impl IntoIterator<Item = u64>) -> Register {
    let mut histogram = Histogram::new(["cx".to_owned()], 1 << 16);
    for value in values {
        histogram.add(0, value);
    }
    histogram.finish(3).remove(0)
}

#[test]
fn a_list_of_8_kib_structures_shows_in_one_line() {
    let list = (0..4096).map(|item| 0xffff_8880_0000_0000 + item * 8192);
    assert_eq!(
        register(list).finding(),
        "cx: 4096 values, 0xffff888000000000-0xffff888001ffe000, \
         same 13 low bits (0x0000): 8 KiB-aligned structures, stride 8192"
    );
}

#[test]
fn a_member_shows_its_offset() {
    let members = (1..100u64).map(|item| 0x7f00_0000_0040 + item * item * 8192);
    assert_eq!(
        register(members).finding(),
        "cx: 99 values, 0x7f0000002040-0x7f0004c92040, \
         same 13 low bits (0x0040): 8 KiB-aligned structures, offset 0x40, stride 8192"
    );
}

#[test]
fn values_of_32_bits_work_alike() {
    let low = register((0..512).map(|item| 0xc100_0000 + item * 0x2000));
    assert_eq!(
        low.finding(),
        "cx: 512 values, 0xc1000000-0xc13fe000, \
         same 13 low bits (0x0000): 8 KiB-aligned structures, stride 8192"
    );
    assert_eq!(low.same_mask >> 32, 0xffff_ffff);
    assert_eq!(low.same_value, 0xc100_0000);
}

#[test]
fn a_single_value_is_always_there() {
    let register = register([7, 7, 7]);
    assert_eq!(register.finding(), "cx: always 0x7");
    assert_eq!((register.distinct, register.stride), (1, 0));
    assert_eq!((register.low_bits(), register.low_value()), (64, 7));
    assert_eq!(register.top, [ValueCount { value: 7, count: 3 }]);
}

#[test]
fn small_and_few_values_are_not_called_structures() {
    assert_eq!(
        register((0..100).map(|i| i * 8)).finding(),
        "cx: 100 values, 0x0-0x318, same 3 low bits (0x0), stride 8"
    );
    assert_eq!(
        register([0x10_0000, 0x10_0040]).finding(),
        "cx: 2 values, 0x100000-0x100040, same 6 low bits (0x00), stride 64"
    );
    assert_eq!(
        register((0..99).map(|i| 0x55_0000_0000 + i * 24)).finding(),
        "cx: 99 values, 0x5500000000-0x5500000930, same 3 low bits (0x0): 8-byte-aligned, stride 24"
    );
    assert_eq!(register([5, 6]).finding(), "cx: 2 values, 0x5-0x6");
    assert_eq!(register([4, 6]).finding(), "cx: 2 values, 0x4-0x6, same 1 low bit (0x0), stride 2");
}

#[test]
fn extremes_do_not_overflow() {
    let register = register([0, u64::MAX, 1 << 63]);
    assert_eq!((register.min, register.max, register.stride), (0, u64::MAX, 1));
    assert_eq!((register.same_mask, register.low_bits()), (0, 0));
}

#[test]
fn beyond_the_limit_only_single_counts_are_bounded() {
    let mut histogram = Histogram::new(["ax".to_owned(), "never".to_owned()], 10);
    for value in 0..1000 {
        histogram.add(0, 0x10_0000 + value * 64);
    }
    histogram.add(7, 1);
    let registers = histogram.finish(2);
    assert_eq!(registers.len(), 1, "a register without values is not shown");
    assert!(!registers[0].distinct_exact);
    assert_eq!(
        registers[0].finding(),
        "ax: at least 11 values, 0x100000-0x10f9c0, same 6 low bits (0x00): \
         64-byte-aligned structures, stride 64"
    );
}

proptest! {
    #[test]
    fn equals_a_naive_count(values in prop::collection::vec(any::<u64>(), 1..60), shift in 0u32..60) {
        let values: Vec<u64> = values.into_iter().map(|v| v >> shift << (shift / 2)).collect();
        let summary = register(values.iter().copied());
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        for value in &values {
            *counts.entry(*value).or_default() += 1;
        }
        let distinct: Vec<u64> = counts.keys().copied().collect();
        prop_assert_eq!(summary.samples, values.len() as u64);
        prop_assert_eq!(summary.distinct, distinct.len() as u64);
        prop_assert_eq!(summary.min, distinct[0]);
        prop_assert_eq!(Some(&summary.max), distinct.last());
        for bit in 0..64 {
            let same = distinct.iter().all(|v| v >> bit & 1 == distinct[0] >> bit & 1);
            prop_assert_eq!(summary.same_mask >> bit & 1 == 1, same);
        }
        let differences: Vec<u64> = distinct.windows(2).map(|pair| pair[1] - pair[0]).collect();
        if summary.stride == 0 {
            prop_assert_eq!(differences.len(), 0);
        } else {
            for difference in &differences {
                prop_assert_eq!(difference % summary.stride, 0);
            }
            prop_assert_eq!(summary.stride.trailing_zeros(), summary.low_bits());
            // No multiple of the stride divides all of them.
            for factor in [2, 3, 5, 7] {
                let larger = summary.stride.checked_mul(factor);
                let divides = larger.is_some_and(|l| differences.iter().all(|d| d % l == 0));
                prop_assert_eq!(divides, false);
            }
        }
        let mut sorted: Vec<ValueCount> =
            counts.into_iter().map(|(value, count)| ValueCount { value, count }).collect();
        sorted.sort_by_key(|v| (std::cmp::Reverse(v.count), v.value));
        sorted.truncate(3);
        prop_assert_eq!(summary.top, sorted);
    }
}

/// A loop over lines of 64 bytes, of which each 64th miss was sampled.
#[test]
fn what_an_even_interval_makes_of_a_loop_is_not_the_loops() {
    let sampled = |interval: u64, step: u64| {
        let values = (0..100).map(|turn| 0x55_0000_0000 + turn * interval * step);
        register(values).at_interval(interval)
    };
    let even = sampled(64, 64);
    assert_eq!(even.known_stride(), None);
    assert_eq!(
        even.finding(),
        "cx: 100 values, 0x5500000000-0x5500063000, same 12 low bits (0x000): \
         64-byte-aligned structures, stride undetermined at even intervals of 64"
    );
    let words = sampled(50, 8);
    assert!(!words.is_structure(), "each 8 bytes, of which an even interval makes 16");
    assert!(
        words.finding().ends_with(": 8-byte-aligned, stride undetermined at even intervals of 50")
    );
    // What an odd interval picks of everywhere has no power of two of its own.
    let nodes =
        register((0..100).map(|turn| 0x55_0000_0000 + turn * turn * 8192)).at_interval(1009);
    assert_eq!(nodes.known_stride(), Some(8192));
    assert!(nodes.is_structure(), "{}", nodes.finding());
}
