//! The user's end of both commands: what they say on stderr, and what their
//! grammars share. [`causes`] words an error, [`style`] is how stdout shows
//! tables, [`signals`] are what ends a command, `progress` how far it is, and
//! [`debuginfod`] shows how downloads go.

pub mod causes;
pub mod debuginfod;
pub(crate) mod progress;
pub mod signals;
pub mod style;

use clap::builder::styling::{AnsiColor, Styles};
use perfdata::printable::printable;
use std::io::{self, Write};

pub(crate) const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// A number; an error in words that a user understands when it is none.
pub(crate) fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    let most = 8 * size_of::<N>();
    text.parse().map_err(|_| format!("not a whole number from 0 to 2^{most} - 1"))
}

/// Digits with a comma after each three from the end: `1,234,567`.
pub(crate) fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A line for the user, `PROGRAM: TEXT`: names in it were chosen by others,
/// and end no line. A closed stderr is no reason to fail.
pub(crate) fn say(program: &str, text: &str) {
    let _closed = writeln!(io::stderr(), "{program}: {}", printable(text));
}

pub(crate) fn percent(text: &str) -> Result<f64, &'static str> {
    let number: f64 = text.trim_end_matches('%').parse().map_err(|_| PERCENT)?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err(PERCENT) }
}

const PERCENT: &str = "a number from 0 to 100 is expected";

/// Bytes, also in k, m or g, from a megabyte to a terabyte.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let units = [("k", 10), ("m", 20), ("g", 30)];
    let unit = units.iter().find_map(|(letter, shift)| Some((lower.strip_suffix(letter)?, *shift)));
    let (digits, shift) = unit.unwrap_or((&lower, 0));
    let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
    bytes
        .filter(|bytes| (1 << 20..=1 << 40).contains(bytes))
        .ok_or_else(|| "no size from 1m to 1024g, such as 512m".to_owned())
}
