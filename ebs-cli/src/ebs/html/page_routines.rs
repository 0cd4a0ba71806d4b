//! The routines that a page shows instruction by instruction: the recording is
//! read once more for them.

use super::page_questions::PageQuestions;
use crate::ebs::annotate::hottest;
use crate::ebs::annotate::source_files::SourceFiles;
use crate::ebs::html::HtmlArguments;
use crate::ebs::report;
use crate::ebs::shared_reading::SharedReading;
use analysis::annotate::{Annotation, ListingItem, ListingOptions};
use analysis::{Query, Report, View};
use anyhow::Result;
use page::{AnnotatedRoutine, SectionContent};
use std::collections::BTreeMap;

const ROUTINES: usize = 4;
/// Instructions without samples on each side of those that have some.
const AROUND: usize = 6;
/// Instructions of which more is told.
const DETAILED: usize = 3;

pub(super) fn of(
    arguments: &HtmlArguments,
    questions: &PageQuestions,
    sites: &Report,
) -> SectionContent<Vec<AnnotatedRoutine>> {
    let file = arguments.file.as_deref();
    let Some(file) = file.filter(|file| file.metadata().is_ok_and(|it| it.is_file())) else {
        return Err("the recording is read twice for them: name a file, not a pipe".to_owned());
    };
    let hottest = hottest(sites, ROUTINES);
    if hottest.is_empty() {
        return Err("no sample is in a routine that has a name".to_owned());
    }
    let read = || -> Result<Vec<AnnotatedRoutine>> {
        let asked = Query { keys: Vec::new(), ..questions.asked() };
        let query = Query { views: vec![View::Routines(hottest)], ..asked };
        let (mut input, _) = report::open(Some(file), &arguments.standing)?;
        let options = report::symbols_of(&input, &arguments.symbols)?;
        let mut reading = SharedReading::of(&mut input, vec![query], &options)?;
        let shown =
            ListingOptions { context: Some(AROUND), detailed: DETAILED, ..Default::default() };
        let mut sources = SourceFiles::at(&options.root);
        let all = reading.next(|of, decoder| of.annotate_all(decoder, shown))?;
        let annotations = all.into_iter().flatten();
        Ok(annotations.map(|annotation| with_source(annotation, &mut sources)).collect())
    };
    match read() {
        Ok(routines) if routines.is_empty() => {
            Err("the code of the routines with most samples cannot be had".to_owned())
        }
        Ok(routines) => Ok(routines),
        Err(error) => Err(format!("{error:#}")),
    }
}

fn with_source(annotation: Annotation, files: &mut SourceFiles) -> AnnotatedRoutine {
    let mut sources: BTreeMap<String, BTreeMap<u32, String>> = BTreeMap::new();
    for item in &annotation.items {
        let ListingItem::Line(line) = item else { continue };
        let place = line.frames.first().and_then(|frame| frame.source.as_ref());
        let Some(place) = place.filter(|place| place.line > 0) else { continue };
        if let Some(text) = files.line(&place.file, place.line) {
            sources.entry(place.file.to_string()).or_default().insert(place.line, text);
        }
    }
    AnnotatedRoutine { annotation, sources }
}
