//! Names as a terminal may see them. Files, threads and routines may be
//! called anything: what shows their names must neither let them end a line,
//! nor command the terminal, nor turn the text around them.

use std::borrow::Cow;

/// Whether a character does something to the text around it rather than be
/// seen: control characters (C0, C1), line and paragraph separators, and what
/// is shown as nothing, such as the signs that turn the direction of writing
/// (Default_Ignorable_Code_Point of DerivedCoreProperties.txt, Unicode 16, and
/// the interlinear annotation signs).
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text with each such character as Rust escapes it: `\n`, `\u{202e}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    let plain = |byte: &u8| (b' '..=b'~').contains(byte);
    if text.as_bytes().iter().all(plain) || !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    push(text, &mut clean);
    Cow::Owned(clean)
}

/// Appends a name of any bytes: those that are no UTF-8 as `\xff`.
pub fn push_printable(name: &[u8], out: &mut Vec<u8>) {
    if name.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return out.extend_from_slice(name);
    }
    let mut clean = String::with_capacity(name.len() + 16);
    for chunk in name.utf8_chunks() {
        push(chunk.valid(), &mut clean);
        clean.extend(chunk.invalid().iter().flat_map(|byte| byte.escape_ascii()).map(char::from));
    }
    out.extend_from_slice(clean.as_bytes());
}

fn push(text: &str, clean: &mut String) {
    for character in text.chars() {
        match is_unseen(character) {
            true => clean.extend(character.escape_default()),
            false => clean.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unseen_is_escaped_and_the_rest_stays() {
        for (text, clean) in [
            ("größe\\n 漢字 e\u{301}", "größe\\n 漢字 e\u{301}"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\x1b[31mred", "\\u{1b}[31mred"),
            ("\0\x7f\u{9b}0m", "\\u{0}\\u{7f}\\u{9b}0m"),
            ("exe\u{202e}gpj.sh", "exe\\u{202e}gpj.sh"),
            ("a\u{200b}b\u{2066}c\u{2069}\u{feff}", "a\\u{200b}b\\u{2066}c\\u{2069}\\u{feff}"),
            ("\u{e0041}\u{2028}", "\\u{e0041}\\u{2028}"),
        ] {
            assert_eq!(printable(text), clean);
            let mut out = Vec::new();
            push_printable(text.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out), Ok(clean.to_owned()));
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_as_bytes() {
        let mut out = b"> ".to_vec();
        push_printable(b"a\x9b2J\xff\xc3\xa4\xc3", &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "> a\\x9b2J\\xffä\\xc3");
    }
}
