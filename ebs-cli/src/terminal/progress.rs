//! How far long work has come: one line of a terminal, drawn over itself.

use perfdata::printable::printable;
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

/// Oftener than this nobody reads it.
const OFTEN: Duration = Duration::from_millis(100);
/// Columns where the terminal does not say.
const COLUMNS: usize = 80;

/// A line of stderr that says how far something is; nothing where stderr is
/// no terminal. It is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    shows: bool,
    drawn: Option<Instant>,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine { shows: io::stderr().is_terminal(), drawn: None }
    }

    fn is_due(&self) -> bool {
        self.shows && self.drawn.is_none_or(|drawn| drawn.elapsed() >= OFTEN)
    }

    /// Draws what `text` gives, unless the last was drawn just now.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        if self.is_due() {
            self.draw(&text());
        }
    }

    /// Draws at once: what is said next takes its time.
    pub(crate) fn show_now(&mut self, text: &str) {
        if self.shows {
            self.draw(text);
        }
    }

    fn draw(&mut self, text: &str) {
        let width = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
        let width = if width == 0 { COLUMNS } else { width };
        let _closed = write!(io::stderr(), "\r{}\x1b[K", fitting(text, width));
        self.drawn = Some(Instant::now());
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let _closed = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// A line that does not wrap: names in it were chosen by others.
fn fitting(text: &str, width: usize) -> String {
    let text = printable(text).to_string();
    match text.char_indices().nth(width.saturating_sub(1)) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    }
}

/// Bytes for people, in steps of 1024.
pub(crate) fn in_bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let steps = (bytes.max(1).ilog2() / 10).min(4);
    match steps {
        0 => format!("{bytes} B"),
        _ => {
            let tenths = (u128::from(bytes) * 10) >> (10 * steps);
            format!("{}.{} {}", tenths / 10, tenths % 10, units[steps as usize])
        }
    }
}

#[derive(Debug)]
pub(crate) struct ProgressReader<R> {
    source: R,
    length: u64,
    position: u64,
    line: ProgressLine,
}

impl<R> ProgressReader<R> {
    /// `length`: the file's, bytes.
    pub(crate) fn new(source: R, length: u64) -> ProgressReader<R> {
        ProgressReader { source, length, position: 0, line: ProgressLine::new() }
    }
}

impl<R: Read> Read for ProgressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.position += count as u64;
        let (position, length) = (self.position, self.length);
        self.line.show(|| format!("read {} of {}", in_bytes(position), in_bytes(length)));
        Ok(count)
    }
}

impl<R: Seek> Seek for ProgressReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.source.seek(to)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_before_the_last_column_and_holds_no_control() {
        assert_eq!(fitting("abcdef", 4), "abc");
        assert_eq!(fitting("abc", 80), "abc");
        assert!(!fitting("a\x1b[2Jb\n", 80).contains(['\x1b', '\n']));
        assert_eq!(fitting("äöü", 3), "äö");
    }

    #[test]
    fn bytes_are_told_in_units_that_fit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(in_bytes(bytes), text);
        }
    }

    #[test]
    fn reading_and_seeking_are_the_sources() {
        let mut reader = ProgressReader::new(io::Cursor::new(b"0123456789".to_vec()), 10);
        let mut two = [0; 2];
        reader.seek(SeekFrom::Start(4)).unwrap();
        reader.read_exact(&mut two).unwrap();
        assert_eq!((&two, reader.position), (b"45", 6));
    }
}
