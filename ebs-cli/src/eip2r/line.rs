//! A line of input, and the lines that are bad.

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

impl Line<'_> {
    /// `line` has no newline. `position` counts columns from 0.
    pub(super) fn read(line: &[u8], position: usize) -> Line<'_> {
        let mut words = line.trim_ascii_start();
        if matches!(words, [] | [b'#', ..]) {
            return Line::Comment(line);
        }
        for _ in 0..position {
            if words.is_empty() {
                break;
            }
            words = words[first_word(words).len()..].trim_ascii_start();
        }
        match first_word(words) {
            HEADING => Line::Heading,
            word => number(word).map_or(Line::Bad(line), Line::Address),
        }
    }

    pub(super) fn address(&self) -> Option<u64> {
        match self {
            Line::Address(address) => Some(*address),
            Line::Comment(_) | Line::Heading | Line::Bad(_) => None,
        }
    }
}

fn first_word(words: &[u8]) -> &[u8] {
    let end = words.iter().position(u8::is_ascii_whitespace);
    &words[..end.unwrap_or(words.len())]
}

/// A hexadecimal number below 2^64, with or without 0x.
fn number(word: &[u8]) -> Option<u64> {
    let digits = match word {
        [b'0', b'x' | b'X', digits @ ..] => digits,
        digits => digits,
    };
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0, |number: u64, &byte| {
        let digit = char::from(byte).to_digit(16)?;
        (number >> 60 == 0).then_some(number << 4 | u64::from(digit))
    })
}

/// Lines without a number: how many, and the first of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BadLines {
    lines: u64,
    pub(super) bad: u64,
    /// Number, counted from 1, and text of the first.
    pub(super) first: Option<(u64, String)>,
}

impl BadLines {
    /// Counts every line, to number the bad ones.
    pub(super) fn count(&mut self, line: &Line<'_>) {
        self.lines += 1;
        if let Line::Bad(line) = line {
            self.bad += 1;
            let text =
                || String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().collect();
            self.first.get_or_insert_with(|| (self.lines, text()));
        }
    }
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
            assert_eq!(
                Line::read(line, 0),
                number.map_or(Line::Bad(line), Line::Address),
                "{text}"
            );
        }
    }

    #[test]
    fn columns_comments_and_blanks() {
        assert_eq!(Line::read(b"  12\t34 56\r", 1), Line::Address(0x34));
        assert_eq!(Line::read(b"12 34\r", 1), Line::Address(0x34));
        assert_eq!(Line::read(b"12", 1), Line::Bad(b"12"));
        assert_eq!(Line::read(b"linear_ip", 0), Line::Heading);
        assert_eq!(Line::read(b"rflags linear_ip rax", 1), Line::Heading);
        let header = b"rflags linear_ip rax";
        assert_eq!(Line::read(header, 0), Line::Bad(header));
        for comment in [&b""[..], b" \t\r", b"#eflags linear_ip", b"  # x"] {
            assert_eq!(Line::read(comment, 0), Line::Comment(comment));
        }
    }

    #[test]
    fn every_byte_at_every_place_of_a_number() {
        for place in 0..16 {
            for byte in 0..=255 {
                let mut word = *b"0123456789abcdef";
                word[place] = byte;
                let digits = word.iter().all(u8::is_ascii_hexdigit);
                let expected = digits
                    .then(|| u64::from_str_radix(std::str::from_utf8(&word).unwrap(), 16).unwrap());
                let is_prefix = place == 1 && matches!(byte, b'x' | b'X');
                let expected = if is_prefix { Some(0x23_4567_89ab_cdef) } else { expected };
                assert_eq!(number(&word), expected, "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(value: u64, zeros in 0_usize..20) {
            let text = format!("{}{value:x}", "0".repeat(zeros));
            prop_assert_eq!(number(text.as_bytes()), Some(value));
            prop_assert_eq!(number(text.to_uppercase().as_bytes()), Some(value));
        }
    }

    #[test]
    fn bad_lines_are_numbered_among_all() {
        let mut bad = BadLines::default();
        for line in [&b"1"[..], b"# c", b"main+0x5", b"2", b"x"] {
            bad.count(&Line::read(line, 0));
        }
        assert_eq!((bad.bad, bad.first), (2, Some((3, "main+0x5".to_owned()))));
    }
}
