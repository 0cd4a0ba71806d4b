//! The bytes of an ELF file, as much of them as is asked for.

use crate::sys::Mapped;
use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A file to read sections of: mapped where that is safe, else read by
/// section.
#[derive(Debug)]
pub(crate) enum FileBytes {
    Mapped(Arc<Mapped>),
    File { file: File, length: u64 },
    Memory(Arc<[u8]>),
}

#[derive(Debug)]
pub(crate) enum SectionBytes {
    Mapped(Arc<Mapped>, Range<usize>),
    Memory(Arc<[u8]>, Range<usize>),
    Owned(Vec<u8>),
}

impl Default for SectionBytes {
    fn default() -> SectionBytes {
        SectionBytes::Owned(Vec::new())
    }
}

impl Deref for SectionBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            SectionBytes::Mapped(mapped, range) => {
                mapped.bytes().get(range.clone()).unwrap_or_default()
            }
            SectionBytes::Memory(bytes, range) => bytes.get(range.clone()).unwrap_or_default(),
            SectionBytes::Owned(bytes) => bytes,
        }
    }
}

impl SectionBytes {
    /// Bytes of memory that are its own.
    pub(crate) fn owned(&self) -> usize {
        match self {
            SectionBytes::Mapped(..) | SectionBytes::Memory(..) => 0,
            SectionBytes::Owned(bytes) => bytes.len(),
        }
    }
}

impl FileBytes {
    pub(crate) fn of(file: File) -> io::Result<FileBytes> {
        Ok(match Mapped::of(&file)? {
            Some(mapped) => FileBytes::Mapped(Arc::new(mapped)),
            None => {
                let length = file.metadata()?.len();
                FileBytes::File { file, length }
            }
        })
    }

    pub(crate) fn length(&self) -> u64 {
        match self {
            FileBytes::Mapped(mapped) => mapped.bytes().len() as u64,
            FileBytes::File { length, .. } => *length,
            FileBytes::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// What the file is parsed from: its bytes, if all of them are at hand.
    pub(crate) fn whole(&self) -> Result<&[u8], &File> {
        match self {
            FileBytes::Mapped(mapped) => Ok(mapped.bytes()),
            FileBytes::Memory(bytes) => Ok(bytes),
            FileBytes::File { file, .. } => Err(file),
        }
    }

    /// Bytes at an offset. An error quotes what was asked for.
    pub(crate) fn read(&self, offset: u64, size: u64) -> Result<SectionBytes, String> {
        let beyond = || {
            let length = self.length();
            format!("{size} bytes at {offset:#x} lie beyond its end ({length:#x})")
        };
        let end =
            offset.checked_add(size).filter(|&end| end <= self.length()).ok_or_else(beyond)?;
        let range = || Some(usize::try_from(offset).ok()?..usize::try_from(end).ok()?);
        match self {
            FileBytes::Mapped(mapped) => {
                Ok(SectionBytes::Mapped(Arc::clone(mapped), range().ok_or_else(beyond)?))
            }
            FileBytes::Memory(bytes) => {
                Ok(SectionBytes::Memory(Arc::clone(bytes), range().ok_or_else(beyond)?))
            }
            FileBytes::File { file, .. } => {
                let mut bytes = Vec::new();
                let size = usize::try_from(size).map_err(|_| beyond())?;
                bytes.try_reserve_exact(size).map_err(|_| format!("no memory for {size} bytes"))?;
                bytes.resize(size, 0);
                file.read_exact_at(&mut bytes, offset)
                    .map_err(|error| format!("{size} bytes at {offset:#x}: {error}"))?;
                Ok(SectionBytes::Owned(bytes))
            }
        }
    }
}
