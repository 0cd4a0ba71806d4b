//! Where a page can be made of what is sampled.

use super::{OutputChoice, OutputPlace};
use std::path::Path;

/// Why `--html` means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageMisuse {
    /// Beside text records, or a stream on stdout.
    #[error(
        "--html makes its page of a recording: with -o say -o FILE.data, or leave -o and --format out"
    )]
    NoRecording,
    /// The recording's own file.
    #[error("--html and -o name one file: name another for the page")]
    SameFile,
}

/// Whether a job can have a page.
///
/// # Errors
///
/// Why not.
pub(super) fn check(page: Option<&Path>, output: &OutputChoice) -> Result<(), PageMisuse> {
    let Some(page) = page else { return Ok(()) };
    match output {
        OutputChoice::Stream(OutputPlace::File(recording)) if recording == page => {
            Err(PageMisuse::SameFile)
        }
        OutputChoice::Stream(OutputPlace::File(_)) | OutputChoice::Unnamed => Ok(()),
        OutputChoice::Stream(OutputPlace::Stdout)
        | OutputChoice::Table { .. }
        | OutputChoice::Text(_) => Err(PageMisuse::NoRecording),
    }
}
