//! Any bytes as a stream: no panic, progress with every step, the same
//! records however the input is cut, and whatever was promised to decode
//! either does or says why not.
//!
//! Input: a byte that sets the size of the pieces, then the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use perfdata::stream::{StreamDecoder, StreamRecord, StreamStep};

/// One number for all that was read, in whichever pieces.
fn read(bytes: &[u8], piece: usize) -> (u64, u64, bool) {
    let mut decoder = StreamDecoder::new();
    let (mut at, mut end, mut seen) = (0, 0, 0u64);
    loop {
        match decoder.step(&bytes[at..end]) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                return (seen, decoder.offset(), false);
            }
            Ok(StreamStep::NeedMore(wanted)) => {
                assert!(wanted > end - at);
                if end == bytes.len() {
                    return (seen, decoder.offset(), decoder.finish(end - at).is_ok());
                }
                end = (end + piece).min(bytes.len());
            }
            Ok(StreamStep::Record { consumed, record }) => {
                assert!(consumed > 0 && consumed <= end - at);
                at += consumed;
                assert_eq!(decoder.offset(), at as u64);
                match record {
                    // As many as there were pieces.
                    StreamRecord::Payload(_) => continue,
                    StreamRecord::Sample(sample) => {
                        seen += u64::from(sample.decode(&decoder).is_some());
                    }
                    StreamRecord::Sideband { event, .. } => {
                        seen += decoder.events()[event].ids.len() as u64
                    }
                    StreamRecord::EventUpdate(event) | StreamRecord::Event(event) => {
                        assert!(event < decoder.events().len());
                    }
                    _ => {}
                }
                seen = seen.wrapping_mul(31).wrapping_add(1);
            }
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    assert_eq!(read(bytes, bytes.len().max(1)), read(bytes, usize::from(*choice) + 1));
});
