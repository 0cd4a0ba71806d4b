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
    let header =
        SegmentHeader { boot: [1; 16], realtime_offset: 0, number: 7, stream: 5, part, begun: 9 };
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
        samples += usize::from(matches!(record, crate::stream::StreamRecord::Sample { .. }));
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
