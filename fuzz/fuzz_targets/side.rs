//! Any bytes as a sideband record: what decodes must write itself back to the
//! same meaning.
//!
//! Input: a byte for the byte order, the record type, misc (little-endian),
//! then the body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::bytes::Cursor;
use perfdata::{ByteOrder, Misc, RecordHeader, RecordType, SidebandRecord};

fuzz_target!(|input: &[u8]| {
    let Some((&[choice, kind, misc_low, misc_high], body)) = input.split_first_chunk() else {
        return;
    };
    let order = if choice & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let kind = RecordType(u32::from(kind));
    let misc = Misc(u16::from_le_bytes([misc_low, misc_high]));
    let header = RecordHeader { kind, misc, size: 0 };
    let Ok(record) = SidebandRecord::decode(header, body, order) else { return };
    assert_eq!(record.kind(), kind);

    let mut again = Vec::new();
    match record.encode(misc, &[], order, &mut again) {
        Ok(()) => {
            let header = RecordHeader::decode(&mut Cursor::new(&again, order)).expect("a header");
            assert_eq!(usize::from(header.size), again.len());
            assert_eq!(SidebandRecord::decode(header, &again[8..], order).as_ref(), Ok(&record));
        }
        // The first form of MMAP2, of Linux 3.12, is read and not written.
        Err(_) if matches!(&record, SidebandRecord::Mmap2(it) if it.protection.is_none()) => {}
        Err(error) => assert!(body.len() > 65_500, "{error}"),
    }
});
