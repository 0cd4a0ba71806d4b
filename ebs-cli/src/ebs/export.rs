//! `ebs export`: a recording in the form of another tool.

mod arguments;
mod destination;
mod partition;
mod segments;
mod written_export;

pub use arguments::{ExportArguments, ExportForm, SegmentArguments};

use crate::ebs::input::Input;
use crate::ebs::report;
use crate::terminal::say;
use analysis::{Glob, Pipeline, Query};
use anyhow::{Context, Result};
use destination::Destination;
use export::ExportFormat;
use partition::Partition;
use symbolizer::Symbolizer;
use written_export::WrittenExport;

/// Exports what a report of the same question would count. Damage of the
/// recording is told once all that could be read was written.
///
/// # Errors
///
/// A question without meaning; a recording of which nothing can be read; a
/// place that cannot be written to: nothing is left there then.
pub fn run(arguments: &ExportArguments) -> Result<()> {
    // Before anything is opened: a form may be missing from this build.
    format(arguments.to, false)?;
    if let Some(directory) = &arguments.segments.directory {
        return segments::run(arguments, directory);
    }
    let (mut input, ended) = report::open(arguments.file.as_deref(), &arguments.standing)?;
    let destination = Destination::open(arguments)?;
    let format = format(arguments.to, destination.is_terminal())?;
    let pipeline = pipeline(arguments, format, &input)?;
    let written = WrittenExport::write(&mut input, format, pipeline, destination.file()?)
        .with_context(|| format!("cannot export to {}", arguments.output.display()))?;
    let WrittenExport { report, features, end } = written;
    let end = report::with_ending(end, ended);
    for event in &report.events {
        if let Some(not_kept) = &event.not_kept {
            say("ebs", &not_kept.told(&event.name));
        }
    }
    let file = arguments.file.as_deref();
    destination.keep(&Partition::of(&report, &features, input.segment(), file))?;
    end.into_result().context("what could be read is exported")
}

fn pipeline(arguments: &ExportArguments, format: ExportFormat, input: &Input) -> Result<Pipeline> {
    let query = Query {
        keys: format.keys(),
        filters: report::filters(&arguments.filter)?,
        event: arguments.event.as_deref().map(Glob::new),
        class: arguments.class,
        ..Query::default()
    };
    let query = report::in_time(query, arguments.time.as_deref(), arguments.file.as_deref())?;
    let symbolizer = Symbolizer::new(report::symbols_of(input, &arguments.symbols)?);
    Ok(Pipeline::new(query, symbolizer)?)
}

fn format(form: ExportForm, is_terminal: bool) -> Result<ExportFormat> {
    Ok(match form {
        ExportForm::Pprof => ExportFormat::Pprof,
        ExportForm::Firefox => ExportFormat::Firefox,
        #[cfg(feature = "parquet")]
        ExportForm::Parquet => ExportFormat::Parquet,
        #[cfg(not(feature = "parquet"))]
        ExportForm::Parquet => anyhow::bail!(
            "this ebs cannot write Parquet; install it again with \
             `cargo install --locked --path ebs-cli --features parquet`"
        ),
        ExportForm::Folded => ExportFormat::Folded,
        ExportForm::Speedscope => ExportFormat::Speedscope,
        ExportForm::Csv if is_terminal => ExportFormat::PrintableCsv,
        ExportForm::Csv => ExportFormat::Csv,
    })
}
