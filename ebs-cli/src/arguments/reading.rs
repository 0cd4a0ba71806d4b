//! Options of the subcommands that read recordings.

use clap::Args;
use std::path::PathBuf;

/// Where names of kernel routines and files come from.
#[derive(Clone, Debug, Default, Args)]
pub struct SymbolArguments {
    /// System.map or saved kallsyms of the recorded kernel [default: the running kernel's, when
    /// it is the recorded one].
    #[arg(short, long, value_name = "SYSTEM_MAP", help_heading = "Symbols")]
    pub system_map: Option<PathBuf>,
    /// Directory that stands for / when object files are opened.
    #[arg(long, value_name = "DIR", default_value = "/", help_heading = "Symbols")]
    pub root: PathBuf,
}

/// `ebs report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: PathBuf,
    /// Keys of a row: ip, routine, object, comm, pid, tid, cpu, addr, line, page, reg:NAME
    /// [default: the site, routine and address in one].
    #[arg(short, long, value_name = "KEY,...", value_delimiter = ',')]
    pub by: Vec<String>,
    /// Column to sort by; a leading `-` reverses [default: count].
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub sort: Option<String>,
    /// Counts only records that match: routine=NAME, object=NAME, pid=N, addr=FROM-TO. Several
    /// must all match.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub filter: Vec<String>,
    /// Rows to print [default: 20 on a table, all otherwise].
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Prints JSON.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Prints comma-separated values.
    #[arg(long)]
    pub csv: bool,
    /// Looks at one site only: an address, or a routine.
    #[arg(long, value_name = "ADDR_OR_ROUTINE")]
    pub site: Option<String>,
    /// Prints what each register held at the site instead of the sites.
    #[arg(long, requires = "site")]
    pub regs: bool,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// `ebs script`.
#[derive(Clone, Debug, Args)]
pub struct ScriptArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: PathBuf,
    /// Fields of a line, as `perf script -F` names them.
    #[arg(short = 'F', long, value_name = "FIELD,...", value_delimiter = ',')]
    pub fields: Vec<String>,
    /// Form of the lines.
    #[arg(long, value_enum, default_value_t = ScriptFormat::Perf)]
    pub format: ScriptFormat,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

/// Form of the lines of `ebs script`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ScriptFormat {
    /// As `perf script` prints them.
    #[default]
    Perf,
    /// As `ebs -o FILE` writes them: instruction pointer in column 2.
    Hardmeter,
}
