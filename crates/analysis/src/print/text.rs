//! Text for a terminal.

use perfdata::printable::printable;
use render::Table;

/// How text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Terminal colours: bold headers, dim notes.
    pub color: bool,
    /// Lines are cut to so many columns of the terminal; long names lose
    /// their middle. Without it nothing is ever cut.
    pub width: Option<usize>,
    /// Every reason why samples have no name is listed, not only the
    /// commonest.
    pub reasons: bool,
    /// Names of C++ and Rust keep their parameters and arguments.
    pub full_names: bool,
}

/// A line about the numbers.
pub fn note(line: &str, style: Style) -> String {
    let mut out = Text { text: String::new(), style };
    out.note(line);
    out.text
}

/// Text that grows.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) style: Style,
}

impl Text {
    /// A line about the numbers, not of them.
    pub(crate) fn note(&mut self, line: &str) {
        let (dim, plain) = if self.style.color { ("\x1b[2m", "\x1b[0m") } else { ("", "") };
        self.text.push_str(dim);
        self.text.push_str("# ");
        self.text.push_str(&printable(line));
        self.text.push_str(plain);
        self.text.push('\n');
    }

    pub(crate) fn table(&mut self, table: &Table<'_>) {
        self.text.push_str(&table.text(self.style.width, self.style.color));
    }
}

pub(crate) fn number_of(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}
