//! Recordings become reports, one after the other.

use super::NamedFile;
use crate::ebs::arguments::SymbolArguments;
use crate::ebs::input::{End, Input};
use crate::ebs::report::{CountedRecording, run_times, symbols_of};
use analysis::diff::DiffRun;
use analysis::{Pipeline, Query, Report};
use anyhow::{Context, Result};
use std::path::Path;
use symbolizer::Symbolizer;

/// Reads recordings, and keeps what is wrong with the first damaged one.
#[derive(Debug)]
pub(super) struct ReadRuns<'q> {
    query: &'q Query,
    symbols: &'q SymbolArguments,
    damage: Option<anyhow::Error>,
}

impl<'q> ReadRuns<'q> {
    pub(super) fn new(query: &'q Query, symbols: &'q SymbolArguments) -> ReadRuns<'q> {
        ReadRuns { query, symbols, damage: None }
    }

    pub(super) fn all(&mut self, files: &[NamedFile]) -> Result<Vec<DiffRun>> {
        files.iter().map(|file| self.one(file)).collect()
    }

    fn one(&mut self, file: &NamedFile) -> Result<DiffRun> {
        let NamedFile { name, path } = file.clone();
        let about = || format!("in {name}");
        let mut input = Input::open(&path)?;
        let options = symbols_of(&input, self.symbols)?;
        let symbolizer = Symbolizer::new(options);
        let counted = CountedRecording::read(&mut input, self.query.clone(), symbolizer);
        let (report, end) =
            counted.with_context(about)?.answer(Pipeline::finish).with_context(about)?;
        if let End::Damaged(error) = end {
            self.damage.get_or_insert(error.context(name.clone()));
        }
        let seconds = if tells_seconds(&report) { None } else { seconds(&path) };
        Ok(DiffRun { name, report, seconds })
    }

    /// The damage of the first recording that has some.
    pub(super) fn into_result(self) -> Result<()> {
        self.damage.map_or(Ok(()), Err)
    }
}

fn tells_seconds(report: &Report) -> bool {
    let mut ledgers = report.events.iter().filter_map(|event| event.ledger.as_ref());
    ledgers.any(|ledger| ledger.seconds.is_some())
}

/// From the first sample to the last, of another recorder's.
fn seconds(file: &Path) -> Option<f64> {
    let times = run_times::of(Some(file)).ok()?;
    let nanoseconds = times.last.0.saturating_sub(times.first.0);
    Some(std::time::Duration::from_nanos(nanoseconds).as_secs_f64())
}
