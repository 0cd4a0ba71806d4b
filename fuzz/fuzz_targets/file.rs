//! Any bytes as a recording of any form: no panic, an end, the same records
//! however the input is cut and whether or not its length is known, only
//! bytes of the file are asked for, and reading takes no more memory than the
//! file has and 64 MiB.
//!
//! Input: a byte that sets the size of the pieces, then the recording.
#![no_main]

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;
use perfdata::recording::{RecordingDecoder, RecordingForm, RecordingSource, RecordingStep};
use perfdata::stream::StreamRecord;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What reading may take besides as much as the input has; what zstd takes is
/// limited where it is asked for.
const BEYOND: usize = 64 << 20;

/// A block of zstd takes 4 bytes at least and gives 16,384 records at most.
const RECORDS_A_BYTE: usize = 4_096;

/// One number for all that was read, in whichever pieces.
fn read(bytes: &[u8], piece: usize, source: RecordingSource) -> (u64, bool) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let mut decoder = RecordingDecoder::new(source);
    let (mut start, mut end, mut seen, mut steps) = (0, 0, 0u64, 0);
    let sound = loop {
        match decoder.step(&bytes[start..end]) {
            Err(error) => {
                assert!(!error.to_string().is_empty());
                break false;
            }
            Ok(RecordingStep::NeedMore(wanted)) => {
                assert!(wanted > end - start);
                if end == bytes.len() {
                    if decoder.end(end - start) {
                        continue;
                    }
                    break decoder.finish(end - start).is_ok();
                }
                end = (end + piece).min(bytes.len());
            }
            Ok(RecordingStep::Seek(offset)) => {
                start = usize::try_from(offset).expect("is in the file");
                assert!(start <= bytes.len());
                end = start;
            }
            Ok(RecordingStep::End) => break decoder.finish(end - start).is_ok(),
            Ok(RecordingStep::Record { consumed, stream, record, .. }) => {
                assert!(consumed <= end - start);
                start += consumed;
                steps += 1;
                assert!(steps <= (bytes.len() + 1) * RECORDS_A_BYTE, "no end");
                match record {
                    // As many as there were pieces.
                    StreamRecord::Payload(_) => continue,
                    StreamRecord::Sample(sample) => {
                        seen += u64::from(sample.decode(stream).is_some());
                    }
                    StreamRecord::Sideband { event, .. } => {
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
    assert!(MEMORY.peak_usage() - before <= BEYOND + bytes.len());
    (seen, sound)
}

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    let (whole, cut) = (bytes.len().max(1), usize::from(*choice) + 1);
    let file = RecordingSource::File { length: bytes.len() as u64 };
    let found = read(bytes, whole, file);
    assert_eq!(found, read(bytes, cut, file));
    if RecordingForm::find(bytes) == RecordingForm::Pipe {
        assert_eq!(found, read(bytes, cut, RecordingSource::Pipe));
    }
});
