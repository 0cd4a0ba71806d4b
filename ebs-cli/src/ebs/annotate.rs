//! `ebs annotate`: the instructions of a routine with their samples, or source
//! files with theirs.

mod arguments;
pub(in crate::ebs) mod source_files;
mod source_reader;
mod whole_files;

pub use arguments::{
    AnnotateArguments, AnnotationFormat, Context as Around, PrefixMap, SyntaxName,
};

use crate::ebs::report::{self, CountedRecording};
use crate::terminal::say;
use analysis::annotate::render;
use analysis::annotate::{ListingOptions, RoutineTarget, Syntax, What};
use analysis::report::{Cell, SiteCell};
use analysis::{Glob, Key, Pipeline, Query, Report, View, Weighting};
use anyhow::{Context, Result, bail, ensure};
use source_files::SourceFiles;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use symbolizer::Symbolizer;
use whole_files::FileChoice;

/// Instructions or lines on each side of those with samples when nothing is
/// said.
const AROUND: usize = 10;

/// Reads, counts, and prints the routine even when the recording is damaged.
///
/// # Errors
///
/// No routine, one that is none or several, damage of the recording, those of `out`.
pub fn run(arguments: &AnnotateArguments, out: &mut dyn Write) -> Result<()> {
    if let Some(choice) = FileChoice::of(arguments) {
        return whole_files::run(arguments, choice, out);
    }
    let query = query(arguments)?;
    let (mut input, ended) = report::open(arguments.file.as_deref(), &arguments.standing)?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let mut sources = SourceFiles::new(&options.root, arguments);
    let recording = CountedRecording::read(&mut input, query, Symbolizer::new(options))?;
    let (annotation, end) =
        recording.answer(|pipeline, decoder| pipeline.annotate(decoder, shown(arguments)))?;
    let end = report::with_ending(end, ended);
    match arguments.format {
        AnnotationFormat::Text => {
            let mut text_of = |file: &str, line| sources.line(file, line);
            let text = render(&annotation, &mut text_of, arguments.table.style());
            out.write_all(text.as_bytes())?;
        }
        AnnotationFormat::Json => {
            analysis::json::write_pretty(&annotation, &mut *out)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()?;
    for missing in sources.missing() {
        say("ebs", &missing);
    }
    end.into_result().context("shown is what could be read")
}

fn asked(arguments: &AnnotateArguments) -> Result<Query> {
    Ok(Query {
        keys: Vec::new(),
        filters: report::filters(&arguments.filter)?,
        class: arguments.class,
        event: arguments.event.as_deref().map(Glob::new),
        ..Query::default()
    })
}

/// Instructions or lines on each side of those with samples; None: all.
fn context(arguments: &AnnotateArguments) -> Option<usize> {
    let is_json = arguments.format == AnnotationFormat::Json;
    match arguments.context {
        Some(Around::All) => None,
        Some(Around::Instructions(count)) => Some(count),
        None if is_json => None,
        None => Some(AROUND),
    }
}

fn query(arguments: &AnnotateArguments) -> Result<Query> {
    if arguments.callers.is_some() || !arguments.outside.is_empty() {
        bail!(
            "--callers and --outside count where calls were made, by source line: `ebs annotate \
             --all`, or --source FILE. Instructions of a routine have the records that were taken \
             at them; -f frame=GLOB counts only those that GLOB called"
        );
    }
    let target = match &arguments.routine {
        Some(routine) => routine.parse()?,
        None => most_sampled(arguments)?,
    };
    Ok(Query { views: vec![View::Routines(vec![target])], ..asked(arguments)? })
}

/// The routine with most samples of all events: the recording is read once more for it.
fn most_sampled(arguments: &AnnotateArguments) -> Result<RoutineTarget> {
    let is_stdin = arguments.file.as_deref() == Some(Path::new("-"));
    ensure!(
        !is_stdin,
        "name a routine: a recording from a pipe cannot be read twice to choose one"
    );
    let query = Query { keys: Key::parse_list("site")?, ..asked(arguments)? };
    let (mut input, _) = report::open(arguments.file.as_deref(), &arguments.standing)?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let recording = CountedRecording::read(&mut input, query, Symbolizer::new(options))?;
    let (sites, _end) = recording.answer(Pipeline::finish)?;
    let first = hottest(&sites, 1).pop();
    first.with_context(|| format!("{}: no sample is in a routine that has a name", input.name()))
}

/// The routines that have most samples of all events, most first.
pub(in crate::ebs) fn hottest(sites: &Report, most: usize) -> Vec<RoutineTarget> {
    let mut counts: BTreeMap<[&str; 2], (u64, &SiteCell)> = BTreeMap::new();
    for event in &sites.events {
        for row in &event.rows {
            let Some(Cell::Site(site)) = row.cells.first() else { continue };
            let Ok(routine) = &site.routine else { continue };
            let weight = match event.weighting {
                Weighting::Count => row.count,
                Weighting::Period => row.period,
            };
            let sum = counts.entry([&site.object, &routine.name]).or_insert((0, site));
            sum.0 = sum.0.saturating_add(weight);
        }
    }
    let mut all: Vec<(u64, &SiteCell)> = counts.into_values().collect();
    all.sort_by_key(|(period, _)| Reverse(*period));
    let target = |(_, site): (u64, &SiteCell)| RoutineTarget {
        what: What::Address(site.address),
        object: Some(Glob::new(&*site.object)),
    };
    all.into_iter().take(most).map(target).collect()
}

fn shown(arguments: &AnnotateArguments) -> ListingOptions {
    ListingOptions {
        syntax: match arguments.syntax {
            SyntaxName::Att => Syntax::Att,
            SyntaxName::Intel => Syntax::Intel,
        },
        context: context(arguments),
        least_share: arguments.min_percent / 100.0,
        detailed: arguments.top,
        is_so_far: false,
    }
}
