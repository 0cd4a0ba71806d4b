//! Any bytes as the raw data of an IBS op: what decodes accounts for every
//! byte, and every question about it has an answer.
//!
//! Input: a byte for the byte order and the CPU, then the raw data.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::ByteOrder;
use perfdata::ibs::{IbsOp, IbsErrata};
use perfdata::sample_filter::{Condition, SampleFilter, Verdict};

fuzz_target!(|input: &[u8]| {
    let Some((choice, raw)) = input.split_first() else { return };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let Ok(op) = IbsOp::decode(raw, order) else { return };
    let optional = usize::from(op.branch_target.is_some()) + usize::from(op.data4.is_some());
    assert_eq!(raw.len(), 4 + 8 * (7 + optional + op.unknown));

    let cpu_id = match choice >> 1 & 3 {
        0 => None,
        1 => Some("AuthenticAMD,23,49,0"),
        2 => Some("AuthenticAMD,25,1,1"),
        _ => Some("AuthenticAMD,25,17,1"),
    };
    let quirks = IbsErrata::of(cpu_id, op.caps);
    assert!(op.source(quirks).is_none() || op.ld_op() && op.dc_miss() && op.l2_miss());
    assert!(op.modified_elsewhere(quirks).is_none() || op.remote_node(quirks).is_none());
    for text in ["ibs:ld_op+ibs:dc_miss+ibs:l2_miss", "src:l3_miss", "src:hitm", "ibs:brn_misp"] {
        let filter: SampleFilter = text.parse().expect("a filter of ours");
        let verdict = filter.judge(|condition| match condition {
            Condition::Ibs(ibs) => op.holds(ibs, quirks),
            Condition::Source(source) => op.served(source, quirks),
            Condition::Class(_) | Condition::Mode(_) => None,
        });
        assert!(verdict != Verdict::Keep || op.ld_op() || op.st_op() || op.brn_ret());
    }
});
