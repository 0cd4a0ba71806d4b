//! Any attr and any bytes as a sample of it: what decodes must write itself
//! back to the same meaning, and the short cuts must agree with the decoder.
//!
//! Input: a byte for the byte order, an attr, then misc and the payload.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::attr::BranchSampleType;
use perfdata::{Attr, ByteOrder, Misc, SampleLayout};

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let Ok(attr) = Attr::decode(bytes, order) else { return };
    let Ok(layout) = SampleLayout::new(&attr, order) else { return };
    let rest = &bytes[attr.size as usize..];
    let Some((misc, payload)) = rest.split_first_chunk() else { return };
    let misc = Misc(u16::from_le_bytes(*misc));

    if let Ok(id) = layout.trailer(payload) {
        let mut trailer = Vec::new();
        layout.encode_trailer(&id, &mut trailer).expect("a trailer fits its own layout");
        assert_eq!(trailer.len(), layout.trailer_size());
        assert_eq!(layout.trailer(&trailer), Ok(id));
    }

    let Ok(sample) = layout.decode(misc, payload) else { return };
    assert_eq!(layout.peek_ip(payload), sample.ip);
    assert_eq!(layout.peek_task(payload), sample.task);
    assert_eq!(layout.peek_time(payload), sample.time);
    assert_eq!(layout.peek_id(payload), sample.identifier.or(sample.id));
    if let Some(source) = sample.data_src {
        assert!(!source.to_string().is_empty());
    }
    if let Some(branches) = &sample.branch_stack {
        assert_eq!(branches.branches().count() * 3, branches.entries.len());
    }

    // An empty branch stack may stand with or without its hardware index, and
    // only the length of the record tells; padding, which the encoder does
    // not write again, makes both readings possible.
    let indexed = attr.branch_sample_type.contains(BranchSampleType::HW_INDEX);
    let either = indexed && sample.branch_stack.is_some_and(|stack| stack.entries.is_empty());
    let mut again = Vec::new();
    match layout.encode(&sample, &mut again) {
        Ok(()) if either => {}
        Ok(()) => assert_eq!(layout.decode(misc, &again[8..]).as_ref(), Ok(&sample)),
        Err(error) => assert!(payload.len() > 65_527, "{error}"),
    }
});
