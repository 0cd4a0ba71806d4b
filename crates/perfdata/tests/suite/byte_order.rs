//! Recordings of little-endian machines, turned into those of big-endian
//! ones field by field as the kernel and perf lay them out: what is read of
//! both must be the same. The turning is done here, by none of our code.

use perfdata::recording::{RecordingDecoder, RecordingForm, RecordingSource, RecordingStep};
use perfdata::stream::StreamRecord;
use perfdata::{ByteOrder, SidebandRecord};
use std::path::PathBuf;

const TID: u64 = 1 << 1;
const CPU: u64 = 1 << 7;
const SAMPLE_ID_ALL: u64 = 1 << 18;
/// Fields of a sample of one word each, in order; those of a trailer.
const PREFIX: [u64; 9] = [1 << 16, 1, TID, 1 << 2, 1 << 3, 1 << 6, 1 << 9, CPU, 1 << 8];
const TRAILER: [u64; 6] = [TID, 1 << 2, 1 << 6, 1 << 9, CPU, 1 << 16];
/// Of those that come after, the ones that the fixtures have.
const CALLCHAIN: u64 = 1 << 5;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("tests/fixtures")
        .join(name);
    std::fs::read(path).unwrap()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Turns fields where they stand.
struct Turner {
    bytes: Vec<u8>,
    /// Of the first event: the fixtures' events are alike.
    sample_type: u64,
    trailer: bool,
}

impl Turner {
    fn turn(&mut self, mut at: usize, widths: &[usize]) -> usize {
        for &width in widths {
            self.bytes[at..at + width].reverse();
            at += width;
        }
        at
    }

    /// The bits of an attr's flags are allocated from the other end; those of
    /// `precise_ip` keep their order.
    fn attr(&mut self, at: usize) {
        let size = usize::try_from(half(&self.bytes, at + 4)).unwrap();
        let flags = word(&self.bytes, at + 40);
        self.sample_type = word(&self.bytes, at + 24);
        self.trailer = flags & SAMPLE_ID_ALL != 0;
        let precise = flags >> 15 & 3;
        let mut turned = (flags & !(3 << 15)).reverse_bits();
        turned |= precise << (63 - 16);
        self.bytes[at + 40..at + 48].copy_from_slice(&turned.to_be_bytes());
        let end = at + size;
        self.turn(at, &[4, 4, 8, 8, 8, 8]);
        let mut next = self.turn(at + 48, &[4, 4, 8]);
        for width in [8, 8, 8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8] {
            if next < end {
                next = self.turn(next, &[width]);
            }
        }
        assert_eq!(next, end);
    }

    fn words(&mut self, at: usize, end: usize) {
        (at..end).step_by(8).for_each(|at| {
            self.turn(at, &[8]);
        });
    }

    /// Fields of one word, of which two have halves.
    fn fields(&mut self, mut at: usize, order: &[u64]) -> usize {
        let fields = self.sample_type;
        for bit in order.iter().filter(|bit| fields & **bit != 0) {
            at = self.turn(at, if bit & (TID | CPU) != 0 { &[4, 4] } else { &[8] });
        }
        at
    }

    /// The record at an offset; the offset of the next.
    fn record(&mut self, at: usize) -> usize {
        let kind = half(&self.bytes, at);
        let size = usize::from(u16::from_le_bytes(self.bytes[at + 6..at + 8].try_into().unwrap()));
        let (body, end) = (at + 8, at + size);
        let mut trailer = self.trailer;
        match kind {
            // MMAP, LOST, COMM, EXIT, FORK, MMAP2, LOST_SAMPLES
            1 => _ = self.turn(body, &[4, 4, 8, 8, 8]),
            2 => _ = self.turn(body, &[8, 8]),
            3 => _ = self.turn(body, &[4, 4]),
            4 | 7 => _ = self.turn(body, &[4, 4, 4, 4, 8]),
            10 => _ = self.turn(body, &[4, 4, 8, 8, 8, 4, 4, 8, 8, 4, 4]),
            13 => _ = self.turn(body, &[8]),
            9 => {
                trailer = false;
                let next = self.fields(body, &PREFIX);
                if self.sample_type & CALLCHAIN != 0 {
                    self.words(next, end);
                }
            }
            64 => {
                trailer = false;
                self.attr(body);
                let attr = u32::from_be_bytes(self.bytes[body + 4..body + 8].try_into().unwrap());
                self.words(body + usize::try_from(attr).unwrap(), end);
            }
            // Of these nobody here reads what is in them.
            68 | 69 | 73 | 74 | 79 | 82 => trailer = false,
            kind => panic!("the fixtures have no record of type {kind}"),
        }
        if trailer {
            let fields = TRAILER.iter().filter(|bit| self.sample_type & **bit != 0).count();
            self.fields(end - 8 * fields, &TRAILER);
        }
        self.turn(at, &[4, 2, 2]);
        end
    }
}

/// A whole recording, without the features of a file.
fn turned(bytes: Vec<u8>) -> Vec<u8> {
    let mut it = Turner { bytes, sample_type: 0, trailer: false };
    let length = it.bytes.len();
    let mut at = match word(&it.bytes, 8) {
        16 => it.turn(0, &[8, 8]),
        _ => {
            let entry = usize::try_from(word(&it.bytes, 16)).unwrap();
            let section = |it: &Turner, at| {
                let part = |at| usize::try_from(word(&it.bytes, at)).unwrap();
                part(at)..part(at) + part(at + 8)
            };
            let (attrs, data) = (section(&it, 24), section(&it, 40));
            for at in attrs.step_by(entry) {
                let ids = section(&it, at + entry - 16);
                it.words(ids.start, ids.end);
                it.attr(at);
                it.turn(at + entry - 16, &[8, 8]);
            }
            it.words(0, 104);
            let mut at = data.start;
            while at < data.end {
                at = it.record(at);
            }
            length
        }
    };
    while at < length {
        at = it.record(at);
    }
    it.bytes
}

fn read(bytes: &[u8]) -> (ByteOrder, RecordingForm, Vec<String>) {
    let mut decoder = RecordingDecoder::new(RecordingSource::File { length: bytes.len() as u64 });
    let (mut at, mut seen) = (0, Vec::new());
    loop {
        match decoder.step(&bytes[at..]).unwrap() {
            RecordingStep::Record { consumed, stream, record, .. } => {
                at += consumed;
                match record {
                    StreamRecord::Sample(record) => {
                        let sample = record.decode(stream).unwrap();
                        let event = record.event;
                        let chain = sample.callchain.map(|it| it.iter().collect::<Vec<u64>>());
                        let rest = perfdata::Sample { callchain: None, ..sample };
                        seen.push(format!("{event} {rest:?} {chain:?}"));
                    }
                    StreamRecord::Sideband { event, misc, record, id } => {
                        assert!(!matches!(record, SidebandRecord::Unknown { .. }));
                        seen.push(format!("{event} {misc:?} {record:?} {id:?}"));
                    }
                    StreamRecord::Event(index) => {
                        let event = &stream.events()[index];
                        seen.push(format!("{:?} {:?}", event.attr, event.ids));
                    }
                    record => seen.push(format!("{record:?}")),
                }
            }
            RecordingStep::Seek(offset) => at = usize::try_from(offset).unwrap(),
            RecordingStep::NeedMore(_) | RecordingStep::End => break,
        }
    }
    decoder.finish(bytes.len().saturating_sub(at)).unwrap();
    assert_eq!(decoder.stream().tally().unreadable(), None);
    (decoder.stream().order(), decoder.form(), seen)
}

#[test]
fn both_byte_orders_say_the_same() {
    let cases = [
        ("lost_samples-4.4.pipe.data", RecordingForm::Pipe, 200),
        ("group_desc-4.14.file.data", RecordingForm::File, 50),
    ];
    for (name, form, least) in cases {
        let mut little = fixture(name);
        if form == RecordingForm::File {
            little[72..104].fill(0);
            let data = word(&little, 40) + word(&little, 48);
            little.truncate(usize::try_from(data).unwrap());
        }
        let big = turned(little.clone());
        assert_ne!(little, big);
        let (little, big) = (read(&little), read(&big));
        assert_eq!((little.0, big.0), (ByteOrder::Little, ByteOrder::Big), "{name}");
        assert_eq!((little.1, big.1), (form, form), "{name}");
        assert!(little.2.len() > least, "{name}: {} records", little.2.len());
        for (little, big) in little.2.iter().zip(&big.2) {
            assert_eq!(little, big, "{name}");
        }
        assert_eq!(little.2.len(), big.2.len(), "{name}");
    }
}
