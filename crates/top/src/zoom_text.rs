//! The text of one routine, above the rows.

use perfdata::printable::printable;

/// Whether a line of a listing is that of an instruction: numbers, its share, its address.
fn is_of(line: &str, address: u64) -> bool {
    let address = format!("{address:x}");
    !line.starts_with('#') && line.split_whitespace().take(4).any(|word| word == address)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoomText {
    pub(crate) title: String,
    pub(crate) address: u64,
    /// Its lines; None: not known yet.
    pub(crate) lines: Option<Vec<String>>,
    pub(crate) first: usize,
}

impl ZoomText {
    /// Takes the text that was asked for; tabs as wide as they are, no other
    /// control. The first look is at the instruction, on a screen of so many lines.
    pub(crate) fn fill(&mut self, text: &str, screen: usize) {
        let line = |line: &str| printable(&line.replace('\t', "        ")).into_owned();
        let is_first = self.lines.is_none();
        let lines: Vec<String> = text.lines().map(line).collect();
        if is_first {
            let of_site = lines.iter().position(|line| is_of(line, self.address));
            // The head is seen as well, where there is room for both.
            let below = of_site.filter(|at| *at >= screen);
            self.first = below.map_or(0, |at| at - screen / 2);
        }
        self.lines = Some(lines);
        self.first = self.first.min(self.last());
    }

    pub(crate) fn scroll(&mut self, by: isize) {
        self.first = self.first.saturating_add_signed(by).min(self.last());
    }

    pub(crate) fn last(&self) -> usize {
        self.lines.as_ref().map_or(0, |lines| lines.len().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_look_is_at_the_instruction() {
        let mut text = ZoomText { address: 0x1139, ..ZoomText::default() };
        let head = "# much of /bin/prog, 0x1129-0x1139: 7 of 9 samples\ncount    share  address  \
                    instruction\n";
        let line = |at: u64| format!("    1    1.00%     {at:x}  addb $1, (%rax)\n");
        let listing = head.to_owned() + &(0x1120..0x1150).map(line).collect::<String>();
        text.fill(&listing, 20);
        let at = 2 + 0x19 - 10;
        assert_eq!(text.first, at);
        // Read anew, it stays where it was scrolled to.
        text.scroll(-3);
        text.fill(&listing, 20);
        assert_eq!(text.first, at - 3);
        for (address, screen) in [(1, 20), (0x1139, 40)] {
            let mut other = ZoomText { address, ..ZoomText::default() };
            other.fill(&listing, screen);
            assert_eq!(other.first, 0, "{address:#x}");
        }
    }
}
