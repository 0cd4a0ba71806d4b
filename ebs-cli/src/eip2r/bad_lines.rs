//! Lines without a number: how many, and the first of them.

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BadLines {
    lines: u64,
    pub(super) bad: u64,
    /// Number, counted from 1, and text of the first.
    pub(super) first: Option<(u64, String)>,
}

impl BadLines {
    #[inline]
    pub(super) fn good(&mut self, lines: usize) {
        self.lines += lines as u64;
    }

    #[cold]
    pub(super) fn bad(&mut self, line: &[u8]) {
        self.lines += 1;
        self.bad += 1;
        let text = || String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().collect();
        self.first.get_or_insert_with(|| (self.lines, text()));
    }

    /// The lines of all pieces, given with their numbers in any order.
    pub(super) fn of_pieces(mut pieces: Vec<(u64, BadLines)>) -> BadLines {
        pieces.sort_unstable_by_key(|(index, _)| *index);
        let mut all = BadLines::default();
        pieces.into_iter().for_each(|(_, piece)| all.add(piece));
        all
    }

    pub(super) fn add(&mut self, next: BadLines) {
        if self.first.is_none() {
            self.first = next.first.map(|(number, text)| (self.lines + number, text));
        }
        self.lines += next.lines;
        self.bad += next.bad;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_number_that_the_whole_would_give() {
        let (mut whole, mut one, mut two) = Default::default();
        for part in [&mut whole, &mut one] {
            BadLines::good(part, 7);
        }
        for part in [&mut whole, &mut two] {
            BadLines::good(part, 2);
            BadLines::bad(part, b"main+0x5");
            BadLines::bad(part, b"x");
        }
        assert_eq!(whole.first, Some((10, "main+0x5".to_owned())));
        assert_eq!(BadLines::of_pieces(vec![(1, two), (0, one)]), whole);
    }
}
