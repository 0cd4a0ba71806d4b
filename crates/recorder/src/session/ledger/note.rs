//! The note at the end of a stream.

use std::fmt::{self, Write};

/// `key=value` joined with `;`.
#[derive(Debug, Default)]
pub(super) struct Note(String);

impl Note {
    pub(super) fn add(&mut self, key: &str, value: impl fmt::Display) {
        let separator = if self.0.is_empty() { "" } else { ";" };
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{separator}{key}={value}");
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}
