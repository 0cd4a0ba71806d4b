use proptest::prelude::*;

use super::*;

fn header() -> SegmentHeader {
    SegmentHeader {
        boot: *b"0123456789abcdef",
        realtime_offset: -5,
        number: 7,
        stream: 0x1122,
        part: 3,
        begun: 99,
    }
}

fn segment(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = header().encode().to_vec();
    for (time, payload) in (100..).zip(payloads) {
        assert!(encode(&StoredFrame { time, payload }, &mut bytes));
    }
    bytes
}

#[test]
fn a_segment_has_the_layout_that_the_specification_gives() {
    let bytes = segment(&[vec![1, 2, 3]]);
    assert_eq!(bytes[..12], *b"HMSEGMT\0\x01\0\0\0");
    assert_eq!(bytes[16..32], *b"0123456789abcdef");
    assert_eq!(bytes[32..40], (-5i64).to_le_bytes());
    assert_eq!(bytes[40..56], [7, 0, 0, 0, 0, 0, 0, 0, 0x22, 0x11, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[56..72], [3, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[72..76], [3, 0, 0, 0]);
    assert_eq!(bytes[80..88], [100, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[88..], [1, 2, 3]);
    assert_eq!(SegmentReader::new(&bytes[..]).unwrap().header(), &header());
}

/// Frames that can be read, and what is said of the rest.
fn read(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize, bool)> {
    let mut reader = SegmentReader::new(bytes).ok()?;
    let mut frames = Vec::new();
    while let Some(frame) = reader.next_frame().unwrap() {
        frames.push(frame.payload.to_vec());
    }
    Some((frames, usize::try_from(reader.good()).unwrap(), reader.is_damaged()))
}

#[test]
fn a_cut_at_any_byte_costs_the_frame_it_is_in() {
    let payloads = [vec![1; 30], vec![2; 1], vec![3; 200]];
    let bytes = segment(&payloads);
    let ends = [HEADER, HEADER + 46, HEADER + 46 + 17, bytes.len()];
    for cut in 0..=bytes.len() {
        let Some((frames, good, damaged)) = read(&bytes[..cut]) else {
            assert!(cut < HEADER, "{cut}");
            continue;
        };
        let whole = ends.iter().filter(|&&end| end <= cut).count() - 1;
        assert_eq!(frames, payloads[..whole], "{cut}");
        assert_eq!((good, damaged), (ends[whole], cut != ends[whole]), "{cut}");
    }
}

#[test]
fn a_flip_of_any_bit_is_seen() {
    let payloads = [vec![1; 30], vec![2; 20]];
    let bytes = segment(&payloads);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << bit;
            match read(&flipped) {
                None => assert!(at < HEADER),
                Some((frames, _, damaged)) => {
                    assert!(at >= HEADER && damaged, "byte {at}, bit {bit}");
                    assert!(payloads.starts_with(&frames), "byte {at}, bit {bit}");
                }
            }
        }
    }
}

#[test]
fn zeros_behind_the_end_are_no_frames() {
    let mut bytes = segment(&[vec![1; 30]]);
    let good = bytes.len();
    bytes.resize(good + 4096, 0);
    assert_eq!(read(&bytes), Some((vec![vec![1; 30]], good, true)));
}

#[test]
fn frames_without_a_payload_or_too_long_are_not_written() {
    let mut out = Vec::new();
    assert!(!encode(&StoredFrame { time: 0, payload: &[] }, &mut out));
    assert!(!encode(&StoredFrame { time: 0, payload: &vec![0; LONGEST + 1] }, &mut out));
    assert!(out.is_empty());
}

#[test]
fn a_packed_segment_is_the_segment_and_shows_its_header_first() {
    let mut noise = 1u64;
    let mut byte = || {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        noise.to_be_bytes()[0]
    };
    let payloads: Vec<Vec<u8>> =
        (0..40).map(|size| (0..size * 9000 + 1).map(|_| byte() & 0x3f).collect()).collect();
    let bytes = segment(&payloads);
    let mut packed = Vec::new();
    pack(&bytes[..], &mut packed).unwrap();
    assert!(packed.len() < bytes.len() * 9 / 10, "{} of {}", packed.len(), bytes.len());
    assert_eq!(PackedSegment::header(&packed[..]).unwrap(), header());
    let mut reader = SegmentReader::new(PackedSegment::new(&packed[..])).unwrap();
    for payload in &payloads {
        assert_eq!(reader.next_frame().unwrap().unwrap().payload, payload);
    }
    assert!(reader.next_frame().unwrap().is_none() && !reader.is_damaged());
    // Cut, it is damaged or cannot be read, and never whole.
    for cut in (0..packed.len()).step_by(packed.len() / 50) {
        let Ok(mut reader) = SegmentReader::new(PackedSegment::new(&packed[..cut])) else {
            continue;
        };
        let mut whole = 0;
        let end = loop {
            match reader.next_frame() {
                Ok(Some(_)) => whole += 1,
                Ok(None) => break Ok(reader.is_damaged()),
                Err(error) => break Err(error),
            }
        };
        assert!(whole < payloads.len() && end.unwrap_or(true), "{cut}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_frames_or_damage(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let behind_header = [&header().encode()[..], &bytes].concat();
        let (frames, good, damaged) = read(&behind_header).unwrap();
        let length: usize = frames.iter().map(|frame| frame.len() + 16).sum();
        prop_assert_eq!(good, HEADER + length);
        prop_assert_eq!(damaged, good < behind_header.len());
        let _ = read(&bytes);
    }
}
