//! How stdout shows text.

use analysis::table::Style;
use std::io::IsTerminal;

/// Whether text in this locale may be of more than ASCII: the first of LC_ALL,
/// LC_CTYPE and LANG that is set says UTF-8.
pub fn is_utf8() -> bool {
    let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(value)
        .is_some_and(|locale| says_utf8(&locale))
}

fn says_utf8(locale: &str) -> bool {
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// Colours and width of stdout: neither unless it is a terminal; no colours
/// under NO_COLOR (any value but an empty one) or on a dumb terminal; no width
/// where rows are to be as long as they are, `wide`.
pub fn style(wide: bool) -> Style {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return Style::default();
    }
    let width = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let width = width.filter(|columns| *columns > 0 && !wide);
    Style { color: !set("NO_COLOR") && !dumb, width, ..Style::default() }
}

#[cfg(test)]
mod tests {
    use super::says_utf8;

    #[test]
    fn locales_say_whether_they_are_utf_8() {
        for (locale, expected) in [
            ("C.UTF-8", true),
            ("de_DE.utf8", true),
            ("C", false),
            ("POSIX", false),
            ("en_US", false),
        ] {
            assert_eq!(says_utf8(locale), expected, "{locale}");
        }
    }
}
