//! Options of `ebs html`.

use super::reading::{StandingArguments, SymbolArguments};
use clap::Args;
use std::path::PathBuf;

/// `ebs html`.
#[derive(Clone, Debug, Default, Args)]
pub struct HtmlArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    #[arg(required_unless_present = "standing")]
    pub file: Option<PathBuf>,
    /// Where to write the page; `-` is stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}
