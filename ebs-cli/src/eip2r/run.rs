//! The command from start to exit status.

use super::answers::Answers;
use super::arguments::Arguments;
use super::input::Input;
use super::names::Names;
use super::output::{Output, OutputError};
use super::{histogram, input, listing, output};
use crate::terminal::signals;
use crate::terminal::{causes, say};
use anyhow::Context;
use clap::Parser;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::process::ExitCode;

/// Bytes of input that are read at once.
const READ: usize = 128 << 10;
/// Those for --lines: so many addresses are worth a walk through debug info.
const READ_FOR_LINES: usize = 1 << 20;

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
    let file = input::open(file).with_context(|| format!("cannot open {shown}"))?;
    let most = if arguments.lines { READ_FOR_LINES } else { READ };
    let input = Input::new(&file, arguments.position.get() - 1, most);
    let bad = match arguments.count {
        true => {
            let mut names = Names::new(arguments)?;
            let mut output = open_output(arguments, &file)?;
            histogram::print(input, &mut output, &mut names, arguments)?
        }
        false => {
            let answers = Answers::new(arguments)?;
            let mut output = open_output(arguments, &file)?;
            listing::print(input, &mut output, answers, arguments)?
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
    output::open(path, input).with_context(|| {
        let path = path.map_or("stdout".into(), |path| path.display().to_string());
        format!("cannot write {path}")
    })
}
