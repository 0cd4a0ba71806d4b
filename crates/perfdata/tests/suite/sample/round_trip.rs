//! Every sample_type bit, every pair and random sets, with every form of READ
//! and of branch stacks, in both byte orders: bytes <-> sample.

use super::generate::{FIELDS, Values, attr, layout, values};
use perfdata::Misc;
use perfdata::attr::{Attr, SampleType};
use perfdata::bytes::ByteOrder;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
const BOTH_WEIGHTS: SampleType = SampleType::WEIGHT.union(SampleType::WEIGHT_STRUCT);
const HW_INDEX: u64 = 1 << 17;
const COUNTERS: u64 = 1 << 19;

fn some_values() -> Values {
    let tree = values().new_tree(&mut TestRunner::deterministic()).unwrap();
    let mut values = tree.current();
    // The fixed cases must have something in every variable field.
    values.chain.push(7);
    values.branches.push([1, 2, 3]);
    values.counters.push(4);
    values.stack.extend([9; 8]);
    values.aux.extend([8; 8]);
    values.abi = [1, 2];
    values
}

/// Both ways, byte for byte.
fn check(values: &Values, attr: &Attr, order: ByteOrder) {
    let layout = layout(attr, order);
    let bytes = values.bytes(attr, order);
    let sample = values.sample(attr, order, &bytes);
    assert_eq!(layout.decode(Misc(2), &bytes.payload).as_ref(), Ok(&sample), "{attr:?} {order:?}");

    let mut record = vec![0xcc];
    layout.encode(&sample, &mut record).unwrap();
    let payload = &record[9..];
    // RAW alone ends where its 4-byte size puts it.
    assert_eq!(payload.len(), bytes.payload.len().next_multiple_of(8));
    assert_eq!(payload[..bytes.payload.len()], bytes.payload, "{attr:?} {order:?}");

    assert_eq!(layout.peek_ip(payload), sample.ip);
    assert_eq!(layout.peek_task(payload), sample.task);
    assert_eq!(layout.peek_time(payload), sample.time);
    assert_eq!(layout.peek_id(payload), sample.identifier.or(sample.id));
}

#[test]
fn every_single_field_and_every_pair() {
    let values = some_values();
    for first in FIELDS {
        for second in FIELDS {
            let fields = first | second;
            for order in ORDERS {
                if fields.contains(BOTH_WEIGHTS) {
                    let attr = attr(fields, 0, 0);
                    assert!(perfdata::SampleLayout::new(&attr, order).is_err());
                } else {
                    check(&values, &attr(fields, 0, 0), order);
                }
            }
        }
    }
}

#[test]
fn every_read_format_before_and_after_other_fields() {
    let values = some_values();
    let fields = SampleType::IP | SampleType::READ | SampleType::PHYS_ADDR;
    for read_format in 0..32 {
        for order in ORDERS {
            check(&values, &attr(fields, read_format, 0), order);
        }
    }
}

#[test]
fn every_form_of_branch_stack_before_and_after_other_fields() {
    let values = some_values();
    let fields = SampleType::CALLCHAIN | SampleType::BRANCH_STACK | SampleType::CGROUP;
    for branch in [0, HW_INDEX, COUNTERS, HW_INDEX | COUNTERS, (1 << 20) - 1] {
        for order in ORDERS {
            check(&values, &attr(fields, 0, branch), order);
        }
    }
}

fn any_attr() -> impl Strategy<Value = Attr> {
    let branch = prop_oneof![Just(0), Just(HW_INDEX), Just(COUNTERS), 0u64..1 << 20];
    (0u64..1 << 25, 0u64..32, branch).prop_map(|(fields, read_format, branch)| {
        let mut fields = SampleType::from_bits_retain(fields);
        if fields.contains(BOTH_WEIGHTS) {
            fields.remove(SampleType::WEIGHT);
        }
        attr(fields, read_format, branch)
    })
}

fn any_order() -> impl Strategy<Value = ByteOrder> {
    prop::sample::select(&ORDERS[..])
}

proptest! {
    #[test]
    fn any_set_of_fields(values in values(), attr in any_attr(), order in any_order()) {
        check(&values, &attr, order);
    }

    /// A record cut anywhere is an error, unless only padding was cut or the
    /// hardware index of an empty branch stack, which may be missing.
    #[test]
    fn any_truncation(values in values(), attr in any_attr(), order in any_order()) {
        let layout = layout(&attr, order);
        let bytes = values.bytes(&attr, order);
        let sample = values.sample(&attr, order, &bytes);
        let ambiguous = sample.branch_stack.is_some_and(|branches| {
            branches.hw_index.is_some() && branches.entries.is_empty()
        });
        for cut in 0..bytes.payload.len() {
            if let Ok(shorter) = layout.decode(Misc(2), &bytes.payload[..cut]) {
                prop_assert!(ambiguous, "{} of {} bytes: {:?}", cut, bytes.payload.len(), shorter);
            }
        }
        for padding in [4, 8, 16] {
            let mut longer = bytes.payload.clone();
            longer.resize(longer.len() + padding, 0);
            if ambiguous {
                continue;
            }
            let padded = layout.decode(Misc(2), &longer);
            prop_assert_eq!(padded.as_ref(), Ok(&sample));
            *longer.last_mut().unwrap() = 1;
            prop_assert!(layout.decode(Misc(2), &longer).is_err());
        }
    }

    /// Whatever decodes writes itself back, up to padding and reserved bits.
    #[test]
    fn any_bytes(
        payload in prop::collection::vec(prop_oneof![3 => Just(0u8), 1 => any::<u8>()], 0..300),
        attr in any_attr(),
        order in any_order(),
    ) {
        let layout = layout(&attr, order);
        if let Ok(sample) = layout.decode(Misc(0x4001), &payload) {
            let mut record = Vec::new();
            layout.encode(&sample, &mut record).unwrap();
            let again = layout.decode(Misc(0x4001), &record[8..]);
            prop_assert_eq!(again.as_ref(), Ok(&sample));
        }
    }
}
