//! Options of `ebs causes`.

use super::reading::{StandingArguments, SymbolArguments, TableArguments};
use crate::terminal::grammar::number;
use clap::Args;
use std::path::PathBuf;

/// `ebs causes`.
#[derive(Clone, Debug, Args)]
pub struct CausesArguments {
    /// Recording of misses: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Instructions with their objects to tell of, those with most cycles or events.
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value = "10")]
    pub top: usize,
    /// The caches to judge by, as the emulated PMU takes them: l1d=32k,8. Not said: those of the
    /// model that made the misses, else those of this machine.
    #[arg(long, value_name = "SPEC")]
    pub cache: Vec<String>,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}
