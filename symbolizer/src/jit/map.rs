//! perf's map of generated code: what /tmp/perf-PID.map says.

use std::collections::BTreeMap;

/// Bytes of a name that count.
const LONGEST_NAME: usize = 4096;
/// Bytes of a file that is read: some millions of routines.
pub(crate) const MOST_BYTES: u64 = 256 << 20;

/// Routines of generated code by address, from lines `START SIZE NAME`
/// (hexadecimal, with or without 0x; the name is the rest of the line). The
/// file has no times: a compiler appends, and where lines overlap the later
/// one is the newer code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// By first address; disjoint.
    stretches: Vec<Stretch>,
    names: Vec<Box<str>>,
    passed_over: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    first: u64,
    last: u64,
    /// First address of the routine, which newer code may cover.
    start: u64,
    name: u32,
}

/// What a map says of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerfMapEntry<'a> {
    /// As the compiler wrote it; control characters are replaced.
    pub name: &'a str,
    /// First address of the routine.
    pub start: u64,
    /// Last address that belongs to it, seen from the one asked for.
    pub last: u64,
}

impl PerfMap {
    /// Reads all lines. Those that are none of its form, or name no byte, are
    /// passed over and counted; an unfinished last line, which the compiler
    /// is still writing, is among them unless it reads as a whole one.
    pub fn parse(bytes: &[u8]) -> PerfMap {
        let (mut pieces, mut names, mut passed_over) = (BTreeMap::new(), Vec::new(), 0);
        for line in bytes.split(|&byte| byte == b'\n') {
            let Some((start, last, name)) = entry(line) else {
                passed_over += u64::from(!line.trim_ascii().is_empty());
                continue;
            };
            let Ok(number) = u32::try_from(names.len()) else { break };
            names.push(shown(name));
            put(&mut pieces, Stretch { first: start, last, start, name: number });
        }
        PerfMap { stretches: pieces.into_values().collect(), names, passed_over }
    }

    /// The routine at a run-time address.
    pub fn find(&self, address: u64) -> Option<PerfMapEntry<'_>> {
        let after = self.stretches.partition_point(|stretch| stretch.first <= address);
        let stretch = self.stretches[..after].last().filter(|it| address <= it.last)?;
        let name = &self.names[usize::try_from(stretch.name).ok()?];
        Some(PerfMapEntry { name, start: stretch.start, last: stretch.last })
    }

    /// Lines that named nothing.
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Whether no line named anything.
    pub fn is_empty(&self) -> bool {
        self.stretches.is_empty()
    }
}

/// Puts a stretch over what lies there. Each adds at most two pieces, and
/// what it covers is never looked at again.
fn put(pieces: &mut BTreeMap<u64, Stretch>, new: Stretch) {
    if let Some((_, below)) = pieces.range_mut(..new.first).next_back()
        && below.last >= new.first
    {
        let whole = *below;
        below.last = new.first - 1;
        if whole.last > new.last {
            pieces.insert(new.last + 1, Stretch { first: new.last + 1, ..whole });
        }
    }
    while let Some((&first, &covered)) = pieces.range(new.first..=new.last).next() {
        pieces.remove(&first);
        if covered.last > new.last {
            pieces.insert(new.last + 1, Stretch { first: new.last + 1, ..covered });
            break;
        }
    }
    pieces.insert(new.first, new);
}

/// First and last address, and name.
fn entry(line: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (start, rest) = number(line.trim_ascii_start())?;
    let (size, rest) = number(rest.trim_ascii_start())?;
    let name = rest.trim_ascii();
    let last = start.checked_add(size.checked_sub(1)?)?;
    (!name.is_empty()).then_some((start, last, name))
}

/// A hexadecimal number with a blank behind it.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.strip_prefix(b"0x").unwrap_or(text);
    let length = memchr::memchr2(b' ', b'\t', text)?;
    let (digits, rest) = text.split_at(length);
    let sound = (1..=16).contains(&length) && digits.iter().all(u8::is_ascii_hexdigit);
    let number = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    sound.then_some((number, rest))
}

/// A name of generated code as text: whoever made it may have written
/// anything, and it goes to terminals.
pub(super) fn shown(name: &[u8]) -> Box<str> {
    let text = String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]);
    match text.chars().any(char::is_control) {
        false => text.into(),
        true => text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_of_real_writers_are_read() {
        let text = b"7f01 20 LazyCompile:*hot /srv/a b.js:3:5\n\
                     0x8000 0x10 Lcom/foo;::bar\n\
                     8010 10 py::run:/x.py\r\n";
        let map = PerfMap::parse(text);
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
            "-1 20 f",
            " ",
        ] {
            let map = PerfMap::parse(bad.as_bytes());
            assert!(map.is_empty(), "{bad}");
            assert_eq!(map.passed_over(), u64::from(bad != " "), "{bad}");
        }
        let last = PerfMap::parse(b"ffffffffffffffff 1 last_byte\n0 1 zero");
        assert_eq!(last.find(u64::MAX).map(|entry| entry.name), Some("last_byte"));
        assert_eq!(last.find(0).map(|entry| entry.name), Some("zero"));
    }

    #[test]
    fn a_name_cannot_steer_a_terminal() {
        let map = PerfMap::parse(b"10 10 a\x1b[2Jb\xff");
        assert_eq!(map.find(0x10).map(|entry| entry.name), Some("a\u{fffd}[2Jb\u{fffd}"));
        let long = format!("10 10 {}", "x".repeat(5000));
        let map = PerfMap::parse(long.as_bytes());
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
            let map = PerfMap::parse(text.as_bytes());
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
}
