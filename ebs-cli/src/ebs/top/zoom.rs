//! One routine by instruction, as `ebs annotate` shows it.

use super::counting::{SharedStream, TopQuestion};
use crate::ebs::annotate::source_files::SourceFiles;
use crate::ebs::input::Input;
use crate::ebs::report::CountedRecording;
use analysis::annotate::render;
use analysis::annotate::{ListingOptions, RoutineTarget};
use analysis::{Pipeline, Query, View, table};
use anyhow::{Context, Result};
use perfdata::stream::{StreamDecoder, StreamStep};
use std::path::PathBuf;
use std::sync::PoisonError;
use symbolizer::Symbolizer;

/// Instructions without samples on each side of those that have some.
const AROUND: usize = 10;
/// Instructions of which more is told.
const DETAILED: usize = 3;

#[derive(Clone, Debug)]
pub(super) enum ZoomSource {
    Recording(PathBuf),
    Stream(SharedStream),
}

/// The text of a routine, or why there is none.
pub(super) fn zoom(source: &ZoomSource, target: RoutineTarget, asked: &TopQuestion) -> String {
    annotated(source, target, asked).unwrap_or_else(|error| format!("{error:#}"))
}

fn annotated(source: &ZoomSource, target: RoutineTarget, asked: &TopQuestion) -> Result<String> {
    let views = vec![View::Routines(vec![target])];
    let query = Query { keys: Vec::new(), accesses: false, views, ..asked.query.clone() };
    let symbolizer = Symbolizer::new(asked.symbols.clone());
    let shown =
        ListingOptions { context: Some(AROUND), detailed: DETAILED, ..ListingOptions::default() };
    let (annotation, note) = match source {
        ZoomSource::Recording(path) => {
            let mut input = Input::open(path)?;
            let counted = CountedRecording::read(&mut input, query, symbolizer)?;
            // What is wrong with it is said where it is played.
            let (annotation, _end) =
                counted.answer(|pipeline, decoder| pipeline.annotate(decoder, shown))?;
            (annotation, None)
        }
        ZoomSource::Stream(kept) => {
            let (bytes, note) = {
                let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                (kept.bytes(), kept.note())
            };
            let mut pipeline = Pipeline::new(query, symbolizer)?;
            let (mut decoder, mut rest) = (StreamDecoder::new(), bytes.as_slice());
            while let StreamStep::Record { consumed, record } = decoder.step(rest)? {
                pipeline.record(&decoder, &record)?;
                rest = &rest[consumed..];
            }
            let shown = ListingOptions { is_so_far: true, ..shown };
            (pipeline.annotate(&decoder, shown).context("of what is kept")?, note)
        }
    };
    let mut sources = SourceFiles::at(&asked.symbols.root);
    let mut text_of = |file: &str, line| sources.line(file, line);
    let text = render(&annotation, &mut text_of, table::Style::default());
    Ok(note.map_or_else(|| text.clone(), |note| format!("# {note}\n{text}")))
}
