//! Options of `ebs c2c`.

use super::reading::{StandingArguments, SymbolArguments, TableArguments};
use crate::terminal::grammar::number;
use clap::Args;
use std::path::PathBuf;

/// `ebs c2c`.
#[derive(Clone, Debug, Args)]
pub struct C2cArguments {
    /// Recording of loads and stores with data addresses: `ebs -t hitm,memory_stores -o FILE.data`,
    /// or what `perf c2c record` wrote; `-` is stdin.
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
    /// Takes lines two by two, 128 bytes: some CPUs fetch both.
    #[arg(long)]
    pub pair: bool,
    /// Lines, and waits, to tell of.
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value = "10")]
    pub top: usize,
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
