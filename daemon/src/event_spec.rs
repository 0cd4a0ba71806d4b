//! The text that names an event, as typed after `-t`.

use std::fmt;

/// An event as the user typed it; [`crate::plan()`] finds out what it means.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventSpec(pub String);

impl From<&str> for EventSpec {
    fn from(text: &str) -> EventSpec {
        EventSpec(text.to_owned())
    }
}

impl From<String> for EventSpec {
    fn from(text: String) -> EventSpec {
        EventSpec(text)
    }
}

impl fmt::Display for EventSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
