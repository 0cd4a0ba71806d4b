use super::*;
use crate::attr::Attr;
use crate::stream::{StreamDecoder, StreamRecord, StreamStep, write};
use proptest::prelude::*;

fn encoded(mark: &RegionMark<'_>, order: ByteOrder) -> Vec<u8> {
    let mut bytes = Vec::new();
    mark.encode(&mut ByteWriter::new(&mut bytes, order));
    bytes
}

fn mark(name: &[u8]) -> RegionMark<'_> {
    let task = Task { pid: Pid(7), tid: Tid(8) };
    RegionMark { time: Time(5), task, side: RegionSide::Begin, name }
}

proptest! {
    #[test]
    fn what_was_written_is_read(
        time: u64, pid: i32, tid: i32, begins: bool, big: bool,
        name in proptest::collection::vec(any::<u8>(), 1..=LONGEST_NAME),
    ) {
        let side = if begins { RegionSide::Begin } else { RegionSide::End };
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let task = Task { pid: Pid(pid), tid: Tid(tid) };
        let mark = RegionMark { time: Time(time), task, side, name: &name };
        let bytes = encoded(&mark, order);
        prop_assert_eq!(bytes.len() % 8, 0);
        prop_assert_eq!(RegionMark::decode(&bytes, order), Ok(mark));
    }

    #[test]
    fn hostile_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let with_text = [VERSION.as_slice(), &bytes].concat();
        for bytes in [bytes, with_text] {
            if let Ok(mark) = RegionMark::decode(&bytes, ByteOrder::Little) {
                prop_assert!(mark.name.len() <= LONGEST_NAME);
            }
        }
    }
}

#[test]
fn a_name_that_is_too_long_is_cut() {
    let bytes = encoded(&mark(&[b'x'; 200]), ByteOrder::Little);
    let read = RegionMark::decode(&bytes, ByteOrder::Little).unwrap();
    assert_eq!(read.name, [b'x'; LONGEST_NAME]);
}

#[test]
fn what_no_recorder_writes_is_refused() {
    let whole = encoded(&mark(b"sweep"), ByteOrder::Little);
    let said = |bytes: &[u8]| RegionMark::decode(bytes, ByteOrder::Little).unwrap_err().to_string();
    let with = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        said(&bytes)
    };
    assert!(with(7, b'2').contains("\"region=2\""), "{}", with(7, b'2'));
    assert_eq!(with(32, 3), "a region whose side is 3, which cannot be");
    assert_eq!(with(36, 0), "a region whose length of a name is 0, which cannot be");
    assert_eq!(with(36, 96), "a region whose length of a name is 96, which cannot be");
    assert_eq!(with(47, 1), "a region whose end is 5, which cannot be");
    assert!(said(&whole[..30]).starts_with("a region: "), "{}", said(&whole[..30]));
}

#[test]
fn a_stream_gives_marks_of_events_that_it_knows() {
    let mut bytes = Vec::new();
    write::file_header(ByteOrder::Little, &mut bytes);
    write::attr(&Attr::default(), &[3], ByteOrder::Little, &mut bytes).unwrap();
    write::region(3, &mark(b"sweep"), ByteOrder::Little, &mut bytes).unwrap();
    write::region(4, &mark(b"other"), ByteOrder::Little, &mut bytes).unwrap();
    let (mut decoder, mut rest, mut found) = (StreamDecoder::new(), bytes.as_slice(), Vec::new());
    while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
        if let StreamRecord::Region(mark) = record {
            found.push(mark.name.to_vec());
        }
        rest = &rest[consumed..];
    }
    assert_eq!(found, [b"sweep", b"other"], "marks are of threads, whatever event carries them");
    assert_eq!(decoder.tally().unreadable(), None);
    assert!(decoder.events()[0].notes.is_empty() && decoder.events()[0].unit.is_none());
}
