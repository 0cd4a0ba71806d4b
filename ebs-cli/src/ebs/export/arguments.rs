//! Options of `ebs export`.

use crate::ebs::arguments::{DAEMON, StandingArguments, SymbolArguments};
use crate::terminal::size;
use clap::Args;
use perfdata::InstructionClass;
use std::path::PathBuf;

/// Which records, and in what form they go where.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = NOTES)]
pub struct ExportArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// What the daemon keeps.
    #[command(flatten)]
    pub standing: StandingArguments,
    /// What it has on disk.
    #[command(flatten)]
    pub segments: SegmentArguments,
    /// Form to write.
    #[arg(long, value_name = "FORM", value_enum)]
    pub to: ExportForm,
    /// File to write, made anew when all is written; `-` is stdout. Of parquet also a folder that is
    /// there: OUT/host=HOST/day=DAY/part-N.parquet is added.
    #[arg(short, long, value_name = "OUT", default_value = "-")]
    pub output: PathBuf,
    /// Looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB")]
    pub event: Option<String>,
    /// Exports only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Exports only records of a part of the run: seconds from its first record on, or percent, such
    /// as 1.5-3, 10%-20%, 2-.
    #[arg(long, value_name = "FROM-TO", allow_hyphen_values = true)]
    pub time: Option<String>,
    /// Exports only records of instructions of this class; see `ebs report --help`.
    #[arg(long, value_name = "CLASS")]
    pub class: Option<InstructionClass>,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// Segments of a standing session, in place of a file.
#[derive(Clone, Debug, Default, Args)]
pub struct SegmentArguments {
    /// Exports every finished segment of a standing session once, from its directory, such as
    /// /var/lib/ebsd/web; the one that is written waits for the next time. OUT is a folder.
    #[arg(id = "segments", long = "segments", value_name = "DIR", help_heading = DAEMON)]
    #[arg(conflicts_with_all = ["file", "standing", "time"])]
    pub directory: Option<PathBuf>,
    /// What was exported is noted here [default: OUT/.NAME.account, of the directory's name].
    #[arg(long, value_name = "FILE", help_heading = DAEMON, requires = "segments")]
    pub account: Option<PathBuf>,
    /// Exports nothing while OUT's file system has less than so much room.
    #[arg(long, value_name = "SIZE", help_heading = DAEMON, requires = "segments")]
    #[arg(default_value = "1g", value_parser = size)]
    pub keep_free: u64,
}

/// A form that another tool reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportForm {
    /// profile.proto, gzip: for `go tool pprof` and what else reads it.
    Pprof,
    /// JSON for the Firefox Profiler (profiler.firefox.com, `samply load`).
    Firefox,
    /// Lines of stacks with their counts, as `ebs report --folded`: for flame graphs.
    Folded,
    /// JSON for speedscope.
    Speedscope,
    /// A line a record, with all that is known of it.
    Csv,
    /// The same as Apache Parquet: for DuckDB, pandas, Spark.
    Parquet,
}

impl ExportForm {
    /// Whether a folder of them is one table.
    pub fn is_of_fleets(self) -> bool {
        self == ExportForm::Parquet
    }
}

const NOTES: &str = "\
What is exported is what `ebs report` counts with the same -e, -f, --time and --class: the sums are
the same. docs/export.md says what each form has.

  ebs export --to pprof server.data -o server.pb.gz    then go tool pprof -http : server.pb.gz
  ebs export --to speedscope server.data -o server.json
  ebs export --to csv -f mode=user server.data | head
  ebs export --to parquet --segments /var/lib/ebsd/web -o /var/lib/ebsd-export

Exit status: 0; 1 when nothing could be written, or when the recording is damaged: what could be
read of it is in OUT then, or when a segment could not be exported; 2 for a wrong command line.";
