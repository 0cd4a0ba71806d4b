//! The text of `ebs -h TYPE`.

use std::fmt::Write as _;

use super::{Availability, EventKind, EventType, IntervalUnit, availability};
use crate::facts::Facts;

/// Everything worth knowing about one type on the machine of `facts`, as
/// lines of text that end in a line feed.
pub fn help(entry: &EventType, facts: &Facts) -> String {
    let mut text = String::new();
    wrap(&format!("{}: {}", entry.name, entry.meaning), &mut text);
    text.push('\n');
    for paragraph in entry.detail.lines() {
        wrap(paragraph, &mut text);
    }
    let unit = match entry.unit {
        IntervalUnit::Events => "events",
        IntervalUnit::Nanoseconds => "nanoseconds",
    };
    text.push('\n');
    let mut line = |key: &str, value: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {key:<10} {value}");
    };
    line("interval", &format!("in {unit}; {} unless -i says otherwise", entry.default_interval));
    line("masks", "this type has no masks (-m)");
    if let Some(promises) = entry.promises {
        line("promises", &promises.to_string().replace(';', " "));
    }
    let aliases: Vec<_> =
        entry.aliases.iter().filter(|name| !name.ends_with(':')).copied().collect();
    let is_form = matches!(entry.kind, EventKind::Breakpoint | EventKind::Tracepoint);
    if !aliases.is_empty() && !is_form {
        line("also", &aliases.join(", "));
    }
    line("example", entry.example);
    match availability(entry, facts) {
        Availability::Available { .. } => line("here", "available"),
        Availability::Unavailable { why, nearest, advice } => {
            line("here", &format!("not available: {why}"));
            if !nearest.is_empty() {
                line("nearest", &nearest.join(", "));
            }
            line("", &advice);
        }
    }
    text
}

/// Breaks a paragraph at spaces so that no line is longer than 79 columns.
fn wrap(paragraph: &str, out: &mut String) {
    let mut column = 0;
    for word in paragraph.split(' ') {
        if column > 0 && column + 1 + word.len() > 79 {
            out.push('\n');
            column = 0;
        }
        if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
}
