//! The command from start to exit status.

use super::arguments::Arguments;
use super::names::Names;
use super::output::{Output, OutputError};
use super::{histogram, input, listing};
use crate::causes;
use anyhow::Context;
use clap::Parser;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// How lines are read and written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Column, counted from 0.
    pub(super) position: usize,
    /// Whether routines get an offset.
    pub(super) offset: bool,
}

/// Lines seen, and those without a number.
#[derive(Debug, Default)]
pub(super) struct BadLines {
    lines: u64,
    bad: u64,
    /// Number, counted from 1, and text of the first.
    first: Option<(u64, String)>,
}

impl BadLines {
    #[inline]
    pub(super) fn good(&mut self, lines: usize) {
        self.lines += lines as u64;
    }

    #[cold]
    pub(super) fn bad(&mut self, line: &[u8]) {
        self.lines += 1;
        self.bad += 1;
        let text = || String::from_utf8_lossy(&line[..line.len().min(60)]).escape_debug().collect();
        self.first.get_or_insert_with(|| (self.lines, text()));
    }
}

/// Runs the command; `words` start with the program's name.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help that nobody reads is no failure.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader has seen enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Nowhere is left to say that stderr is closed.
            let _ = writeln!(io::stderr(), "eip2r: {}", causes::told(&error));
            match error.downcast_ref::<OutputError>() {
                Some(OutputError::IsInput) => ExitCode::from(2),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io = error.root_cause().downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether every line held a number.
fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let file = arguments.eip_file.as_deref();
    let shown = file.map_or("stdin".into(), |file| file.display().to_string());
    let mut input = input::open(file).with_context(|| format!("cannot open {shown}"))?;
    let mut names = Names::new(arguments)?;
    let path = arguments.output.as_deref();
    let mut output = Output::open(path, input.source()).with_context(|| {
        let path = path.map_or("stdout".into(), |path| path.display().to_string());
        format!("cannot write {path}")
    })?;
    let format = Format { position: arguments.position.get() - 1, offset: arguments.offset };
    let bad = match arguments.count {
        true => histogram::print(&mut input, &mut output, &mut names, (format, arguments.by))?,
        false => listing::print(&mut input, &mut output, &mut names, format)?,
    };
    output.flush().context("cannot write the output")?;
    names.report()?;
    let Some((number, text)) = bad.first else { return Ok(true) };
    let lines = if bad.bad == 1 { "line holds" } else { "lines hold" };
    writeln!(
        io::stderr(),
        "eip2r: {} {lines} no hexadecimal number in column {} of {shown}; the first is line {number}: `{text}`",
        bad.bad,
        arguments.position,
    )?;
    Ok(false)
}
