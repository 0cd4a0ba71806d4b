//! Any bytes as a part of an aggregate: no panic; what is read is written
//! back byte for byte; merging sites with themselves and each other, in
//! either order, gives the same sums, and what it gives can be written.
//!
//! Input: a byte whose first bit is the byte order, then the part.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::ByteOrder;
use perfdata::aggregate::{Aggregate, AggregateAssembler, AggregatePart, Site};

/// What merging must not leave to chance.
fn sums(aggregate: &Aggregate) -> Vec<Site> {
    let mut sites: Vec<Site> = aggregate.sites.clone();
    sites.iter_mut().for_each(|site| site.taken.clear());
    sites.sort_by_key(Site::key);
    sites
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let part = match AggregatePart::decode(bytes, order) {
        Ok(part) => part,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut again = Vec::new();
    part.encode(order, &mut again).unwrap();
    assert_eq!(again, bytes);

    let mut assembler = AggregateAssembler::default();
    let first = assembler.add(AggregatePart { number: 0, is_last: true, ..part.clone() });
    let Some(whole) = first.whole else { return };
    let mut state = u64::from(*choice) | 1;
    let mut chance = |below: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) % below
    };
    let one = |site: &Site| Aggregate { sites: vec![site.clone()], ..Aggregate::default() };
    let mut forth = Aggregate::default();
    whole.sites.iter().for_each(|site| forth.merge(one(site), &mut chance));
    let mut back = Aggregate::default();
    whole.sites.iter().rev().for_each(|site| back.merge(one(site), &mut chance));
    // Sites of one key may disagree on which registers they have: what all
    // of them have is the same in any order.
    assert_eq!(sums(&forth), sums(&back));
    assert_eq!(forth.count(), back.count());
    forth.merge(back, &mut chance);
    for part in forth.into_parts() {
        part.encode(order, &mut Vec::new()).unwrap();
    }
});
