//! Reading a file that gives rights.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A configuration is short; what is longer is something else.
const MAX_BYTES: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("{}: {error}", .path.display())]
    Io { path: PathBuf, error: io::Error },
    /// A symbolic link, a directory, a device.
    #[error("{}: no plain file; put the configuration itself there", .path.display())]
    NoFile { path: PathBuf },
    #[error("{}: owned by user {uid}; it must be {owner}'s: chown it", .path.display())]
    Owner { path: PathBuf, uid: u32, owner: u32 },
    /// Others may write it.
    #[error("{}: mode {mode:o} lets others write it: chmod go-w", .path.display())]
    Mode { path: PathBuf, mode: u32 },
    #[error("{}: {size} bytes; a configuration has at most {MAX_BYTES}", .path.display())]
    Long {
        path: PathBuf,
        /// Its size, bytes.
        size: u64,
    },
}

/// The text of a file that only `owner` and the superuser can write.
pub(super) fn read(path: &Path, owner: u32) -> Result<String, FileError> {
    let io = |error| FileError::Io { path: path.to_owned(), error };
    // Opened first, so that what is checked is what is read; a FIFO of
    // somebody's must not hold up the daemon.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or(0);
    let file =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(
            |error| match error.raw_os_error() {
                Some(libc::ELOOP) => FileError::NoFile { path: path.to_owned() },
                _ => io(error),
            },
        )?;
    check(path, &file.metadata().map_err(io)?, owner)?;
    text(file).map_err(io)
}

fn check(path: &Path, file: &Metadata, owner: u32) -> Result<(), FileError> {
    let path = || path.to_owned();
    if !file.is_file() {
        return Err(FileError::NoFile { path: path() });
    }
    if ![0, owner].contains(&file.uid()) {
        return Err(FileError::Owner { path: path(), uid: file.uid(), owner });
    }
    let mode = file.mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(FileError::Mode { path: path(), mode });
    }
    if file.len() > MAX_BYTES {
        return Err(FileError::Long { path: path(), size: file.len() });
    }
    Ok(())
}

fn text(file: File) -> io::Result<String> {
    let mut text = String::new();
    // It may grow while it is read.
    file.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
