//! `ebs layout` of a recording: types with what was sampled of their members.

use super::{sampled_json, sampled_text};
use crate::ebs::layout::LayoutArguments;
use crate::ebs::report::{self, CountedRecording};
use analysis::layout::{SampledType, TypeReport};
use analysis::{Glob, Pipeline, Query, View};
use anyhow::{Context, Result, anyhow};
use std::io::Write;
use symbolizer::Symbolizer;

/// Types that are named where the one that was asked for has no samples.
const MOST_NAMED: usize = 8;

/// Prints a type of a recording, or a table of all that samples are on, even
/// when the recording is damaged.
///
/// # Errors
///
/// A filter without meaning, a type without samples, damage of the recording,
/// those of `out`.
pub(super) fn run(arguments: &LayoutArguments, out: &mut dyn Write) -> Result<()> {
    let query = Query {
        keys: Vec::new(),
        filters: report::filters(&arguments.filter)?,
        event: arguments.event.as_deref().map(Glob::new),
        views: vec![View::Types],
        ..Query::default()
    };
    let (mut input, ended) = report::open(Some(&arguments.file), &Default::default())?;
    let options = report::symbols_of(&input, &arguments.symbols)?;
    let recording = CountedRecording::read(&mut input, query, Symbolizer::new(options))?;
    let (answer, end) = recording.answer(Pipeline::types)?;
    let end = report::with_ending(end, ended);
    let shown: Vec<&SampledType> = match &arguments.of {
        Some(name) => named(&answer, name),
        None => answer.types.iter().collect(),
    };
    if let (Some(name), true) = (&arguments.of, shown.is_empty()) {
        let error = unknown(&answer, name, &arguments.file.display().to_string());
        return match end.into_result() {
            Ok(()) => Err(error),
            Err(damage) => Err(damage.context(error)),
        };
    }
    match (arguments.json, &arguments.of) {
        (true, _) => sampled_json::print(&answer, &shown, arguments, out)?,
        (false, Some(_)) => sampled_text::print(&answer, &shown, arguments, out)?,
        (false, None) => sampled_text::table(&answer, arguments, out)?,
    }
    out.flush()?;
    end.into_result().context("shown is what could be read")
}

/// The definitions that a name means, most samples first.
fn named<'r>(answer: &'r TypeReport, name: &str) -> Vec<&'r SampledType> {
    let is_meant = |of: &&SampledType| {
        let types = &of.program.types;
        let wanted = types.fingerprint(of.of);
        let mut meant = types.named(name).into_iter().map(|id| types.resolved(id));
        of.name == name || meant.any(|id| id == of.of || types.fingerprint(id) == wanted)
    };
    answer.types.iter().filter(is_meant).collect()
}

fn unknown(answer: &TypeReport, name: &str, file: &str) -> anyhow::Error {
    let have: Vec<&str> = answer.types.iter().take(MOST_NAMED).map(|of| of.name.as_str()).collect();
    match have.is_empty() {
        true => anyhow!(
            "{file}: no sample is on a type that is known: types come from debug info (-g) of the \
             recorded programs; `ebs report --by type {file}` says why there is none"
        ),
        false => anyhow!(
            "{file}: no sample is on a type {name:?}; most are on {}; `ebs layout {file}` lists all",
            have.join(", ")
        ),
    }
}
