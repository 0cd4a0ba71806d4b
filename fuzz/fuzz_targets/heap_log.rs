//! Any words as a slot of the memory that preloaded programs write: no panic,
//! what is read can be written again, and no length or place is beyond the
//! memory. The rest as what a sample of the heap says.
//!
//! Input: a byte for the rate, a slot's words, then bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::heap_log::{FRONT, LONGEST, SLOT, WORDS, room, slot, weight};
use perfdata::{HeapChange, HeapLogRecord, MappingChange};

fuzz_target!(|input: &[u8]| {
    let Some((choice, rest)) = input.split_first() else { return };
    let rate = 1u64 << (choice % 64);
    let (front, raw) = rest.split_at(rest.len().min(SLOT * 8));
    let mut words = [0; SLOT];
    for (word, bytes) in words.iter_mut().zip(front.chunks_exact(8)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    }
    let at = slot(words[0], room(rate));
    assert!(at >= FRONT && at + SLOT <= WORDS);
    assert!(weight(words[1], rate) >= 1.0);
    if let Some(record) = HeapLogRecord::decode(&words) {
        assert!((1..=LONGEST).contains(&record.slots));
        assert!(record.stack <= (record.slots - 1) * SLOT);
        assert!(record.call.event() < 3);
        assert_eq!(HeapLogRecord::decode(&record.encode()), Some(record));
    }
    if let Some(change) = HeapChange::decode(raw) {
        assert_eq!(HeapChange::decode(&change.encode()), Some(change));
    }
    if let Some(change) = MappingChange::decode(raw) {
        assert_eq!(MappingChange::decode(&change.encode()), Some(change));
        assert_eq!(HeapChange::decode(raw), None);
    }
});
