//! The number in a line.

use super::input::LONGEST;
use super::sys;

/// What text records call the column of instruction pointers, all of them
/// since the 32-bit original.
const HEADING: &[u8] = b"linear_ip";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Address(u64),
    /// A comment, or blank: passed on.
    Comment(&'a [u8]),
    /// The column's heading, which `awk '{ print $2 }'` leaves of a header line.
    Heading,
    /// No number in the column.
    Bad(&'a [u8]),
}

/// Cuts a block of whole lines. `position` counts columns from 0.
pub(super) struct Lines<'a> {
    block: &'a [u8],
    position: usize,
}

impl<'a> Lines<'a> {
    /// `block` ends with a newline.
    pub(super) fn new(block: &'a [u8], position: usize) -> Lines<'a> {
        Lines { block, position }
    }

    /// As many addresses as come one after the other as 16 digits and a
    /// newline each, at most `addresses.len()`: the way most lines are, and
    /// cheap to read.
    #[inline]
    pub(super) fn plain(&mut self, addresses: &mut [u64]) -> usize {
        let mut count = 0;
        if self.position != 0 {
            return 0;
        }
        if let Some(plain) = sys::plain(self.block, addresses) {
            self.block = &self.block[17 * plain..];
            count = plain;
        }
        while let (Some(line), Some(address)) =
            (self.block.first_chunk::<17>(), addresses.get_mut(count))
        {
            let Some(number) = sixteen_digits(line) else { break };
            *address = number;
            count += 1;
            self.block = &self.block[17..];
        }
        count
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        if self.block.is_empty() {
            return None;
        }
        let length = memchr::memchr(b'\n', self.block).unwrap_or(self.block.len());
        let line = &self.block[..length.min(LONGEST)];
        self.block = self.block.get(length + 1..).unwrap_or_default();
        Some(read(line, self.position))
    }
}

fn read(line: &[u8], position: usize) -> Line<'_> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    match words.clone().next() {
        None | Some([b'#', ..]) => Line::Comment(line),
        Some(_) => match words.nth(position) {
            Some(HEADING) => Line::Heading,
            word => word.and_then(number).map_or(Line::Bad(line), Line::Address),
        },
    }
}

/// A hexadecimal number below 2^64, with or without 0x.
fn number(word: &[u8]) -> Option<u64> {
    let digits = match word {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits => digits,
    };
    let significant = digits.iter().position(|&byte| byte != b'0').unwrap_or(digits.len());
    if digits.is_empty() || digits.len() - significant > 16 {
        return None;
    }
    digits.iter().try_fold(0, |number: u64, &byte| {
        Some(number << 4 | u64::from(char::from(byte).to_digit(16)?))
    })
}

/// Sixteen hexadecimal digits and a newline.
#[inline]
fn sixteen_digits(line: &[u8; 17]) -> Option<u64> {
    let (high, rest) = line.split_first_chunk::<8>()?;
    let (low, rest) = rest.split_first_chunk::<8>()?;
    let (high, high_sound) = eight_digits(*high);
    let (low, low_sound) = eight_digits(*low);
    (high_sound & low_sound & (rest == b"\n")).then_some(high << 32 | low)
}

/// Eight digits at once, each in a byte of a word; and whether all are
/// digits.
#[inline]
fn eight_digits(text: [u8; 8]) -> (u64, bool) {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(text);
    // Letters become small; nothing that is no digit becomes one but the
    // control characters, which have neither of the bits that 0x60 names.
    let small = word | (0x20 * EACH);
    let at_least = |byte: u8| (small & (0x7f * EACH)) + EACH * u64::from(0x80 - byte);
    let digit = at_least(b'0') & !at_least(b'9' + 1);
    let letter = at_least(b'a') & !at_least(b'f' + 1);
    let printable = (word << 1) | (word << 2);
    let sound = (digit | letter) & printable & !word & (0x80 * EACH);
    let value = (small & (0x0f * EACH)) + 9 * ((letter >> 7) & EACH);
    let pairs = (value << 4 | value >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs << 8 | pairs >> 16) & 0x0000_ffff_0000_ffff;
    ((fours << 16 | fours >> 32) & 0xffff_ffff, sound == 0x80 * EACH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_and_what_is_none() {
        for (text, number) in [
            ("0", Some(0)),
            ("ffffffff81000000", Some(0xffff_ffff_8100_0000)),
            ("FFFFFFFF81abcDEF", Some(0xffff_ffff_81ab_cdef)),
            ("0x7f", Some(0x7f)),
            ("0X7F", Some(0x7f)),
            ("00000000000000000000007f", Some(0x7f)),
            ("10000000000000000", None),
            ("0x", None),
            ("x7f", None),
            ("-7f", None),
            ("7f:", None),
            ("main", None),
        ] {
            let line = text.as_bytes();
            assert_eq!(read(line, 0), number.map_or(Line::Bad(line), Line::Address), "{text}");
        }
    }

    #[test]
    fn columns_comments_and_blanks() {
        assert_eq!(read(b"  12\t34 56\r", 1), Line::Address(0x34));
        assert_eq!(read(b"12 34\r", 1), Line::Address(0x34));
        assert_eq!(read(b"12", 1), Line::Bad(b"12"));
        assert_eq!(read(b"linear_ip", 0), Line::Heading);
        assert_eq!(read(b"rflags linear_ip rax", 1), Line::Heading);
        assert_eq!(read(b"rflags linear_ip rax", 0), Line::Bad(b"rflags linear_ip rax"));
        for comment in [&b""[..], b" \t\r", b"#eflags linear_ip", b"  # x"] {
            assert_eq!(read(comment, 0), Line::Comment(comment));
        }
    }

    #[test]
    fn every_byte_at_every_place_of_a_plain_line() {
        let line = *b"0123456789abcdef\n";
        for place in 0..17 {
            for byte in 0..=255 {
                let mut line = line;
                line[place] = byte;
                let digits = line[..16].iter().all(u8::is_ascii_hexdigit);
                let expected = (digits && line[16] == b'\n').then(|| {
                    u64::from_str_radix(std::str::from_utf8(&line[..16]).unwrap(), 16).unwrap()
                });
                assert_eq!(sixteen_digits(&line), expected, "{byte} at {place}");
            }
        }
    }

    /// Cuts `text` by the quickest way there is, `most` lines at a time, and
    /// by the slowest.
    fn both_ways(text: &[u8], most: usize) -> (Vec<Line<'_>>, Vec<Line<'_>>) {
        let mut quick = Vec::new();
        let mut lines = Lines::new(text, 0);
        let mut addresses = vec![0; most];
        loop {
            let plain = lines.plain(&mut addresses);
            quick.extend(addresses[..plain].iter().map(|&address| Line::Address(address)));
            match lines.next() {
                Some(line) => quick.push(line),
                None => break,
            }
        }
        let slow = text.split_inclusive(|&byte| byte == b'\n');
        (quick, slow.map(|line| super::read(&line[..line.len() - 1], 0)).collect())
    }

    #[test]
    fn every_byte_at_every_place_of_a_pair_of_lines() {
        let lines = *b"0123456789abcdef\nFEDCBA9876543210\nffffffff81000000\n";
        for place in 0..lines.len() - 1 {
            for byte in 0..=255 {
                let mut lines = lines;
                lines[place] = byte;
                let (quick, slow) = both_ways(&lines, 8);
                assert_eq!(quick, slow, "{byte} at {place}");
            }
        }
    }

    #[test]
    fn every_byte_at_every_place_behind_lines_of_one_beginning() {
        let line = *b"ffffffff8a00b0c0\n";
        for place in 4 * 17..9 * 17 - 1 {
            for byte in 0..=255 {
                let mut lines = line.repeat(9);
                lines[place] = byte;
                let (quick, slow) = both_ways(&lines, 16);
                assert_eq!(quick, slow, "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn lines_of_few_beginnings_are_cut_alike(
            words in prop::collection::vec("(ffffffff|FFFFFFFF|00007fff|f)[0-9a-fA-F]{8}", 0..60),
            most in 1_usize..20,
        ) {
            let text: String = words.iter().map(|word| format!("{word}\n")).collect();
            let (quick, slow) = both_ways(text.as_bytes(), most);
            prop_assert_eq!(quick, slow);
        }

        #[test]
        fn every_way_cuts_ragged_text_alike(
            words in prop::collection::vec("[0-9a-fA-F]{16}|[0-9a-fA-F]{1,17}|0x[0-9a-f]{16}|[0-9a-f]{16} .{0,3}|#.{0,20}|", 0..60),
            most in 1_usize..9,
        ) {
            let text: String = words.iter().map(|word| format!("{}\n", word.replace('\n', " "))).collect();
            let (quick, slow) = both_ways(text.as_bytes(), most);
            prop_assert_eq!(quick, slow);
        }

        #[test]
        fn the_quick_way_equals_the_slow_one(bytes: [u8; 16], upper: bool, number: u64) {
            let mut line = [b'\n'; 17];
            line[..16].copy_from_slice(&bytes);
            let slow = bytes.iter().all(u8::is_ascii_hexdigit).then(|| super::number(&bytes)).flatten();
            prop_assert_eq!(sixteen_digits(&line), slow);
            let text = if upper { format!("{number:016X}") } else { format!("{number:016x}") };
            line[..16].copy_from_slice(text.as_bytes());
            prop_assert_eq!(sixteen_digits(&line), Some(number));
        }
    }
}
