//! The bytes of a feature, which may be too many for memory.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Bytes copied at once.
const PIECE: usize = 1 << 16;

#[derive(Clone, Debug)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    /// In a file.
    Part {
        file: Rc<File>,
        offset: u64,
        size: u64,
    },
}

impl Content {
    pub(super) fn size(&self) -> u64 {
        match self {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Part { size, .. } => *size,
        }
    }

    /// All of them in memory: for what is known to be small.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn copy_to(&self, out: &mut dyn Write) -> Result<()> {
        match self {
            Content::Bytes(bytes) => Ok(out.write_all(bytes)?),
            Content::Part { file, offset, size } => {
                copy_part(file, *offset, *size, |piece| Ok(out.write_all(piece)?))
            }
        }
    }
}

pub(super) fn copy_part(
    file: &File,
    offset: u64,
    size: u64,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; PIECE];
    let mut done = 0;
    while done < size {
        let wanted = usize::try_from(size - done).unwrap_or(PIECE).min(PIECE);
        match file.read_at(&mut buffer[..wanted], offset + done) {
            Ok(0) => {
                let short = io::Error::from(io::ErrorKind::UnexpectedEof);
                return Err(short).context("the recording became shorter while it was read");
            }
            Ok(count) => {
                each(&buffer[..count])?;
                done += count as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context("reading the recording"),
        }
    }
    Ok(())
}
