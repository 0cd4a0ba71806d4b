//! What the grammars of both commands share.

use clap::builder::styling::{AnsiColor, Styles};

/// Of help and errors.
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
