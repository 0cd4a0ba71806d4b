//! The text of one routine, above the rows.

use record::printable::printable;

/// Lines that are scrolled through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoomText {
    /// What is shown.
    pub(crate) title: String,
    /// Its lines; None: not known yet.
    pub(crate) lines: Option<Vec<String>>,
    /// The first one that is seen.
    pub(crate) first: usize,
}

impl ZoomText {
    /// Takes the text that was asked for; tabs as wide as they are, no other
    /// control.
    pub(crate) fn fill(&mut self, text: &str) {
        let line = |line: &str| printable(&line.replace('\t', "        ")).into_owned();
        self.lines = Some(text.lines().map(line).collect());
        self.first = self.first.min(self.last());
    }

    /// Goes up or down by so many lines.
    pub(crate) fn scroll(&mut self, by: isize) {
        self.first = self.first.saturating_add_signed(by).min(self.last());
    }

    pub(crate) fn last(&self) -> usize {
        self.lines.as_ref().map_or(0, |lines| lines.len().saturating_sub(1))
    }
}
