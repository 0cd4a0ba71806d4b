//! What is in a stream, counted by the layout of perf.data alone.

use std::collections::BTreeMap;

/// Bytes of the header of a stream in pipe form.
const PIPE_HEADER: usize = 16;

/// Records of a stream.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// PERF_RECORD_SAMPLE.
    pub samples: u64,
    /// What LOST records say is missing, by event id.
    pub gaps: BTreeMap<u64, u64>,
    /// Samples by instruction.
    pub at: BTreeMap<u64, u64>,
}

impl Counted {
    /// Walks a stream that must be made of whole records.
    #[track_caller]
    pub(super) fn new(stream: &[u8]) -> Counted {
        let (counted, rest) = Counted::walk(stream);
        assert!(rest.is_empty(), "{} bytes that are no record", rest.len());
        counted
    }

    /// Walks a stream up to its last whole record.
    #[track_caller]
    pub(super) fn of_begun(stream: &[u8]) -> Counted {
        Counted::walk(stream).0
    }

    fn walk(stream: &[u8]) -> (Counted, &[u8]) {
        let mut counted = Counted::default();
        assert!(stream.starts_with(b"PERFILE2"), "a stream in pipe form");
        let mut rest = &stream[PIPE_HEADER..];
        while let Some(size) = rest.get(6..8) {
            let size = usize::from(u16::from_le_bytes(size.try_into().unwrap()));
            let Some((record, after)) = rest.split_at_checked(size.max(8)) else { break };
            let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
            match u32::from_le_bytes(record[..4].try_into().unwrap()) {
                2 => *counted.gaps.entry(word(8)).or_default() += word(16),
                // Behind the header the event's id, then the instruction.
                9 => {
                    counted.samples += 1;
                    *counted.at.entry(word(16)).or_default() += 1;
                }
                _ => {}
            }
            rest = after;
        }
        (counted, rest)
    }
}
