//! Options of `ebs diff` and `ebs compare`.

use super::EmulationArguments;
use super::reading::{SymbolArguments, TableArguments};
use crate::terminal::number;
use analysis::diff::{DiffLimit, DiffPer, SameObject};
use clap::Args;
use perfdata::InstructionClass;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ebs diff old.data new.data                       by routine
  ebs diff --per requests=10000,12000 old.data new.data
  ebs diff --by inlined,srcline --same server-1=server-2 old.data new.data
  ebs diff --runs old-*.data -- new-*.data         runs of A, then of B
  ebs diff old/ new/                               all FILE.data there are runs
  ebs diff --fail-on 'l1_cache_miss > +5%' --fail-on 'page_fault@parse* > +0%' old/ new/

Exit status: 0; 1 when a recording cannot be read or compared; 2 for a wrong command line; 3 when
what --fail-on says holds.";

/// `ebs diff`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct DiffArguments {
    /// Two recordings, what was and what is; or two directories, whose files *.data are repeated
    /// runs. With --runs and -- recordings of A.
    #[arg(required = true, value_name = "A_B")]
    pub files: Vec<PathBuf>,
    /// With --runs: recordings of B.
    #[arg(last = true, value_name = "B", requires = "runs")]
    pub others: Vec<PathBuf>,
    /// Takes several recordings of each side, those of B behind --: how runs vary is then part of
    /// the intervals.
    #[arg(long)]
    pub runs: bool,
    /// How sides are compared, and shown.
    #[command(flatten)]
    pub comparing: ComparingArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// How two sides are compared, and how that is shown.
#[derive(Clone, Debug, Default, Args)]
pub struct ComparingArguments {
    /// What a row is: routine; its lines counted from its first (routine-line), its instructions
    /// without registers and addresses (operands); or keys of `ebs report` that are no addresses and no numbers of
    /// processes, such as object, inlined, srcline, variable, level [default: routine].
    #[arg(short, long, value_name = "KEY,...", value_delimiter = ',')]
    pub by: Vec<String>,
    /// What counts are divided by: instructions, seconds, run, or so many units of yours in each
    /// run, requests=10000, or requests=10000,12000 where B had others [default: instructions
    /// where all recordings tell them, else seconds, or run where they are emulated].
    #[arg(long, value_name = "WHAT")]
    pub per: Option<DiffPer>,
    /// A file of A that is called otherwise in B, such as server-1.2=server-1.3 [default: the only
    /// file that A alone has is the only one that B alone has].
    #[arg(long, value_name = "OLD=NEW")]
    pub same: Vec<SameObject>,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Counts only records of instructions of this class; see `ebs report --help`.
    #[arg(long, value_name = "CLASS")]
    pub class: Option<InstructionClass>,
    /// Exits with status 3 when a rate changed by more, as its 95 % interval says: EVENT > +N%,
    /// EVENT < -N%, EVENT@ROUTINE > +N% of each such row; any number of times.
    #[arg(long, value_name = "LIMIT")]
    pub fail_on: Vec<DiffLimit>,
    /// Takes a change of which --fail-on cannot tell for one that is too much.
    #[arg(long, requires = "fail_on")]
    pub strict: bool,
    /// Rows to print of each event [default: 20 on a table, all otherwise].
    #[arg(long, value_name = "N", value_parser = number::<usize>)]
    pub top: Option<usize>,
    /// Prints JSON.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Prints comma-separated values.
    #[arg(long)]
    pub csv: bool,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
}

const COMPARISONS: &str = "\
Examples:
  ebs compare -n 10 -u -t page_fault -- ./old FILE --- ./new FILE
  ebs compare -u -t l1_cache_miss,instr_retired -i 1000 -o kept -- ./old --- ./new
  ebs diff kept/a kept/b                           the same once more, by other keys

A begins the first, third, ... pair of runs, B the others. Both get an empty input, and what they
write to stdout is thrown away. SIGINT ends it; what is shown is of the pairs that were whole.

Exit status: 0; 1 when a run failed or nothing can be compared; 2 for a wrong command line; 3 when
what --fail-on says holds; 128 + N after signal N.";

/// `ebs compare`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = COMPARISONS)]
pub struct CompareArguments {
    /// Runs of each command.
    #[arg(short = 'n', long = "runs", value_name = "RUNS", default_value_t = 5)]
    #[arg(value_parser = number::<u32>)]
    pub repeat: u32,
    /// Samples user code.
    #[arg(short, long)]
    pub user: bool,
    /// Samples kernel code.
    #[arg(short, long)]
    pub kernel: bool,
    /// Event type, as for `ebs -t`; several with commas or several -t.
    #[arg(short = 't', long = "type", value_name = "TYPE,...")]
    pub types: Vec<String>,
    /// Events from one record to the next, as for `ebs -i`.
    #[arg(short, long, value_name = "INTERVAL,...", allow_negative_numbers = true)]
    pub interval: Vec<String>,
    /// Masks of a type, as for `ebs -m`.
    #[arg(short, long = "mask", value_name = "NAME,...")]
    pub masks: Vec<String>,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Keeps the recordings in DIR/a and DIR/b [default: they are removed].
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// How sides are compared, and shown.
    #[command(flatten)]
    pub comparing: ComparingArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
    /// Two commands with their arguments, and --- between them.
    #[arg(value_name = "A --- B", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub commands: Vec<OsString>,
}
