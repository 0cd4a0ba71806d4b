//! Options of `ebs layout`.

use crate::ebs::arguments::{SymbolArguments, TableArguments};
use crate::terminal::number;
use clap::Args;
use std::path::PathBuf;

/// Which types, and of which file.
#[derive(Clone, Debug, Args)]
#[command(allow_missing_positional = true, after_long_help = NOTES)]
pub struct LayoutArguments {
    /// The type: node, "struct node", ns::node, "crate::module::Node"; every one that has the
    /// name when namespaces or what stands in <> is left out. Without it, all are listed.
    #[arg(value_name = "TYPE")]
    pub of: Option<String>,
    /// A program, library, object or debug file, whose debug info is looked for as for other commands;
    /// or BTF, as /sys/kernel/btf/vmlinux is. Or a recording, as `ebs -o FILE.data` or `perf record` writes
    /// it (`-`: from stdin): the types of what was recorded, with the samples of each member.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Bytes of a line, for borders and sums.
    #[arg(long, value_name = "N", value_parser = number::<u64>, default_value = "64")]
    pub line: u64,
    /// Prints JSON.
    #[arg(long)]
    pub json: bool,
    /// Of a recording: looks only at events whose names match.
    #[arg(short, long, value_name = "GLOB", help_heading = "Of a recording")]
    pub event: Option<String>,
    /// Of a recording: counts only records that match; see `ebs report --help`.
    #[arg(short, long, value_name = "KEY=VALUE", help_heading = "Of a recording")]
    pub filter: Vec<String>,
    /// Of a recording, without a type: so many types, most records first [default: 20].
    #[arg(long, value_name = "N", value_parser = number::<usize>, help_heading = "Of a recording")]
    pub top: Option<usize>,
    /// How much of it is shown.
    #[command(flatten)]
    pub table: TableArguments,
    /// Where names come from.
    #[command(flatten)]
    pub symbols: SymbolArguments,
}

impl LayoutArguments {
    /// Whether something was said that only a recording has.
    pub fn is_about_samples(&self) -> bool {
        self.event.is_some() || !self.filter.is_empty() || self.top.is_some()
    }
}

const NOTES: &str = "\
Behind each member stand its offset and size in bytes; of a bit field, the offset of its number, its
first bit there behind a colon, and the number's size. Members are in order of place. Virtual bases lie where each
object says: they are listed last, with a ?. A name with several definitions has all of them shown,
each with the source files that it is of.

  ebs layout node ./server                the structure, class or union `node`
  ebs layout 'Option<alloc::string::String>' ./tool    an enum of Rust: each variant
  ebs layout --line 128 node ./server     borders every 128 bytes
  ebs layout task_struct /sys/kernel/btf/vmlinux       the running kernel's, without debug info
  ebs layout ./server                     all types: size, members, bytes lost in holes
  ebs layout t.data                       types of a recording by samples
  ebs layout node t.data                  the samples of each member: who reads, who writes
  ebs layout ./server | sort -k4nr | head those that lose the most

Exit status: 0; 1 when FILE has no debug info, no such type, or no sample of it; 2 for a wrong command line.";
