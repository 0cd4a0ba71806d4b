//! `ebs convert`: a recording in another form.
//!
//! Records pass through a `Conversion` as bytes; a `Sink` is the form
//! they come out in; a `Place` is where. An `Anonymiser` stands between.

mod anonymiser;
mod content;
mod conversion;
mod file_sink;
mod left_out;
mod pipe_sink;
mod place;
mod removal;
mod sink;

use crate::ebs::arguments::ConvertArguments;
use crate::ebs::input::Input;
use anonymiser::{Anonymiser, Keep};
use anyhow::{Context, Result, anyhow};
use conversion::Conversion;
use file_sink::FileSink;
use pipe_sink::PipeSink;
use place::Place;
use sink::Sink;
use std::io::{Write, stderr};

/// Converts a recording and says on stderr what became of it.
///
/// # Errors
///
/// A recording of which nothing can be read, a place that cannot be written
/// to: nothing is left there then. Damage of the recording, after all that
/// could be read was written.
pub fn run(arguments: &ConvertArguments) -> Result<()> {
    let mut input = Input::open(&arguments.input)?;
    let place = Place::open(&arguments.output, &arguments.input)?;
    let sink: Box<dyn Sink> = match arguments.pipe || !place.is_seekable() {
        true => Box::new(PipeSink::new(place.file()?)),
        false => Box::new(FileSink::new(place.file()?)),
    };
    let keep = Keep { build_ids: arguments.keep_build_ids, registers: arguments.keep_registers };
    let anonymiser = arguments.anonymise.then(|| Anonymiser::new(keep));
    let mut conversion = Conversion::new(sink, input.file(), anonymiser);
    let goal = || format!("cannot convert to {}", arguments.output.display());
    let mut decoder = input.decoder();
    let end = input.read_bytes(&mut decoder, |stream, record, bytes| {
        conversion.record(stream, record, bytes).with_context(goal)
    })?;
    let stream = decoder.stream();
    if stream.events().is_empty() {
        end.into_result()?;
        return Err(anyhow!("{}: the recording describes no event", input.name()));
    }
    let told = conversion.finish(stream).with_context(goal)?;
    let name = place.keep()?;
    // A closed stderr is no reason to fail.
    let _ = writeln!(stderr(), "ebs: {name}: {told}");
    end.into_result()
}
