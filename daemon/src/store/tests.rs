use proptest::prelude::*;

use super::*;

fn header() -> Header {
    Header {
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

/// A directory for segments, and its path.
fn directory() -> (tempfile::TempDir, Directory) {
    let path = tempfile::tempdir().unwrap();
    let directory = Directory::new(std::fs::File::open(path.path()).unwrap().into());
    (path, directory)
}

/// Clocks that say what a test wants.
#[derive(Clone, Copy, Debug)]
struct At(u64, u64);

impl Clock for At {
    fn monotonic(&self) -> u64 {
        self.0
    }

    fn realtime(&self) -> u64 {
        self.1
    }

    fn boot(&self) -> [u8; 16] {
        header().boot
    }
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
    assert_eq!(Packed::header(&packed[..]).unwrap(), header());
    let mut reader = SegmentReader::new(Packed::new(&packed[..])).unwrap();
    for payload in &payloads {
        assert_eq!(reader.next_frame().unwrap().unwrap().payload, payload);
    }
    assert!(reader.next_frame().unwrap().is_none() && !reader.is_damaged());
    // Cut, it is damaged or cannot be read, and never whole.
    for cut in (0..packed.len()).step_by(packed.len() / 50) {
        let Ok(mut reader) = SegmentReader::new(Packed::new(&packed[..cut])) else { continue };
        let whole = std::iter::from_fn(|| reader.next_frame().ok()?.map(|_| ())).count();
        assert!(whole < payloads.len(), "{cut}");
    }
}

#[test]
fn what_a_dead_writer_left_is_cut_and_told() {
    let bytes = segment(&[vec![1; 30], vec![2; 50]]);
    for cut in HEADER..=bytes.len() {
        let (path, directory) = directory();
        std::fs::write(path.path().join("0000000007.open"), &bytes[..cut]).unwrap();
        // While it was packed, it died too; and once before.
        std::fs::write(path.path().join("0000000006.tmp"), b"half").unwrap();
        std::fs::write(path.path().join("0000000006.seg"), &bytes).unwrap();
        std::fs::write(path.path().join("0000000005.seg"), &bytes).unwrap();
        std::fs::write(path.path().join("0000000005.seg.zst"), b"whole").unwrap();
        std::fs::write(path.path().join("notes.txt"), b"mine").unwrap();
        let recovered = recover(&directory, &At(1_000_101, 7)).unwrap();
        let ends = [(HEADER, 99), (HEADER + 46, 100), (bytes.len(), 101)];
        let (whole, last) = ends.into_iter().rfind(|(end, _)| *end <= cut).unwrap();
        let gap = recovered.gap.unwrap();
        assert_eq!(recovered.next, 8);
        assert_eq!(gap.bytes, u64::try_from(cut - whole).unwrap(), "{cut}");
        assert_eq!(gap.nanoseconds, 1_000_101 - last, "{cut}");
        let mut names: Vec<_> = std::fs::read_dir(path.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected = ["0000000005.seg.zst", "0000000006.seg", "0000000007.seg", "notes.txt"];
        assert_eq!(names, expected);
        assert_eq!(std::fs::read(path.path().join("0000000007.seg")).unwrap(), bytes[..whole]);
        let again = recover(&directory, &At(1_000_101, 7)).unwrap();
        assert_eq!(again, Recovered { next: 8, gap: None }, "told once");
    }
}

#[test]
fn links_and_files_of_others_are_no_segments() {
    let (path, directory) = directory();
    let bytes = segment(&[vec![1; 30]]);
    std::fs::write(path.path().join("elsewhere"), &bytes).unwrap();
    std::os::unix::fs::symlink("elsewhere", path.path().join("0000000001.seg")).unwrap();
    std::fs::create_dir(path.path().join("0000000002.seg")).unwrap();
    for name in ["1.seg", "0000000003.seg.bak", "00000000003.seg", "-000000003.seg", ".seg"] {
        std::fs::write(path.path().join(name), &bytes).unwrap();
    }
    std::fs::write(path.path().join("0000000009.seg"), &bytes).unwrap();
    let mut expected = vec![Listed { number: 9, form: Form::Closed, bytes: bytes.len() as u64 }];
    assert_eq!(directory.list().unwrap(), expected);
    directory.open(1, Form::Closed).unwrap_err();
    directory.open(2, Form::Closed).unwrap_err();
    directory.create(1, Form::Closed).unwrap_err();
    if rustix::process::getuid().is_root() {
        let theirs = path.path().join("0000000009.seg");
        std::os::unix::fs::chown(theirs, Some(4321), None).unwrap();
        expected.clear();
        assert_eq!(directory.list().unwrap(), expected);
        directory.open(9, Form::Closed).unwrap_err();
    } else {
        use std::io::Write;
        writeln!(std::io::stderr(), "skipped files of others: not root").unwrap();
    }
    assert!(!directory.is_removed());
    std::fs::remove_dir_all(path.path()).unwrap();
    assert!(directory.is_removed());
}

#[test]
fn ages_do_not_follow_a_clock_that_is_set() {
    let own = header();
    assert_eq!(own.age(100, &At(1100, u64::MAX)), 1000, "the same boot");
    let other = Header { boot: [0; 16], realtime_offset: 50, ..own };
    assert_eq!(other.age(100, &At(1, 1150)), 1000, "another boot");
    assert_eq!(other.age(100, &At(1, 0)), 0, "the clock was set back");
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
