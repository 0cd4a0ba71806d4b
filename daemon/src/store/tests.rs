use proptest::prelude::*;

use super::*;

fn header() -> Header {
    Header { boot: *b"0123456789abcdef", realtime_offset: -5, number: 7 }
}

fn segment(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = header().encode().to_vec();
    for (time, payload) in (100..).zip(payloads) {
        assert!(encode(&Frame { time, payload }, &mut bytes));
    }
    bytes
}

#[test]
fn a_segment_has_the_layout_that_the_specification_gives() {
    let bytes = segment(&[vec![1, 2, 3]]);
    assert_eq!(bytes[..12], *b"HMSEGMT\0\x01\0\0\0");
    assert_eq!(bytes[16..32], *b"0123456789abcdef");
    assert_eq!(bytes[32..40], (-5i64).to_le_bytes());
    assert_eq!(bytes[40..48], [7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[48..52], [3, 0, 0, 0]);
    assert_eq!(bytes[56..64], [100, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes[64..], [1, 2, 3]);
    assert_eq!(scan(&bytes).unwrap().header(), &header());
}

/// Frames that can be read, and what is said of the rest.
fn read(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize, bool)> {
    let mut scan = scan(bytes).ok()?;
    let frames = scan.by_ref().map(|frame| frame.payload.to_vec()).collect();
    Some((frames, scan.good(), scan.is_damaged()))
}

#[test]
fn a_cut_at_any_byte_costs_the_frame_it_is_in() {
    let payloads = [vec![1; 30], vec![2; 1], vec![3; 200]];
    let bytes = segment(&payloads);
    let ends = [48, 48 + 46, 48 + 46 + 17, bytes.len()];
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
    assert!(!encode(&Frame { time: 0, payload: &[] }, &mut out));
    assert!(!encode(&Frame { time: 0, payload: &vec![0; LONGEST + 1] }, &mut out));
    assert!(out.is_empty());
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
