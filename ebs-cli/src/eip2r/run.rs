//! The command from start to exit status.

use super::arguments::Arguments;
use super::bad_lines::BadLines;
use super::line_source::LineSource;
use super::names::Names;
use super::output::{Output, OutputError};
use super::{frames, histogram, input, listing};
use crate::terminal::signals;
use crate::terminal::{causes, say};
use anyhow::Context;
use clap::Parser;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::process::ExitCode;

#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    /// Column, counted from 0.
    pub(super) position: usize,
    pub(super) offset: bool,
    pub(super) threads: NonZeroUsize,
}

/// Runs the command; `words` start with the program's name.
pub fn main(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    signals::fail_beyond_file_limit();
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
            say("eip2r", &causes::told(&error));
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
    let input = input::open(file).with_context(|| format!("cannot open {shown}"))?;
    let bad = match arguments.lines {
        true => {
            let mut lines = LineSource::open(arguments)?;
            let mut output = open_output(arguments, &input)?;
            frames::print(&input, &mut output, &mut lines, arguments)?
        }
        false => {
            let mut names = Names::new(arguments)?;
            let mut output = open_output(arguments, &input)?;
            let bad = name(arguments, &input, &mut output, &mut names)?;
            output.flush().context("cannot write the output")?;
            names.report();
            bad
        }
    };
    let Some((number, text)) = bad.first else { return Ok(true) };
    let lines = if bad.bad == 1 { "line holds" } else { "lines hold" };
    say(
        "eip2r",
        &format!(
            "{} {lines} no hexadecimal number in column {} of {shown}; the first is line {number}: `{text}`",
            bad.bad, arguments.position,
        ),
    );
    Ok(false)
}

fn open_output(arguments: &Arguments, input: &File) -> anyhow::Result<Output> {
    let path = arguments.output.as_deref();
    Output::open(path, input).with_context(|| {
        let path = path.map_or("stdout".into(), |path| path.display().to_string());
        format!("cannot write {path}")
    })
}

fn name(
    arguments: &Arguments,
    input: &File,
    output: &mut Output,
    names: &mut Names,
) -> anyhow::Result<BadLines> {
    let position = arguments.position.get() - 1;
    let format = Format { position, offset: arguments.offset, threads: arguments.threads() };
    match arguments.count {
        true => histogram::print(input, output, names, (format, arguments.by)),
        false => listing::print(input, output, names, format),
    }
}
