//! Options of commands that read recordings.

use crate::ebs::arguments::DAEMON;
use crate::terminal::number;
use crate::terminal::style::style;
use analysis::diff::{DiffLimit, DiffPer, SameObject};
use analysis::table::Style;
use clap::Args;
use perfdata::InstructionClass;
use recorder::HumanDuration;
use std::path::PathBuf;

/// Where names of kernel routines and files come from.
#[derive(Clone, Debug, Default, Args)]
pub struct SymbolArguments {
    /// System.map, saved kallsyms or vmlinux of the recorded kernel [default: what the recording
    /// keeps, else the running kernel's, when it is the recorded one].
    #[arg(short, long, visible_alias = "kallsyms", value_name = "SYSTEM_MAP")]
    #[arg(help_heading = "Symbols")]
    pub system_map: Option<PathBuf>,
    /// vmlinux of the recorded kernel, for source lines and inlined calls, and for symbols where -s
    /// names none [default: looked for at the usual places, by build id].
    #[arg(long, value_name = "FILE", help_heading = "Symbols")]
    pub vmlinux: Option<PathBuf>,
    /// Directory that stands for / when object files are opened.
    #[arg(long, value_name = "DIR", default_value = "/", help_heading = "Symbols")]
    pub root: PathBuf,
    /// Directory below which object files, their debug files and maps of generated code are, and
    /// nowhere else: copies of another machine's, as for perf.
    #[arg(long, value_name = "DIR", help_heading = "Symbols")]
    pub symfs: Option<PathBuf>,
}

impl SymbolArguments {
    /// What is recorded here and read at once.
    pub(crate) fn of_this_machine() -> SymbolArguments {
        SymbolArguments { root: PathBuf::from("/"), ..SymbolArguments::default() }
    }
}

/// How much of a table is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub struct TableArguments {
    /// Lets rows be as long as they are on a terminal, too, where routines and objects lose their
    /// middle otherwise.
    #[arg(long)]
    pub wide: bool,
    /// Prints names of C++ and Rust with their parameters and template arguments.
    #[arg(long)]
    pub full_names: bool,
    /// Lists every reason why records have no name, not only the three commonest.
    #[arg(long)]
    pub reasons: bool,
}

impl TableArguments {
    /// The same for stdout as it is.
    pub fn style(self) -> Style {
        Style { reasons: self.reasons, full_names: self.full_names, ..style(self.wide) }
    }
}

/// What the daemon recorded, in place of a file.
#[derive(Clone, Debug, Default, Args)]
pub struct StandingArguments {
    /// Reads what the daemon recorded of a standing session instead; `ebs sessions` lists them.
    #[arg(id = "standing", long = "daemon", value_name = "NAME", help_heading = DAEMON)]
    #[arg(conflicts_with = "file")]
    pub standing: Option<String>,
    /// From so long ago on, such as 90s, 10m, 12h, 7d [default: all that is kept].
    #[arg(long, value_name = "SPAN", help_heading = DAEMON, requires = "standing")]
    pub since: Option<HumanDuration>,
    /// Where the daemon listens [default: /run/ebsd.sock].
    #[arg(long, value_name = "PATH", help_heading = DAEMON, requires = "standing")]
    pub socket: Option<PathBuf>,
}

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
