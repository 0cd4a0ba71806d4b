//! What the model counted, as it wrote it down: `model/README.md` has the
//! lines.

use std::collections::BTreeMap;

/// Something that the model counted or recorded: `record`, `ibs_op`.
#[derive(Clone, Debug)]
pub struct Happening<'a> {
    /// The line's first word.
    pub kind: &'a str,
    words: BTreeMap<&'a str, &'a str>,
}

impl<'a> Happening<'a> {
    fn read(line: &'a str) -> Option<Happening<'a>> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        let words = words.filter_map(|word| word.split_once('=')).collect();
        Some(Happening { kind, words })
    }

    #[must_use]
    pub fn word(&self, name: &str) -> Option<&'a str> {
        self.words.get(name).copied()
    }

    /// An address, a register, a select.
    ///
    /// # Panics
    /// The line has none of that name, or no number.
    #[must_use]
    #[track_caller]
    pub fn hex(&self, name: &str) -> u64 {
        let word = self.word(name).unwrap_or_else(|| panic!("no {name} in {self:?}"));
        u64::from_str_radix(word, 16).unwrap_or_else(|error| panic!("{name}={word}: {error}"))
    }

    /// A count, a latency.
    ///
    /// # Panics
    /// Likewise.
    #[must_use]
    #[track_caller]
    pub fn decimal(&self, name: &str) -> u64 {
        let word = self.word(name).unwrap_or_else(|| panic!("no {name} in {self:?}"));
        word.parse().unwrap_or_else(|error| panic!("{name}={word}: {error}"))
    }
}

/// Happenings of a kind between the marks `begin NAME` and `end NAME`; none
/// when the log has no such marks.
#[must_use]
pub fn between<'a>(log: &'a str, name: &str, kind: &str) -> Option<Vec<Happening<'a>>> {
    let (begin, end) = (format!("mark begin {name}"), format!("mark end {name}"));
    let mut lines = log.lines().skip_while(|line| *line != begin).peekable();
    lines.peek()?;
    let mut found = Vec::new();
    for line in lines {
        if line == end {
            return Some(found);
        }
        found.extend(Happening::read(line).filter(|happening| happening.kind == kind));
    }
    None
}

/// The totals that follow a mark; none when the log has no such mark.
#[must_use]
pub fn totals<'a>(log: &'a str, mark: &str) -> Vec<Happening<'a>> {
    let mark = format!("mark {mark}");
    let lines = log.lines().skip_while(|line| *line != mark).skip(1);
    let totals = lines.map_while(Happening::read);
    totals.take_while(|happening| happening.kind == "total").collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_lies_between_marks_is_found() {
        let log = "record cpu=0 ip=1\nmark begin a\ntotal cpu=0\nrecord cpu=0 ip=4010c0 nth=17\n\
                   interrupt cpu=0\nmark end a\nrecord cpu=0 ip=2\nmark begin b\nrecord ip=3\n";
        let found = between(log, "a", "record").unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].hex("ip"), found[0].decimal("nth")), (0x40_10c0, 17));
        assert!(between(log, "c", "record").is_none());
        assert!(between(log, "b", "record").is_none(), "it has no end");
        assert_eq!(totals(log, "begin a").len(), 1);
        assert_eq!(totals(log, "end a").len(), 0);
    }
}
