//! The summary of a recording that has a usual name.

use super::{Destination, RecordingSource};
use crate::ebs::last_recording::RECORDING;
use crate::ebs::sample::{OutputPlace, SampleJob};
use crate::ebs::summary;
use anyhow::Result;
use recorder::Target;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct SampledSummary {
    recording: RecordingSource,
    /// What was sampled, as a user knows it.
    program: String,
}

impl SampledSummary {
    pub(super) fn of(job: &SampleJob, recording: RecordingSource) -> SampledSummary {
        let program = match (job.asked.request.target, job.command.first()) {
            (Target::Process(pid), _) => format!("process {}", pid.0),
            (_, Some(program)) => {
                let name = Path::new(program).file_name().unwrap_or(program);
                name.to_string_lossy().into_owned()
            }
            (_, None) => "the system".to_owned(),
        };
        SampledSummary { recording, program }
    }

    /// Reads the recording and prints its summary.
    ///
    /// # Errors
    ///
    /// A recording that cannot be read; those of stdout.
    pub(super) fn print(&self) -> Result<()> {
        let kept = match &self.recording {
            RecordingSource::Named(path) => Some(path.as_path()),
            RecordingSource::Unnamed(_) => None,
        };
        summary::print(&self.recording.path(), kept, &self.program)
    }
}

/// `ebs.data` in the current folder, of which an earlier one is kept as `ebs.data.old`. Where
/// none can be made, a file without a name.
///
/// # Errors
///
/// No room for that either.
pub(super) fn usual_recording(
    ended: &mut dyn FnMut() -> bool,
) -> Result<(Destination, RecordingSource)> {
    let path = Path::new(RECORDING);
    // Only what is a file of ours gives way: not a device, or a link to somewhere else.
    if path.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
        let _not_ours = fs::rename(path, PathBuf::from(format!("{RECORDING}.old")));
    }
    let is_free = path.symlink_metadata().is_err();
    if is_free && let Ok(destination) = Destination::create(&OutputPlace::File(path.into()), ended)
    {
        return Ok((destination, RecordingSource::Named(path.into())));
    }
    let destination = Destination::spool()?;
    let source = RecordingSource::Unnamed(destination.again()?);
    Ok((destination, source))
}
