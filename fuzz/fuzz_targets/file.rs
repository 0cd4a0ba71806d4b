//! Any bytes as a recording of any form: no panic, an end, the same records
//! however the input is cut, only bytes of the file are asked for, and ids
//! and features take no more than the file has.
//!
//! Input: a byte that sets the size of the pieces, then the recording.
#![no_main]

use libfuzzer_sys::fuzz_target;
use record::recording::{Decoder, Source, Step};
use record::stream::StreamRecord;

/// A block of zstd takes 4 bytes at least and gives 16,384 records at most.
const RECORDS_A_BYTE: usize = 4_096;

/// One number for all that was read, in whichever pieces.
fn read(bytes: &[u8], piece: usize) -> (u64, bool) {
    let mut decoder = Decoder::new(Source::File { length: bytes.len() as u64 });
    let (mut start, mut end, mut seen, mut steps) = (0, 0, 0u64, 0);
    let sound = loop {
        match decoder.step(&bytes[start..end]) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break false;
            }
            Ok(Step::NeedMore(wanted)) => {
                assert!(wanted > end - start);
                if end == bytes.len() {
                    break decoder.finish(end - start).is_ok();
                }
                end = (end + piece).min(bytes.len());
            }
            Ok(Step::Seek(offset)) => {
                start = usize::try_from(offset).expect("is in the file");
                assert!(start <= bytes.len());
                end = start;
            }
            Ok(Step::End) => break decoder.finish(end - start).is_ok(),
            Ok(Step::Record { consumed, stream, record, .. }) => {
                assert!(consumed <= end - start);
                start += consumed;
                steps += 1;
                assert!(steps <= (bytes.len() + 1) * RECORDS_A_BYTE, "no end");
                match record {
                    // As many as there were pieces.
                    StreamRecord::Payload(_) => continue,
                    StreamRecord::Sample { event, misc, payload } => {
                        let layout = &stream.events()[event].layout;
                        seen += u64::from(layout.decode(misc, payload).is_ok());
                    }
                    StreamRecord::Side { event, .. } => {
                        seen += stream.events()[event].ids.len() as u64;
                    }
                    StreamRecord::EventUpdate(event) | StreamRecord::Event(event) => {
                        assert!(event < stream.events().len());
                    }
                    StreamRecord::Packed { .. } => panic!("is not for callers"),
                    _ => {}
                }
                seen = seen.wrapping_mul(31).wrapping_add(1);
            }
        }
    };
    let ids: usize = decoder.stream().events().iter().map(|event| event.ids.len()).sum();
    assert!(ids <= bytes.len() / 8);
    (seen, sound)
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    assert_eq!(read(bytes, bytes.len().max(1)), read(bytes, usize::from(*choice) + 1));
});
