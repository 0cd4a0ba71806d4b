//! How a recording is laid out, and how it is read.

use crate::stream::Magic;

/// Where the bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingSource {
    /// Front to back, once.
    Pipe,
    /// Any part of it, in any order.
    File {
        /// Bytes of the file.
        length: u64,
    },
}

/// How a recording is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingForm {
    /// Nothing was read yet.
    Unknown,
    /// Front to back, as `perf record -o -` writes it.
    Pipe,
    /// With a table of contents, as `perf record -o FILE` writes it.
    File,
}

impl RecordingForm {
    /// Bytes from the start that tell it.
    pub const TOLD_BY: usize = Magic::SIZE;

    /// What the first bytes of a recording say; [`RecordingForm::Unknown`] of fewer
    /// bytes, and of what is no recording.
    pub fn find(front: &[u8]) -> RecordingForm {
        match Magic::find(front) {
            Ok(Some(magic)) if magic.header_size < Magic::SMALLEST_FILE_HEADER => {
                RecordingForm::Pipe
            }
            Ok(Some(_)) => RecordingForm::File,
            Ok(None) | Err(_) => RecordingForm::Unknown,
        }
    }
}
