//! Text of a page as it grows: markup of ours, and words of others.

use perfdata::printable::is_unseen;
use std::fmt::Write;

/// Characters of a name that are shown; of a longer one the begin and the end.
const LONGEST: usize = 400;
const BEGIN: usize = 280;
const END: usize = 80;

/// Markup comes in as literals alone, so that no word out of a recording can be
/// taken for it: all else goes through [`HtmlText::words`].
#[derive(Debug, Default)]
pub struct HtmlText {
    text: String,
}

impl HtmlText {
    /// Markup of ours.
    pub fn mark(&mut self, markup: &'static str) -> &mut HtmlText {
        self.text.push_str(markup);
        self
    }

    /// Words of others, in an element or between the quotes of an attribute.
    pub fn words(&mut self, words: &str) -> &mut HtmlText {
        // Bytes are quicker counted than characters, of which there are no more.
        let length = if words.len() > LONGEST { words.chars().count() } else { 0 };
        if length <= LONGEST {
            return self.escaped(words.chars());
        }
        self.escaped(words.chars().take(BEGIN));
        let _ = write!(self.text, " [{} characters left out] ", length - BEGIN - END);
        self.escaped(words.chars().skip(length - END))
    }

    /// The same in a line of a picture that has room for so many characters.
    pub fn words_in(&mut self, words: &str, room: usize) -> &mut HtmlText {
        if words.chars().nth(room).is_none() {
            return self.escaped(words.chars());
        }
        self.escaped(words.chars().take(room.saturating_sub(1))).mark("\u{2026}")
    }

    /// A number, which needs no escape.
    pub fn number(&mut self, number: u64) -> &mut HtmlText {
        let _ = write!(self.text, "{number}");
        self
    }

    /// A measure of a picture, to a hundredth; what is no number is none.
    pub fn measure(&mut self, measure: f64) -> &mut HtmlText {
        let measure = if measure.is_finite() { measure } else { 0.0 };
        let text = format!("{measure:.2}");
        self.text.push_str(text.trim_end_matches('0').trim_end_matches('.'));
        self
    }

    /// A share, 0 to 1, as tables have it.
    pub fn percent(&mut self, share: f64) -> &mut HtmlText {
        self.text.push_str(&crate::cell::percent(share));
        self
    }

    /// What was written.
    pub fn into_text(self) -> String {
        self.text
    }

    fn escaped(&mut self, words: impl Iterator<Item = char>) -> &mut HtmlText {
        for character in words {
            match character {
                '&' => self.text.push_str("&amp;"),
                '<' => self.text.push_str("&lt;"),
                '>' => self.text.push_str("&gt;"),
                '"' => self.text.push_str("&quot;"),
                '\'' => self.text.push_str("&#39;"),
                unseen if is_unseen(unseen) => self.text.extend(unseen.escape_default()),
                seen => self.text.push(seen),
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &str) -> String {
        let mut out = HtmlText::default();
        out.words(words);
        out.into_text()
    }

    #[test]
    fn words_are_no_markup() {
        assert_eq!(of("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
        assert_eq!(of("</script><script>alert(1)"), "&lt;/script&gt;&lt;script&gt;alert(1)");
        assert_eq!(of("x\u{202e}y\u{2066}\n\0"), "x\\u{202e}y\\u{2066}\\n\\u{0}");
        assert_eq!(of("größe 名"), "größe 名");
    }

    #[test]
    fn long_names_are_cut_where_one_sees_it() {
        assert_eq!(of(&"x".repeat(LONGEST)).len(), LONGEST);
        let cut = of(&format!("<{}>", "é".repeat(1 << 20)));
        assert!(cut.starts_with("&lt;é") && cut.ends_with("é&gt;"), "{cut}");
        assert!(cut.contains("é [1048218 characters left out] é"), "{cut}");
        assert!(cut.len() < 1000);
        let mut out = HtmlText::default();
        out.words_in("memcpy", 6).mark(" ").words_in("memcpy", 4);
        assert_eq!(out.into_text(), "memcpy mem\u{2026}");
    }

    #[test]
    fn measures_are_short() {
        let mut out = HtmlText::default();
        out.measure(12.0).mark(" ").measure(0.126).mark(" ").measure(f64::NAN);
        out.mark(" ").percent(0.5).mark(" ").number(7);
        assert_eq!(out.into_text(), "12 0.13 0 50.00% 7");
    }
}
