//! Where lines go: stdout or a file, in large pieces.

use crate::outputs::NamedOutput;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes kept before they are written.
const PIECE: usize = 64 << 10;

pub(super) type Output = BufWriter<File>;

#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    /// Writing would destroy what is to be read, or never end.
    #[error("the output is the input file; give another one with -o")]
    IsInput,
    #[error(transparent)]
    Open(#[from] io::Error),
}

/// Opens `path`, or stdout for none and for `-`, and empties it unless it is
/// what `input` reads.
pub(super) fn open(path: Option<&Path>, input: &File) -> Result<Output, OutputError> {
    let path = path.filter(|path| path.as_os_str() != "-");
    let file = match path {
        Some(path) => NamedOutput::find(path)?.open(&mut || false)?,
        None => File::from(io::stdout().as_fd().try_clone_to_owned()?),
    };
    let (own, other) = (file.metadata()?, input.metadata()?);
    if own.is_file() && (own.dev(), own.ino()) == (other.dev(), other.ino()) {
        return Err(OutputError::IsInput);
    }
    if path.is_some() && own.is_file() {
        file.set_len(0)?;
    }
    Ok(BufWriter::with_capacity(PIECE, file))
}
