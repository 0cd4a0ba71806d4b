//! Options of `ebs convert`.

use clap::Args;
use std::path::PathBuf;

/// What to convert, and into what.
#[derive(Clone, Debug, Default, Args)]
#[command(after_long_help = NOTES)]
pub struct ConvertArguments {
    /// Recording of any form; `-` is stdin.
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// File to write, made anew when all is written; `-` is stdout, which gets the pipe form.
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// Writes the pipe form, as ebs records it into pipes, rather than the file form.
    #[arg(long)]
    pub pipe: bool,
    /// Replaces the host name, paths, and names of threads and cgroups by others, the same by the
    /// same; leaves out the command line, build ids, register values and stack dumps, and AUX data;
    /// writes zeros over arguments of tracepoints.
    #[arg(long)]
    pub anonymise: bool,
    /// Keeps build ids, which tell whose binaries they are, so that symbols can be found.
    #[arg(long, requires = "anonymise")]
    pub keep_build_ids: bool,
    /// Keeps register values, which may be pieces of strings and other data.
    #[arg(long, requires = "anonymise")]
    pub keep_registers: bool,
}

const NOTES: &str = "\
Records stay as they are, byte for byte and in order, in the byte order they have; packed ones are
unpacked. What the other form has no place for is left out, counted and told on stderr.

An anonymous recording still has addresses, process ids, times, names of events and of
the kernel and its modules, the kernel's release and the model of the CPU.

Exit status: 0; 1 when nothing could be written, or when IN is damaged: what could be read of it is
in OUT then; 2 for a wrong command line.";
