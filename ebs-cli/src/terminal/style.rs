//! How stdout shows text.

use analysis::table::Style;
use std::io::IsTerminal;

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
