//! Reports as JSON: one object, fields as docs/report.md lists them.

use crate::report::Report;
use perfdata::printable::is_unseen;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes one JSON object, indented, with a line end.
pub fn write(report: &Report, mut out: impl Write) -> io::Result<()> {
    write_pretty(report, &mut out)?;
    out.write_all(b"\n")
}

/// Writes a value, indented. What would command a terminal or turn the text around it is escaped
/// (`\u202e`), which is the same value to whoever parses it.
///
/// # Errors
///
/// Those of `out`.
pub fn write_pretty(value: &impl Serialize, out: impl Write) -> io::Result<()> {
    Ok(serde_json::to_writer_pretty(EscapedJson(out), value)?)
}

/// The same in one line, without its end.
///
/// # Errors
///
/// Those of `out`.
pub fn write_line(value: &impl Serialize, out: impl Write) -> io::Result<()> {
    Ok(serde_json::to_writer(EscapedJson(out), value)?)
}

/// What [`write_line`] writes.
///
/// # Errors
///
/// A value that JSON does not have: a map by what is no text.
pub fn line(value: &impl Serialize) -> io::Result<String> {
    let mut bytes = Vec::new();
    write_line(value, &mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// Escapes what serde_json leaves: it writes ASCII outside of strings, and each stretch of a string
/// as a whole.
struct EscapedJson<W>(W);

impl<W: Write> Write for EscapedJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        const DELETE: u8 = 0x7f;
        let text = match bytes.iter().all(|byte| *byte < DELETE) {
            true => None,
            false => std::str::from_utf8(bytes).ok(),
        };
        let Some(text) = text else { return self.0.write(bytes) };
        let mut escaped = String::with_capacity(text.len() + 16);
        for character in text.chars() {
            if !character.is_ascii() && is_unseen(character) || character == char::from(DELETE) {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _always = write!(escaped, "\\u{unit:04x}");
                }
            } else {
                escaped.push(character);
            }
        }
        self.0.write_all(escaped.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What [`write()`] writes.
pub fn render(report: &Report) -> io::Result<String> {
    let mut bytes = Vec::new();
    write(report, &mut bytes)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal_and_the_value_stays() {
        let name = "a\u{202e}b\u{9b}2J\u{7f}\u{e0041}größe 漢字\n\"\u{1b}";
        let value = std::collections::BTreeMap::from([(name, name)]);
        let mut pretty = Vec::new();
        write_pretty(&value, &mut pretty).unwrap();
        let pretty = String::from_utf8(pretty).unwrap();
        for text in [pretty, line(&value).unwrap()] {
            assert!(!text.contains(|c| c != '\n' && is_unseen(c)), "{text:?}");
            assert!(text.contains("\\u202e") && text.contains("größe 漢字"), "{text}");
            let back: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(back[name], name);
        }
    }
}
