//! Any bytes as an attr: what decodes must write itself back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::{Attr, ByteOrder, SampleLayout};

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let Ok(attr) = Attr::decode(bytes, order) else { return };

    let mut again = Vec::new();
    attr.encode(attr.size, order, &mut again).expect("an attr fits its own size");
    // Only a size field of 0, which means 64, may change.
    assert_eq!(again[..4], bytes[..4]);
    assert_eq!(again[8..], bytes[8..again.len()]);
    assert_eq!(Attr::decode(&again, order).as_ref(), Ok(&attr));

    let _ = attr.sampling();
    if let Ok(layout) = SampleLayout::new(&attr, order) {
        assert!(layout.trailer_size() <= 48);
    }
});
