//! `ebs convert`: a recording in another form.
//!
//! Records pass through a `Conversion` as bytes; a `Sink` is the form
//! they come out in; a `Place` is where. An `Anonymiser` stands between.

mod anonymiser;
mod content;
mod conversion;
mod file_sink;
mod pipe_sink;
mod sink;

use crate::ebs::input::{End, Input};
use crate::ebs::place::{OutputReaders, Place};
use anonymiser::{Anonymiser, Keep};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use content::Content;
use conversion::Conversion;
use file_sink::FileSink;
use perfdata::stream::FeatureId;
use pipe_sink::PipeSink;
use sink::Sink;
use std::fs::File;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::rc::Rc;

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

/// Converts a recording and says on stderr what became of it.
///
/// # Errors
///
/// A recording of which nothing can be read, a place that cannot be written
/// to: nothing is left there then. Damage of the recording, after all that
/// could be read was written.
pub fn run(arguments: &ConvertArguments) -> Result<()> {
    let mut input = Input::open(&arguments.input)?;
    let place = Place::open(&arguments.output, &arguments.input, OutputReaders::OfRecording)?;
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

/// A recording that is written once more with something besides, in file form.
#[derive(Clone, Copy, Debug)]
pub struct Rewriting<'a> {
    pub from: &'a Path,
    /// Where it goes: the same file, which is replaced when all is written, or
    /// another.
    pub to: &'a Path,
}

impl Rewriting<'_> {
    /// Writes it with this feature, `size` bytes of `content`, in place of any
    /// that it has. Tells what was written, and what was not. What is damaged in
    /// the recording is left out; who reads it first knows.
    ///
    /// # Errors
    ///
    /// A recording that cannot be read, a place that cannot be written to.
    pub fn with_feature(self, id: FeatureId, content: File, size: u64) -> Result<String> {
        let mut input = Input::open(self.from)?;
        let place = Place::over(self.to, self.from)?;
        anyhow::ensure!(
            place.is_seekable(),
            "{}: what is carried stands at the end of a file, and a pipe or device has none",
            self.to.display()
        );
        let sink = Box::new(FileSink::new(place.file()?));
        let mut conversion = Conversion::new(sink, input.file(), None);
        let goal = || format!("cannot write to {}", self.to.display());
        let mut decoder = input.decoder();
        let _: End = input.read_bytes(&mut decoder, |stream, record, bytes| {
            conversion.record(stream, record, bytes).with_context(goal)
        })?;
        let content = Content::Part { file: Rc::new(content), offset: 0, size };
        conversion.add(decoder.stream(), id, content).with_context(goal)?;
        let told = conversion.finish(decoder.stream()).with_context(goal)?;
        Ok(format!("{}: {told}", place.keep()?))
    }
}
