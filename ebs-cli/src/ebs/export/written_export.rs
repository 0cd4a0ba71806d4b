//! A recording that was written in another form.

use crate::ebs::input::{End, Input};
use crate::ebs::report::CountedRecording;
use analysis::{Pipeline, Report};
use anyhow::Result;
use export::{ExportFormat, ExportedRecording, SharedExport};
use perfdata::stream::Features;
use std::fs::File;
use std::io::BufWriter;

/// Bytes of samples that wait in memory; of more, all are in a file.
const IN_MEMORY: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct WrittenExport {
    pub(super) report: Report,
    pub(super) features: Features,
    pub(super) end: End,
}

impl WrittenExport {
    /// Reads a recording, and writes what was asked for of it.
    ///
    /// # Errors
    ///
    /// A recording of which nothing can be read; `out` cannot be written to.
    pub(super) fn write(
        input: &mut Input,
        format: ExportFormat,
        mut pipeline: Pipeline,
        out: File,
    ) -> Result<WrittenExport> {
        let export = SharedExport::new(format.to(Box::new(BufWriter::new(out))));
        if format.takes_samples() {
            let room = tempfile::spooled_tempfile(IN_MEMORY);
            pipeline = pipeline.hand_to(Box::new(export.clone()), Some(Box::new(room)));
        }
        let recording = CountedRecording::of(input, pipeline)?;
        let ((report, features), end) = recording.answer(|pipeline, decoder| {
            Ok((pipeline.finish(decoder)?, decoder.features().clone()))
        })?;
        export.finish(&ExportedRecording { report: &report, features: &features })?;
        Ok(WrittenExport { report, features, end })
    }
}
