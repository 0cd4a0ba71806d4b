//! A recording that is read once for several questions.

use crate::ebs::input::{End, Input};
use analysis::{Error, Pipeline, Query};
use anyhow::{Result, bail};
use perfdata::recording::RecordingDecoder;
use perfdata::stream::StreamDecoder;
use symbolizer::{Symbolizer, SymbolizerOptions};

/// Pipelines that the same records went through, in the order of their queries.
#[derive(Debug)]
pub(super) struct SharedReading {
    pipelines: Vec<Result<Pipeline, Error>>,
    decoder: RecordingDecoder,
    pub(super) end: End,
}

impl SharedReading {
    /// Reads a recording to its end, or up to where it is damaged. A query that it
    /// cannot answer keeps the reason, and the others go on.
    ///
    /// # Errors
    ///
    /// A recording that describes no event.
    pub(super) fn of(
        input: &mut Input,
        queries: Vec<Query>,
        options: &SymbolizerOptions,
    ) -> Result<SharedReading> {
        let mut decoder = input.decoder();
        let of = |query| Pipeline::new(query, Symbolizer::new(options.clone()));
        let mut pipelines: Vec<Result<Pipeline, Error>> = queries.into_iter().map(of).collect();
        let end = input.read(&mut decoder, |decoder, record| {
            for it in &mut pipelines {
                let taken = it.as_mut().map(|pipeline| pipeline.record(decoder, record));
                if let Ok(Err(error)) = taken {
                    *it = Err(error);
                }
            }
            Ok(())
        })?;
        if decoder.stream().events().is_empty() {
            end.into_result()?;
            bail!("{}: the recording describes no event", input.name());
        }
        pipelines.reverse();
        Ok(SharedReading { pipelines, decoder, end })
    }

    /// What `finish` makes of the next query's pipeline.
    ///
    /// # Errors
    ///
    /// A query that this recording cannot answer.
    pub(super) fn next<A>(
        &mut self,
        finish: impl FnOnce(Pipeline, &StreamDecoder) -> Result<A, Error>,
    ) -> Result<A, Error> {
        match self.pipelines.pop() {
            Some(pipeline) => finish(pipeline?, self.decoder.stream()),
            None => Err(Error::Untargeted),
        }
    }
}
