//! `ebs c2c`: lines that threads share, byte by byte.

use crate::ebs::arguments::C2cArguments;
use crate::ebs::report::{self, CountedRecording};
use analysis::{Glob, Pipeline, Query, sharing};
use anyhow::{Context, Result};
use std::io::Write;
use symbolizer::Symbolizer;

/// Bytes of a line, and of two that are fetched together.
const LINE: u64 = 64;
const PAIR: u64 = 128;

/// Reads, counts, and prints the lines even when the recording is damaged.
///
/// # Errors
///
/// A filter without meaning, damage of the recording, those of `out`.
pub fn run(arguments: &C2cArguments, out: &mut dyn Write) -> Result<()> {
    let query = Query {
        keys: Vec::new(),
        filters: report::filters(&arguments.filter)?,
        event: arguments.event.as_deref().map(Glob::new),
        shared_lines: Some(if arguments.pair { PAIR } else { LINE }),
        ..Query::default()
    };
    let (mut input, ended) = report::open(arguments.file.as_deref(), &arguments.standing)?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let recording = CountedRecording::read(&mut input, query, Symbolizer::new(options))?;
    let (shared, end) = recording.answer(Pipeline::shared_lines)?;
    report::tell_ending(ended);
    if arguments.json {
        serde_json::to_writer_pretty(&mut *out, &shared)?;
        out.write_all(b"\n")?;
    } else {
        let text = sharing::render(&shared, arguments.top, arguments.table.style());
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    end.into_result().context("shown is what could be read")
}
