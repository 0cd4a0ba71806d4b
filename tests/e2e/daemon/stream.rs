//! What is in a stream, counted by the layout of perf.data alone.

use std::collections::BTreeMap;

/// Bytes of the header of a stream in pipe form, and in file form.
pub(super) const PIPE_HEADER: usize = 16;
pub(super) const FILE_HEADER: usize = 104;

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

    /// Walks a stream up to its last whole record; none may have begun.
    #[track_caller]
    pub(super) fn of_begun(stream: &[u8]) -> Counted {
        if stream.is_empty() { Counted::default() } else { Counted::walk(stream).0 }
    }

    fn walk(stream: &[u8]) -> (Counted, &[u8]) {
        let mut counted = Counted::default();
        let rest = counted.add(records(stream));
        (counted, rest)
    }

    /// Adds records up to the last whole one; gives what is left of them.
    pub(super) fn add<'s>(&mut self, records: &'s [u8]) -> &'s [u8] {
        let mut rest = records;
        while let Some(size) = rest.get(6..8) {
            let size = usize::from(u16::from_le_bytes(size.try_into().unwrap()));
            let Some((record, after)) = rest.split_at_checked(size.max(8)) else { break };
            let word = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
            match u32::from_le_bytes(record[..4].try_into().unwrap()) {
                2 => *self.gaps.entry(word(8)).or_default() += word(16),
                // Behind the header the event's id, then the instruction.
                9 => {
                    self.samples += 1;
                    *self.at.entry(word(16)).or_default() += 1;
                }
                _ => {}
            }
            rest = after;
        }
        rest
    }

    /// Samples, and what LOST records say is missing.
    pub(super) fn all(&self) -> u64 {
        self.samples + self.gaps.values().sum::<u64>()
    }
}

/// The records of a stream in either form; of a file that is being written as
/// many as its header tells of.
#[track_caller]
fn records(stream: &[u8]) -> &[u8] {
    assert!(stream.starts_with(b"PERFILE2"), "no perf.data");
    let word = |at: usize| {
        let bytes = stream[at..at + 8].try_into().unwrap();
        usize::try_from(u64::from_le_bytes(bytes)).unwrap()
    };
    match word(8) {
        PIPE_HEADER => &stream[PIPE_HEADER..],
        FILE_HEADER => &stream[word(40)..][..word(48)],
        size => panic!("a header of {size} bytes"),
    }
}
