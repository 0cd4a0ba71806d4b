//! Whole source files with counts by line.

use super::source_files::SourceFiles;
use crate::ebs::annotate::{AnnotateArguments, AnnotationFormat};
use crate::ebs::report::{self, CountedRecording};
use crate::terminal::say;
use analysis::report::SourceListing;
use analysis::{Key, Pipeline, Query, table};
use anyhow::{Context, Result, bail};
use std::io::Write;
use std::path::PathBuf;
use symbolizer::Symbolizer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileChoice {
    All,
    /// Those whose paths end so.
    Ending(Vec<String>),
}

impl FileChoice {
    /// What was typed asks for; None: a routine. What `--source` names is a
    /// directory to look in where it is one.
    pub(super) fn of(arguments: &AnnotateArguments) -> Option<FileChoice> {
        let files = arguments.source.iter().filter(|path| !path.is_dir());
        let files: Vec<String> = files.map(|path| path.to_string_lossy().into_owned()).collect();
        match (arguments.all, files.is_empty()) {
            (true, _) => Some(FileChoice::All),
            (false, false) => Some(FileChoice::Ending(files)),
            (false, true) => None,
        }
    }
}

/// Reads, counts, and prints the files even when the recording is damaged.
///
/// # Errors
///
/// A routine beside files, a file that no sample lies in, damage of the
/// recording, those of `out`.
pub(super) fn run(
    arguments: &AnnotateArguments,
    choice: FileChoice,
    out: &mut dyn Write,
) -> Result<()> {
    // What is no routine is the recording.
    let file: Option<PathBuf> = match (&arguments.routine, &arguments.file) {
        (Some(routine), Some(file)) => bail!(
            "{routine:?} beside {}: `ebs annotate --all` and `--source FILE` show files, not a \
             routine; leave one of them out",
            file.display()
        ),
        (Some(file), None) => Some(PathBuf::from(file)),
        (None, file) => file.clone(),
    };
    let (mut input, ended) = report::open(file.as_deref(), &arguments.standing)?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let mut sources = SourceFiles::new(&options.root, arguments);
    let frames = report::cut_inwards(arguments.callers.as_deref(), &arguments.outside);
    let query = Query { keys: vec![Key::Srcline], frames, ..super::asked(arguments)? };
    let recording = CountedRecording::read(&mut input, query, Symbolizer::new(options))?;
    let (report, end) = recording.answer(Pipeline::finish)?;
    let end = report::with_ending(end, ended);
    let mut listing = SourceListing::of(&report)?;
    if let FileChoice::Ending(wanted) = &choice {
        listing = listing.only(wanted)?;
    }
    let least = arguments.min_percent / 100.0;
    listing.files.retain(|file| file.sums.largest() >= least);
    if arguments.format == AnnotationFormat::Json {
        analysis::json::write_pretty(&listing, &mut *out)?;
        writeln!(out)?;
    } else {
        let context =
            super::context(arguments).map(|lines| u32::try_from(lines).unwrap_or(u32::MAX));
        let style = arguments.table.style();
        let mut text_of = |file: &str, line| sources.line(file, line);
        let text = table::render_listing(&listing, &report, context, &mut text_of, style);
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    for missing in sources.missing() {
        say("ebs", &missing);
    }
    end.into_result().context("shown is what could be read")
}
