//! Names as a terminal may see them.

use std::borrow::Cow;

/// A text without control characters: a file or a thread may be called
/// anything, and must neither end a row nor command the terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if character.is_control() {
            clean.extend(character.escape_default());
        } else {
            clean.push(character);
        }
    }
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn control_characters_are_escaped_and_others_stay() {
        for (text, clean) in [
            ("größe\\n", "größe\\n"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("\0\x7f\u{9b}0m", "\\u{0}\\u{7f}\\u{9b}0m"),
        ] {
            assert_eq!(printable(text), clean);
        }
    }
}
