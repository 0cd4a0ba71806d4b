//! What is asked of a recording's accesses, one by one, and told of them.

use crate::ebs::arguments::AccessArguments;
use crate::ebs::input::{End, Input};
use crate::ebs::report::{self, CountedRecording};
use analysis::table::Style;
use analysis::{Glob, Pipeline, Query};
use anyhow::{Context, Result};
use perfdata::stream::StreamDecoder;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use symbolizer::Symbolizer;

/// A question to a pipeline, and its answer as text.
pub(super) struct AccessQuestion<A> {
    pub(super) query: Query,
    pub(super) answer: fn(Pipeline, &StreamDecoder) -> Result<A, analysis::Error>,
    /// So many of the first.
    pub(super) text: fn(&A, usize, Style) -> String,
}

impl<A: Serialize> AccessQuestion<A> {
    /// Reads, counts, and prints the answer even when the recording is damaged.
    ///
    /// # Errors
    ///
    /// A filter without meaning, a question that this recording cannot answer,
    /// damage of it, those of `out`.
    pub(super) fn put(
        self,
        file: Option<&Path>,
        arguments: &AccessArguments,
        out: &mut dyn Write,
    ) -> Result<()> {
        let text = self.text;
        let (mut input, ended) = report::open(file, &arguments.standing)?;
        let (answer, end) = self.answer(&mut input, arguments)?;
        let end = report::with_ending(end, ended);
        if arguments.json {
            analysis::json::write_pretty(&answer, &mut *out)?;
            out.write_all(b"\n")?;
        } else {
            let text = text(&answer, arguments.top, arguments.table.style());
            out.write_all(text.as_bytes())?;
        }
        out.flush()?;
        end.into_result().context("shown is what could be read")
    }

    /// The answer for a whole recording in a file.
    ///
    /// # Errors
    ///
    /// As [`AccessQuestion::put`].
    pub(super) fn answer_of(self, file: &Path, arguments: &AccessArguments) -> Result<A> {
        let (mut input, _) = report::open(Some(file), &arguments.standing)?;
        let (answer, end) = self.answer(&mut input, arguments)?;
        end.into_result()?;
        Ok(answer)
    }

    fn answer(self, input: &mut Input, arguments: &AccessArguments) -> Result<(A, End)> {
        let query = Query {
            keys: Vec::new(),
            filters: report::filters(&arguments.filter)?,
            event: arguments.event.as_deref().map(Glob::new),
            ..self.query
        };
        let options = report::symbols_of(input, &arguments.symbols)?;
        let recording = CountedRecording::read(input, query, Symbolizer::new(options))?;
        recording.answer(self.answer)
    }
}
