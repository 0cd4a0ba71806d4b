//! Options of `ebs script`.

use crate::ebs::arguments::SymbolArguments;
use crate::terminal::number;
use clap::Args;
use perfdata::InstructionClass;
use std::path::PathBuf;

/// `ebs script`.
#[derive(Clone, Debug, Args)]
pub struct ScriptArguments {
    /// Recording: what `ebs -o FILE.data` or `perf record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// Fields of a line, as `perf script -F` names them; +FIELD and -FIELD change the usual ones.
    #[arg(
        short = 'F',
        long,
        value_name = "FIELD,...",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub fields: Vec<String>,
    /// Prints the instruction pointer only, where a call chain was recorded too.
    #[arg(short = 'G', long)]
    pub hide_call_graph: bool,
    /// Frames of a call chain to print at most.
    #[arg(long, value_name = "N", value_parser = number::<usize>, default_value = "127")]
    pub max_stack: usize,
    /// Prints also the records of virtual machines that the recorded one hosts.
    #[arg(long)]
    pub guest: bool,
    /// Prints only records of instructions of this class; see `ebs report --help`.
    #[arg(long, value_name = "CLASS", conflicts_with = "all_samples")]
    pub class: Option<InstructionClass>,
    /// Prints also the records that the event's type does not mean.
    #[arg(long)]
    pub all_samples: bool,
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
    #[value(alias = "hardmeter")]
    Text,
}
