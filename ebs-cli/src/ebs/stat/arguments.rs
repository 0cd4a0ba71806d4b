//! Options of `ebs stat`.

use crate::ebs::arguments::EmulationArguments;
use crate::terminal::number;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  ebs stat ./server                     what the kernel counts, and the CPU where it has a PMU
  ebs stat -m cache,tlb ./server        hits and misses by level, of 1000 instructions
  ebs stat -m l2_rqsts -r 5 ./server    requests to the L2 by origin and result, of five runs
  ebs stat -m cache --passes ./server   run again for each group: nothing takes turns
  ebs stat -t r81d0,page_fault -p 1234  codes and types as `ebs -t` takes them, until SIGINT
  ebs stat -m software -a -I 1000       the whole system, a table each second
  ebs stat -m cache --per request=10000 ./client   each figure per request, too
  ebs stat --list                       the metrics that there are here

Without -m and -t: the groups software, core and branches. Where there is no PMU the kernel's
counts are taken of the command as it runs, and metrics of a CPU (-m cache) come of the emulated PMU,
exact and marked. An event that had to take turns with others is scaled, with the bounds that hold
the truth 95 times of 100, `?` where there were too few turns to tell: --passes has none. What was
never on a counter is no number, nor is what is derived from it. docs/stat.md has the method.

The table goes to stdout, after the command's own output, or to the file that -o names. Notes go to
stderr. SIGINT ends the counting and prints it.

Exit status: that of the program, 128 + N when signal N killed it; 1 when counting failed; 2 for a
wrong command line.";

/// What to count, of whom, and how it is shown.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatArguments {
    /// Metrics, or groups of them: software, core, cache, tlb, memory, l2_rqsts, branches, topdown.
    #[arg(short, long, value_name = "METRIC|GROUP,...", value_delimiter = ',')]
    pub metric: Vec<String>,
    /// Events, each as `ebs -t` takes it: a type, a name, code (r81d0) or terms.
    #[arg(short = 't', long = "type", short_alias = 'e', alias = "event", value_name = "TYPE,...")]
    pub event: Vec<String>,
    /// Counts user code [default: user and kernel code, or user code where rights end there].
    #[arg(short, long)]
    pub user: bool,
    /// Counts kernel code.
    #[arg(short, long)]
    pub kernel: bool,
    /// Runs the command N times: means, and how far runs are apart.
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = number::<u32>)]
    pub repeat: u32,
    /// A table each so many milliseconds, of that time alone.
    #[arg(short = 'I', long, value_name = "MS", value_parser = number::<u64>)]
    pub interval: Option<u64>,
    /// Each figure for one of N units of yours, too, such as request=10000.
    #[arg(long, value_name = "NAME=N")]
    pub per: Vec<String>,
    /// Runs the command again for each group of events, so that none takes turns.
    #[arg(long)]
    pub passes: bool,
    /// Counts the whole system: while the command runs, or until SIGINT.
    #[arg(short, long)]
    pub all_cpus: bool,
    /// The same of these CPUs, such as 0-3,8.
    #[arg(short = 'C', long, value_name = "CPUS")]
    pub cpu: Option<String>,
    /// Counts this process, as EXE_OR_PID with a number does.
    #[arg(short, long, value_name = "PID", allow_negative_numbers = true)]
    pub pid: Option<String>,
    /// Prints JSON: a document, with -I one a line.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Prints CSV.
    #[arg(long)]
    pub csv: bool,
    /// Writes there what would go to stdout.
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,
    /// Lists the metrics of this machine, with their formulas.
    #[arg(long)]
    pub list: bool,
    /// Who counts.
    #[command(flatten)]
    pub emulation: EmulationArguments,
    /// Program to count with its arguments, or the PID of a process.
    #[arg(value_name = "EXE_OR_PID", trailing_var_arg = true)]
    #[arg(value_hint = clap::ValueHint::CommandWithArguments)]
    pub target: Vec<OsString>,
}
