//! The page that is made of a recording as soon as that is whole.

use crate::ebs::html;
use crate::ebs::sample::SampleJob;
use anyhow::Result;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct SampledPage {
    output: PathBuf,
    recording: PageSource,
    name: String,
}

#[derive(Debug)]
pub(super) enum PageSource {
    /// A recording that stays.
    Named(PathBuf),
    /// One without a name, gone when it is closed.
    Unnamed(File),
}

impl SampledPage {
    pub(super) fn of(job: &SampleJob, recording: PageSource) -> Option<SampledPage> {
        let output = job.page.clone()?;
        let program = job.command.first().map(|it| Path::new(it).file_name().unwrap_or(it));
        let program = program.map(|it| it.to_string_lossy().into_owned());
        let name = match (&recording, program) {
            (PageSource::Named(path), _) => path.display().to_string(),
            (PageSource::Unnamed(_), Some(program)) => program,
            (PageSource::Unnamed(_), None) => "samples".to_owned(),
        };
        Some(SampledPage { output, recording, name })
    }

    /// Reads the recording, and writes its page.
    ///
    /// # Errors
    ///
    /// Those of `ebs html`.
    pub(super) fn write(&self) -> Result<()> {
        match &self.recording {
            PageSource::Named(path) => html::write_sampled(path, &self.output, &self.name),
            PageSource::Unnamed(file) => {
                // Opened anew: it is read from its begin on, twice.
                let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
                html::write_sampled(&path, &self.output, &self.name)
            }
        }
    }
}
