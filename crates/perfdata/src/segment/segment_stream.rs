//! A segment as a stream in pipe form, as if it were a recording by itself.

use std::io::{self, Chain, Cursor, Read};
use std::time::Duration;

use super::packed_segment::{PackedSegment, SKIPPABLE};
use super::segment_header::{MAGIC, SegmentHeader};
use super::segment_reader::{SegmentReadError, SegmentReader};
use crate::aggregate::samples_of;
use crate::bytes::{self, ByteOrder};
use crate::header::{RecordHeader, RecordType};
use crate::stream::{StreamDecoder, StreamStep, note, write};

/// Bytes of a stream's own header, before its first record.
const FILE_HEADER: usize = 16;
/// Bytes of an EVENT_UPDATE before its text: header, kind, id.
const BEFORE_TEXT: usize = 24;

type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

enum Unpacked<R> {
    Plain(Whole<R>),
    Packed(PackedSegment<Whole<R>>),
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Unpacked::Plain(source) => source.read(buffer),
            Unpacked::Packed(source) => source.read(buffer),
        }
    }
}

/// Reads as the stream that a segment holds. Its recorder's ledger is of all of
/// a sampling, and in the last segment of it: of a segment that is not all, the
/// account of what it holds takes its place. Where it is damaged, reading fails
/// behind all that is whole.
pub struct SegmentStream<R> {
    reader: SegmentReader<Unpacked<R>>,
    order: ByteOrder,
    /// An id of each event whose ledger is still to come.
    ids: Vec<u64>,
    samples: u64,
    /// When the last frame was written; 0: none was.
    last: u64,
    is_begun: bool,
    has_ended: bool,
    out: Vec<u8>,
    at: usize,
}

impl<R: Read> SegmentStream<R> {
    /// Bytes from the start that tell a segment.
    pub const TOLD_BY: usize = 16;

    /// Whether a file that begins with these bytes, [`SegmentStream::TOLD_BY`] of
    /// them, is a segment, packed or not.
    pub fn is_front(front: &[u8]) -> bool {
        front.starts_with(&MAGIC) || is_packed(front) && front.get(8..16) == Some(&MAGIC[..])
    }

    /// Begins to read a segment, of which `front` was read already.
    ///
    /// # Errors
    /// It is none, or cannot be read.
    pub fn new(mut front: Vec<u8>, mut rest: R) -> Result<SegmentStream<R>, SegmentReadError> {
        let wanted = Self::TOLD_BY.saturating_sub(front.len());
        rest.by_ref().take(wanted as u64).read_to_end(&mut front)?;
        let is_packed = is_packed(&front);
        let whole = Cursor::new(front).chain(rest);
        let reader = SegmentReader::new(match is_packed {
            true => Unpacked::Packed(PackedSegment::new(whole)),
            false => Unpacked::Plain(whole),
        })?;
        Ok(SegmentStream {
            reader,
            order: ByteOrder::Little,
            ids: Vec::new(),
            samples: 0,
            last: 0,
            is_begun: false,
            has_ended: false,
            out: Vec::new(),
            at: 0,
        })
    }

    /// Which segment it is.
    pub fn header(&self) -> &SegmentHeader {
        self.reader.header()
    }

    fn fill(&mut self) -> io::Result<()> {
        (self.out, self.at) = (Vec::new(), 0);
        while self.out.is_empty() && !self.has_ended {
            let is_part = self.reader.header().part > 0;
            let Some(frame) = self.reader.next_frame()? else {
                self.has_ended = true;
                if self.reader.is_damaged() {
                    let (number, good) = (self.reader.header().number, self.reader.good());
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("segment {number} is damaged from byte {good} on"),
                    ));
                }
                self.account();
                return Ok(());
            };
            self.last = self.last.max(frame.time);
            let mut records = frame.payload;
            if !std::mem::replace(&mut self.is_begun, true) {
                (self.order, self.ids) = described(frame.payload);
                let (front, rest) = records.split_at(FILE_HEADER.min(records.len()));
                self.out.extend(front);
                records = rest;
            }
            while let Some((record, rest)) = split(records, self.order) {
                records = rest;
                if kind(record, self.order) == RecordType::SAMPLE {
                    self.samples += 1;
                } else if let Some(counted) = samples_of(record, self.order) {
                    self.samples = self.samples.saturating_add(counted);
                } else if is_ledger(record, self.order) {
                    if is_part {
                        continue;
                    }
                    self.ids.clear();
                }
                self.out.extend(record);
            }
        }
        Ok(())
    }

    /// Ends a stream without a ledger with an account of what it has: readers
    /// know by it that it is whole.
    fn account(&mut self) {
        let mut samples = self.samples;
        let nanoseconds = self.last.saturating_sub(self.reader.header().begun);
        let seconds = Duration::from_nanos(nanoseconds).as_secs_f64();
        for id in std::mem::take(&mut self.ids) {
            let delivered = std::mem::take(&mut samples);
            let text = format!("delivered={delivered};seconds={seconds:.6}");
            // It is short enough.
            let _fits = write::event_unit(id, &text, self.order, &mut self.out);
        }
    }
}

impl<R: Read> Read for SegmentStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.out.len() {
            self.fill()?;
        }
        let mut left = self.out.get(self.at..).unwrap_or_default();
        let read = left.read(buffer)?;
        self.at += read;
        Ok(read)
    }
}

impl<R> std::fmt::Debug for SegmentStream<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentStream").field("samples", &self.samples).finish_non_exhaustive()
    }
}

fn is_packed(front: &[u8]) -> bool {
    front.starts_with(&SKIPPABLE.to_le_bytes())
}

/// The byte order of a stream, and an id of each event that is to have a
/// ledger.
fn described(front: &[u8]) -> (ByteOrder, Vec<u64>) {
    let mut decoder = StreamDecoder::new();
    let mut rest = front;
    while let Ok(StreamStep::Record { consumed, .. }) = decoder.step(rest) {
        rest = rest.get(consumed..).unwrap_or_default();
    }
    let sampled = decoder.events().iter().filter(|event| event.lacks_ledger());
    (decoder.order(), sampled.filter_map(|event| event.ids.first().copied()).collect())
}

/// The first record, and what follows; what is no whole record is one, so that
/// whoever decodes it says so.
fn split(bytes: &[u8], order: ByteOrder) -> Option<(&[u8], &[u8])> {
    if bytes.is_empty() {
        return None;
    }
    let header = RecordHeader::decode(&mut bytes::Cursor::new(bytes, order)).ok();
    let size = header.map_or(bytes.len(), |it| usize::from(it.size).max(RecordHeader::SIZE));
    Some(bytes.split_at(size.min(bytes.len())))
}

fn kind(record: &[u8], order: ByteOrder) -> RecordType {
    let header = RecordHeader::decode(&mut bytes::Cursor::new(record, order));
    header.map_or(RecordType(0), |header| header.kind)
}

/// Whether it is the account of an event, which comes last.
fn is_ledger(record: &[u8], order: ByteOrder) -> bool {
    let text = String::from_utf8_lossy(record.get(BEFORE_TEXT..).unwrap_or_default());
    kind(record, order) == RecordType::EVENT_UPDATE
        && note::value(text.trim_end_matches('\0'), "delivered").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{Attr, AttrFlags, EventType, SampleType};
    use crate::sample::{Sample, SampleLayout};
    use crate::segment::{HEAD, StoredFrame, encode, pack};
    use crate::units::Time;

    const ORDER: ByteOrder = ByteOrder::Little;

    fn attr() -> Attr {
        Attr {
            kind: EventType::SOFTWARE,
            config: 2,
            sample_type: SampleType::IDENTIFIER | SampleType::IP | SampleType::TIME,
            flags: AttrFlags::SAMPLE_ID_ALL,
            ..Attr::default()
        }
    }

    fn note(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        write::event_unit(1, text, ORDER, &mut out).unwrap();
        out
    }

    fn samples(number: u64) -> Vec<u8> {
        let layout = SampleLayout::new(&attr(), ORDER).unwrap();
        let mut out = Vec::new();
        for at in 0..number {
            let (identifier, ip, time) = (Some(1), Some(at), Some(Time(at)));
            layout.encode(&Sample { identifier, ip, time, ..Sample::default() }, &mut out).unwrap();
        }
        out
    }

    /// One of an event with promises, and frames of records behind these.
    fn segment(part: u64, frames: &[Vec<u8>]) -> Vec<u8> {
        let mut head = Vec::new();
        write::file_header(ORDER, &mut head);
        write::attr(&attr(), &[1, 2], ORDER, &mut head).unwrap();
        head.extend(note("source=kernel-software"));
        let header = SegmentHeader {
            boot: [1; 16],
            realtime_offset: 0,
            number: 7,
            stream: 5,
            part,
            begun: 9,
        };
        let mut bytes = header.encode().to_vec();
        assert!(encode(&StoredFrame { time: HEAD, payload: &head }, &mut bytes));
        for payload in frames {
            assert!(encode(&StoredFrame { time: 1_500_000_009, payload }, &mut bytes));
        }
        bytes
    }

    /// The stream up to its end, or up to what is damaged.
    fn streamed(bytes: &[u8]) -> (Vec<u8>, io::Result<()>) {
        let (front, rest) = bytes.split_at(5);
        let mut stream = SegmentStream::new(front.to_vec(), rest).unwrap();
        let (mut out, mut piece) = (Vec::new(), [0; 7]);
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return (out, Ok(())),
                Ok(read) => out.extend(&piece[..read]),
                Err(error) => return (out, Err(error)),
            }
        }
    }

    /// Samples of a stream, and what ledgers say was delivered.
    fn told(stream: &[u8]) -> (usize, Vec<String>) {
        let mut decoder = StreamDecoder::new();
        let (mut rest, mut samples) = (stream, 0);
        while let Ok(StreamStep::Record { consumed, record }) = decoder.step(rest) {
            samples += usize::from(matches!(record, crate::stream::StreamRecord::Sample(_)));
            rest = &rest[consumed..];
        }
        assert!(rest.is_empty());
        let [event] = decoder.events() else { panic!("{:?}", decoder.events()) };
        assert!(!event.lacks_ledger());
        let delivered = event.notes.iter().filter_map(|text| note::value(text, "delivered"));
        (samples, delivered.map(str::to_owned).collect())
    }

    #[test]
    fn the_ledger_is_that_of_the_segment() {
        let ledger = note("delivered=99;lost.ring=1");
        // All of a sampling, its first segment, its last one, one between.
        for (part, has_ledger, expected) in
            [(0, true, "99"), (0, false, "5"), (3, true, "5"), (3, false, "5")]
        {
            let mut frames = vec![samples(2), samples(3)];
            if has_ledger {
                frames.push(ledger.clone());
            }
            let (stream, end) = streamed(&segment(part, &frames));
            end.unwrap();
            assert_eq!(told(&stream), (5, vec![expected.to_owned()]), "{part} {has_ledger}");
            let seconds = b";seconds=1.500000";
            let is_own = stream.windows(seconds.len()).any(|text| text == seconds);
            assert_eq!(is_own, expected == "5", "{part} {has_ledger}");
        }
    }

    #[test]
    fn packed_it_is_the_same_stream() {
        let bytes = segment(0, &[samples(40)]);
        let mut packed = Vec::new();
        pack(&bytes[..], &mut packed).unwrap();
        assert_eq!(streamed(&packed).0, streamed(&bytes).0);
        for whole in [&bytes, &packed] {
            assert!(SegmentStream::<io::Empty>::is_front(
                &whole[..SegmentStream::<io::Empty>::TOLD_BY]
            ));
        }
        for other in [&b"PERFILE2\x10\0\0\0\0\0\0\0"[..], &packed[..8], b"", b"HMSEGM"] {
            assert!(!SegmentStream::<io::Empty>::is_front(other), "{other:?}");
        }
    }

    #[test]
    fn what_is_damaged_ends_it_behind_what_is_whole() {
        let bytes = segment(3, &[samples(2), samples(3)]);
        let whole = segment(3, &[samples(2)]).len();
        for cut in whole + 1..bytes.len() {
            let (stream, end) = streamed(&bytes[..cut]);
            let error = end.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{cut}");
            let said = error.to_string();
            assert!(said.contains(&format!("segment 7 is damaged from byte {whole} on")), "{said}");
            assert!(stream.ends_with(&samples(2)), "{cut}");
        }
        // Records that are none are whoever decodes them's to tell.
        let (stream, end) = streamed(&segment(0, &[vec![0xff; 3]]));
        end.unwrap();
        assert!(stream.windows(3).any(|it| it == [0xff; 3]));
    }

    #[test]
    fn one_of_a_header_alone_is_empty() {
        let bytes = segment(0, &[])[..crate::segment::HEADER].to_vec();
        let (stream, end) = streamed(&bytes);
        end.unwrap();
        assert!(stream.is_empty());
    }
}
