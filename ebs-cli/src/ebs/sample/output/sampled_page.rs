//! The page that is made of a recording as soon as that is whole.

use super::RecordingSource;
use crate::ebs::html;
use crate::ebs::sample::SampleJob;
use anyhow::Result;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct SampledPage {
    output: PathBuf,
    recording: RecordingSource,
    name: String,
}

impl SampledPage {
    pub(super) fn of(job: &SampleJob, recording: RecordingSource) -> Option<SampledPage> {
        let output = job.page.clone()?;
        let program = job.command.first().map(|it| Path::new(it).file_name().unwrap_or(it));
        let program = program.map(|it| it.to_string_lossy().into_owned());
        let name = match (&recording, program) {
            (RecordingSource::Named(path), _) => path.display().to_string(),
            (RecordingSource::Unnamed(_), Some(program)) => program,
            (RecordingSource::Unnamed(_), None) => "samples".to_owned(),
        };
        Some(SampledPage { output, recording, name })
    }

    /// Reads the recording, and writes its page.
    ///
    /// # Errors
    ///
    /// Those of `ebs html`.
    pub(super) fn write(&self) -> Result<()> {
        html::write_sampled(&self.recording.path(), &self.output, &self.name)
    }
}
