//! What is wrong with a configuration, and where.

use std::path::{Path, PathBuf};

use super::file::FileError;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("{}: line {}, column {}: {what}: {:?}", .path.display(), .place.line, .place.column, .place.text)]
    Text { path: PathBuf, place: TextPosition, what: String },
    #[error(
        "{}: there is no group {group:?}; create it (groupadd --system {group}) or take it out",
        .path.display()
    )]
    Group { path: PathBuf, group: String },
    #[error("{}: standing session {name:?}: {what}", .path.display())]
    Standing { path: PathBuf, name: String, what: String },
    #[error("{}: {what} is {value}: give at least {least}", .path.display())]
    Limit { path: PathBuf, what: &'static str, value: u64, least: u64 },
}

pub(super) fn not_understood(error: &toml::de::Error, text: &str, path: &Path) -> ConfigError {
    let at = error.span().map_or(text.len(), |span| span.start);
    let lines: Vec<&str> = error.message().lines().map(str::trim).collect();
    ConfigError::Text {
        path: path.to_owned(),
        place: TextPosition::of(text, at),
        what: lines.join("; "),
    }
}

/// A place in a text, as editors count it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// The whole line, without white space around it.
    pub text: String,
}

impl TextPosition {
    /// Of the byte `at`; behind the end, and within a character, of the last
    /// place before.
    fn of(text: &str, at: usize) -> TextPosition {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let (before, after) = text.split_at(at);
        let begun = before.rfind('\n').map_or(0, |end| end + 1);
        let rest = after.find('\n').unwrap_or(after.len());
        TextPosition {
            line: before.matches('\n').count() + 1,
            column: before[begun..].chars().count() + 1,
            text: text[begun..at + rest].trim().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one() {
        let text = "ä = 1\n  b = \"ö\"\n";
        for (at, line, column, says) in [
            (0, 1, 1, "ä = 1"),
            (1, 1, 1, "ä = 1"),
            (2, 1, 2, "ä = 1"),
            (6, 1, 6, "ä = 1"),
            (7, 2, 1, "b = \"ö\""),
            (9, 2, 3, "b = \"ö\""),
            (text.len(), 3, 1, ""),
            (99, 3, 1, ""),
        ] {
            assert_eq!(
                TextPosition::of(text, at),
                TextPosition { line, column, text: says.into() }
            );
        }
    }
}
