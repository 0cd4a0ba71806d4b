use perfdata::segment::{HEADER, SegmentHeader, StoredFrame, encode};

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

fn directory() -> (tempfile::TempDir, Directory) {
    let path = tempfile::tempdir().unwrap();
    let directory = Directory::new(std::fs::File::open(path.path()).unwrap().into());
    (path, directory)
}

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
    let mut expected =
        vec![ListedSegment { number: 9, state: SegmentState::Closed, bytes: bytes.len() as u64 }];
    assert_eq!(directory.list().unwrap(), expected);
    directory.open(1, SegmentState::Closed).unwrap_err();
    directory.open(2, SegmentState::Closed).unwrap_err();
    directory.create(1, SegmentState::Closed).unwrap_err();
    if rustix::process::getuid().is_root() {
        let theirs = path.path().join("0000000009.seg");
        std::os::unix::fs::chown(theirs, Some(4321), None).unwrap();
        expected.clear();
        assert_eq!(directory.list().unwrap(), expected);
        directory.open(9, SegmentState::Closed).unwrap_err();
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
    assert_eq!(At(1100, u64::MAX).age(&own, 100), 1000, "the same boot");
    let other = SegmentHeader { boot: [0; 16], realtime_offset: 50, ..own };
    assert_eq!(At(1, 1150).age(&other, 100), 1000, "another boot");
    assert_eq!(At(1, 0).age(&other, 100), 0, "the clock was set back");
}
