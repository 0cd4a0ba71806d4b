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
    /// Writes the pipe form, as ebs records it, rather than the file form.
    #[arg(long)]
    pub pipe: bool,
}

const NOTES: &str = "\
Records stay as they are, byte for byte and in order, in the byte order they have; packed ones are
unpacked. What the other form has no place for is left out, counted and told on stderr.

Exit status: 0; 1 when nothing could be written, or when IN is damaged: what could be read of it is
in OUT then; 2 for a wrong command line.";
