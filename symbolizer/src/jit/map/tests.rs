//! Maps of real writers, of bad ones, and large ones.

use super::*;
use proptest::prelude::*;

#[test]
fn lines_of_real_writers_are_read() {
    let text = b"7f01 20 LazyCompile:*hot /srv/a b.js:3:5\n\
                 0x8000 0x10 Lcom/foo;::bar\n\
                 8010 10 py::run:/x.py\r\n";
    let map = PerfMap::parse(text).unwrap();
    let name = |address| map.find(address).map(|entry| (entry.name.to_owned(), entry.start));
    assert_eq!(name(0x7f20), Some(("LazyCompile:*hot /srv/a b.js:3:5".to_owned(), 0x7f01)));
    assert_eq!(name(0x7f21), None);
    assert_eq!(name(0x8000), Some(("Lcom/foo;::bar".to_owned(), 0x8000)));
    assert_eq!(name(0x801f), Some(("py::run:/x.py".to_owned(), 0x8010)));
    assert_eq!(map.passed_over(), 0);
}

#[test]
fn what_is_no_line_names_nothing_and_is_counted() {
    for bad in [
        "nonsense",
        "1000 0 empty",
        "1000 20",
        "1000 20 ",
        "ffffffffffffffff 2 beyond_the_end",
        "11112222333344445 1 too_many_digits",
        "1000 100000001 more_than_4_GiB",
        "-1 20 f",
        " ",
    ] {
        let map = PerfMap::parse(bad.as_bytes()).unwrap();
        assert!(map.is_empty(), "{bad}");
        assert_eq!(map.passed_over(), u64::from(bad != " "), "{bad}");
    }
    let last = PerfMap::parse(b"ffffffffffffffff 1 last_byte\n0 1 zero").unwrap();
    assert_eq!(last.find(u64::MAX).map(|entry| entry.name), Some("last_byte"));
    assert_eq!(last.find(0).map(|entry| entry.name), Some("zero"));
}

#[test]
fn names_are_kept_as_they_are_up_to_a_length() {
    let map = PerfMap::parse(b"10 10 a\x1b[2Jb\xff").unwrap();
    assert_eq!(map.find(0x10).map(|entry| entry.name), Some("a\x1b[2Jb\u{fffd}"));
    let long = format!("10 10 {}", "x".repeat(5000));
    let map = PerfMap::parse(long.as_bytes()).unwrap();
    assert_eq!(map.find(0x10).map(|entry| entry.name.len()), Some(LONGEST_NAME));
}

proptest! {
    /// As a reader of all lines from the last to the first answers.
    #[test]
    fn the_last_line_over_an_address_names_it(
        lines in prop::collection::vec((0_u64..60, 1_u64..30), 0..40),
    ) {
        let mut text = String::new();
        for (number, (start, size)) in lines.iter().enumerate() {
            text += &format!("{start:x} {size:x} f{number}\n");
        }
        let map = PerfMap::parse(text.as_bytes()).unwrap();
        for address in 0..100 {
            let over = |(start, size): &(u64, u64)| (*start..start + size).contains(&address);
            let last = lines.iter().rposition(over).map(|number| format!("f{number}"));
            let found = map.find(address);
            prop_assert_eq!(found.map(|entry| entry.name.to_owned()), last);
            if let Some(entry) = found {
                prop_assert!((entry.start..=entry.last).contains(&address));
            }
        }
    }
}

/// A compiler's map: routines side by side, names as node writes them.
struct Lines {
    next: u64,
    of: u64,
    line: Vec<u8>,
    at: usize,
}

impl io::Read for Lines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if self.next == self.of {
                return Ok(0);
            }
            let (number, start) = (self.next, 0x7f00_0000_0000 + self.next * 0x40);
            self.line = format!("{start:x} 40 LazyCompile:*routine{number} /srv/app.js\n").into();
            (self.at, self.next) = (0, self.next + 1);
        }
        let length = out.len().min(self.line.len() - self.at);
        out[..length].copy_from_slice(&self.line[self.at..][..length]);
        self.at += length;
        Ok(length)
    }
}

fn lines(of: u64) -> io::BufReader<Lines> {
    io::BufReader::new(Lines { next: 0, of, line: Vec::new(), at: 0 })
}

/// Bytes that this process has had in memory at most (proc_pid_status(5)).
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// 894 MB it was once, whatever the lines said.
#[test]
fn three_million_lines_take_less_than_200_mb() {
    let before = peak();
    let map = PerfMap::read(lines(3_000_000), MapRoom::FILE).unwrap();
    let took = peak().saturating_sub(before);
    assert_eq!(map.lines(), 3_000_000);
    let found = map.find(0x7f00_0000_0000 + 2_999_999 * 0x40 + 5).unwrap();
    assert_eq!(found.name, "LazyCompile:*routine2999999 /srv/app.js");
    assert!(took < 200_000_000, "{took} bytes");
}

#[test]
fn more_lines_than_may_be_are_refused_and_said() {
    let ten = MapRoom { lines: 10, ..MapRoom::FILE };
    let said = PerfMap::read(lines(11), ten).unwrap_err().to_string();
    assert_eq!(said, "it has more than 10 lines, all that is kept in memory");
    assert_eq!(PerfMap::read(lines(10), ten).unwrap().lines(), 10);
}

/// As a byte that is no UTF-8 becomes three.
#[test]
fn longer_names_than_may_be_are_refused_and_said() {
    let read = |text: &'static [u8], names| PerfMap::read(text, MapRoom { names, ..MapRoom::FILE });
    let said = read(b"10 10 a\xff\n20 10 b\n", 8).unwrap_err().to_string();
    assert_eq!(said, "its names have more than 8 bytes, all that is kept in memory");
    assert_eq!(read(b"10 10 a\xff\n20 10 b\n", 9).unwrap().lines(), 2);
}

/// A line without an end takes no more memory than the longest that counts.
#[test]
fn an_endless_line_is_given_up() {
    let zeros = io::BufReader::new(io::repeat(b'0'));
    let error = PerfMap::read(zeros, MapRoom::FILE).unwrap_err();
    assert!(matches!(error, PerfMapError::Bytes { most: MOST_BYTES }), "{error}");
}
