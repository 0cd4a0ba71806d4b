//! `ebs export`: a recording in the form of another tool.

mod destination;
mod partition;

use crate::ebs::arguments::{ExportArguments, ExportForm};
use crate::ebs::report::{self, CountedRecording};
use crate::terminal::said::say;
use analysis::{Glob, Pipeline, Query};
use anyhow::{Context, Result};
use destination::Destination;
use export::{ExportFormat, ExportedRecording, SharedExport};
use partition::Partition;
use std::io::BufWriter;
use symbolizer::Symbolizer;

/// Exports what a report of the same question would count. Damage of the
/// recording is told once all that could be read was written.
///
/// # Errors
///
/// A question without meaning; a recording of which nothing can be read; a
/// place that cannot be written to: nothing is left there then.
pub fn run(arguments: &ExportArguments) -> Result<()> {
    let (mut input, ended) = report::open(arguments.file.as_deref(), &arguments.standing)?;
    let destination = Destination::open(arguments)?;
    let format = format(arguments.to, destination.is_terminal());
    let query = Query {
        keys: format.keys(),
        filters: report::filters(&arguments.filter)?,
        event: arguments.event.as_deref().map(Glob::new),
        class: arguments.class,
        samples: format.takes_samples(),
        ..Query::default()
    };
    let query = report::in_time(query, arguments.time.as_deref(), arguments.file.as_deref())?;
    let symbolizer = Symbolizer::new(report::symbols_of(&input, &arguments.symbols)?);
    let export = SharedExport::new(format.to(Box::new(BufWriter::new(destination.file()?))));
    let mut pipeline = Pipeline::new(query, symbolizer)?;
    if format.takes_samples() {
        pipeline = pipeline.hand_to(Box::new(export.clone()));
    }
    let goal = || format!("cannot export to {}", arguments.output.display());
    let recording = CountedRecording::of(&mut input, pipeline).with_context(goal)?;
    let ((report, features), end) = recording
        .answer(|pipeline, decoder| Ok((pipeline.finish(decoder)?, decoder.features().clone())))
        .with_context(goal)?;
    let (report, features) = (&report, &features);
    export.finish(&ExportedRecording { report, features }).with_context(goal)?;
    report::tell_ending(ended);
    for event in &report.events {
        if let Some(not_kept) = &event.not_kept {
            say("ebs", &not_kept.told(&event.name));
        }
    }
    destination.keep(&Partition::of(report, features, arguments.file.as_deref()))?;
    end.into_result().context("what could be read is exported")
}

fn format(form: ExportForm, is_terminal: bool) -> ExportFormat {
    match form {
        ExportForm::Pprof => ExportFormat::Pprof,
        ExportForm::Firefox => ExportFormat::Firefox,
        #[cfg(feature = "parquet")]
        ExportForm::Parquet => ExportFormat::Parquet,
        ExportForm::Folded => ExportFormat::Folded,
        ExportForm::Speedscope => ExportFormat::Speedscope,
        ExportForm::Csv if is_terminal => ExportFormat::PrintableCsv,
        ExportForm::Csv => ExportFormat::Csv,
    }
}
