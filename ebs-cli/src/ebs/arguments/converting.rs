//! Options of `ebs convert` and `ebs archive`.

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

/// Which recording, and where it goes.
#[derive(Clone, Debug, Default, Args)]
#[command(after_long_help = ARCHIVE_NOTES)]
pub struct ArchiveArguments {
    /// Recording in file form, of ebs or perf.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Writes another recording with the files and leaves FILE as it is.
    #[arg(short, long, value_name = "OUT")]
    pub output: Option<PathBuf>,
    /// Carries at most so many MiB of files, before they are packed.
    #[arg(long, value_name = "MIB", default_value_t = 4096)]
    pub max_size: u64,
    /// Directory that stands for / when files are opened.
    #[arg(long, value_name = "DIR", default_value = "/", help_heading = "Symbols")]
    pub root: PathBuf,
    /// Directory below which the files are, and nowhere else: copies of another machine's.
    #[arg(long, value_name = "DIR", help_heading = "Symbols")]
    pub symfs: Option<PathBuf>,
}

const ARCHIVE_NOTES: &str = "\
Packed are the programs and libraries that samples and their callers lie in, by build id or inode,
their debug files, maps of generated code and the vdso; no source files, and nothing of the kernel
but the symbols that `ebs -k -o` keeps. `ebs report`, `ebs script` and `ebs annotate` take names
from them, on any machine. They are a zip archive at the end of the recording, which perf passes
over: `unzip -l FILE` lists it.

  ebs archive server.data              then copy server.data, and report on it elsewhere
  ebs archive server.data -o all.data  leaves server.data as it is

Exit status: 0; 1 when nothing could be written, or when FILE is damaged: it is left as it is then,
and OUT has what could be read of it; 2 for a wrong command line.";
