//! `ebs c2c`: lines that threads share, byte by byte.

use crate::ebs::accesses::AccessQuestion;
use crate::ebs::arguments::AccessArguments;
use analysis::{Pipeline, Query, View, c2c};
use anyhow::Result;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;

/// `ebs c2c`.
#[derive(Clone, Debug, Args)]
pub struct C2cArguments {
    /// Recording of loads and stores with data addresses: `ebs -t hitm,memory_stores -o FILE.data`,
    /// or what `perf c2c record` wrote; `-` is stdin.
    pub file: Option<PathBuf>,
    /// Takes lines two by two, 128 bytes: some CPUs fetch both.
    #[arg(long)]
    pub pair: bool,
    /// Which accesses, and their form.
    #[command(flatten)]
    pub accesses: AccessArguments,
}

/// Bytes of a line, and of two that are fetched together.
const LINE: u64 = 64;
const PAIR: u64 = 128;

/// Prints the lines of a recording.
///
/// # Errors
///
/// A filter without meaning, damage of the recording, those of `out`.
pub fn run(arguments: &C2cArguments, out: &mut dyn Write) -> Result<()> {
    let line = if arguments.pair { PAIR } else { LINE };
    let question = AccessQuestion {
        query: Query { views: vec![View::SharedLines(line)], ..Query::default() },
        answer: Pipeline::shared_lines,
        text: c2c::render,
    };
    question.put(arguments.file.as_deref(), &arguments.accesses, out)
}
