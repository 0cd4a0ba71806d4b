//! Options of `ebs causes` and `ebs c2c`, which look at accesses one by one.

use super::reading::{StandingArguments, SymbolArguments, TableArguments};
use crate::ebs::causes::tried_change::TriedChanges;
use crate::terminal::number;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// Which accesses, and in what form they are told of.
#[derive(Clone, Debug, Args)]
pub struct AccessArguments {
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// What to tell of, most first: instructions with their objects, or lines.
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value = "10")]
    pub top: usize,
    /// Prints JSON, of all.
    #[arg(long)]
    pub json: bool,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// `ebs causes`.
#[derive(Clone, Debug, Args)]
pub struct CausesArguments {
    /// Recording of misses: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// A command to sample first, behind `--`: its first million misses where there is no PMU
    /// (emulated, each with its class), else the first 200,000; with -i above 1 all of it.
    #[arg(last = true, value_name = "EXE", conflicts_with_all = ["file", "standing"])]
    pub command: Vec<OsString>,
    /// Of a command: what is sampled.
    #[arg(short, long = "type", value_name = "TYPE", value_delimiter = ',')]
    #[arg(default_value = "l1_cache_miss", conflicts_with_all = ["file", "standing"])]
    pub types: Vec<String>,
    /// Of a command: one miss of so many is sampled [default: 1, each].
    #[arg(short, long, value_name = "N", value_parser = number::<u64>)]
    #[arg(conflicts_with_all = ["file", "standing"])]
    pub interval: Option<u64>,
    /// The caches to judge by, as the emulated PMU takes them: l1d=32k,8. Not said: those of the
    /// model that made the misses, else those of this machine.
    #[arg(long, value_name = "SPEC")]
    pub cache: Vec<String>,
    /// Of a command: tells blocks of the heap, too, so that what is missed on is called by who asked
    /// for it; see `ebs --help`. A recording that tells them needs nothing.
    #[arg(long, conflicts_with_all = ["file", "standing"])]
    pub heap: bool,
    /// Of a command: runs it as it is, and once more with an object in another layout, in the caches of
    /// the emulated PMU alone, and shows the misses of both: pad=BYTES, rows=STRIDE+BYTES, align=BYTES,
    /// colour, split=FROM..TO, order=STRIDE:FROM..TO/..., pages=2m or apart, of the object that is missed
    /// most or of @NAME or @START+SIZE, as in pad=64@grid. Changes with commas between them are made at once; --try may be
    /// repeated, and has a run each.
    #[arg(long = "try", value_name = "CHANGE[@OBJECT],...", requires = "command")]
    #[arg(conflicts_with_all = ["file", "standing"])]
    pub tries: Vec<TriedChanges>,
    /// Tells what caches of other sizes would miss instead, of a recording with each miss, or each
    /// load and store, of the emulated PMU: -t l1_cache_miss -i 1, -t memory_moves -i 1.
    #[arg(long, conflicts_with_all = ["tries"])]
    pub curve: bool,
    /// Which misses, and their form.
    #[command(flatten)]
    pub accesses: AccessArguments,
}

/// `ebs c2c`.
#[derive(Clone, Debug, Args)]
pub struct C2cArguments {
    /// Recording of loads and stores with data addresses: `ebs -t hitm,memory_stores -o FILE.data`,
    /// or what `perf c2c record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// Takes lines two by two, 128 bytes: some CPUs fetch both.
    #[arg(long)]
    pub pair: bool,
    /// Which accesses, and their form.
    #[command(flatten)]
    pub accesses: AccessArguments,
}
