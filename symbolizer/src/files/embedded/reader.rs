//! Reads the files that a recording carries.

use super::index::{EmbeddedFile, EmbeddedIndex, EmbeddedPart, EmbeddedVersion, INDEX, VERSION};
use crate::files::opening::reopened;
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use zip::ZipArchive;
use zip::result::ZipError;

/// Bytes of an index, and files in it: many times what a system maps.
const LONGEST_INDEX: u64 = 32 << 20;
const MOST_FILES: usize = 1 << 16;
/// Unpacked bytes for each packed one, and how many there may be in any case:
/// an archive of a few megabytes must not fill a disk.
const MOST_GROWTH: u64 = 64;
const SMALL: u64 = 16 << 20;
/// Unpacked files that are kept open.
const MOST_OPEN: usize = 128;

/// The files of one recording, each unpacked when it is first asked for, into
/// a file without a name in TMPDIR.
#[derive(Debug)]
pub struct EmbeddedFiles {
    archive: ZipArchive<FilePart>,
    index: EmbeddedIndex,
    /// Numbers of files in the index, by path.
    by_path: FxHashMap<String, Vec<usize>>,
    unpacked: Mutex<Unpacking>,
}

#[derive(Debug, Default)]
struct Unpacking {
    files: FxHashMap<String, File>,
    /// Bytes that may still be unpacked.
    left: u64,
    /// Why a file that belongs to a mapped one could not be unpacked.
    failure: Option<String>,
}

/// Why the carried files of a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedFilesError {
    #[error("{0}")]
    Archive(String),
    #[error("their index has form {found}; forms up to {VERSION} are known here")]
    Version { found: u32 },
    #[error("their index has {found} files; at most {MOST_FILES} are read")]
    TooMany { found: usize },
}

impl EmbeddedFiles {
    /// Those in a part of `file`, from the byte `offset` on.
    ///
    /// # Errors
    ///
    /// No archive, or one that was not packed here.
    pub fn open(file: File, offset: u64, size: u64) -> Result<EmbeddedFiles, EmbeddedFilesError> {
        let part = FilePart { file: Arc::new(file), offset, size, position: 0 };
        let damaged = |error: ZipError| EmbeddedFilesError::Archive(error.to_string());
        let mut archive = ZipArchive::new(part).map_err(damaged)?;
        let index: EmbeddedIndex = {
            let member = archive.by_name(INDEX).map_err(damaged)?;
            serde_json::from_reader(io::BufReader::new(member.take(LONGEST_INDEX)))
                .map_err(|error| EmbeddedFilesError::Archive(format!("{INDEX}: {error}")))?
        };
        if index.version != VERSION {
            return Err(EmbeddedFilesError::Version { found: index.version });
        }
        if index.files.len() > MOST_FILES {
            return Err(EmbeddedFilesError::TooMany { found: index.files.len() });
        }
        let mut by_path: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (number, file) in index.files.iter().enumerate() {
            if let EmbeddedPart::Mapped { path, .. } | EmbeddedPart::Beside { path } = &file.part {
                by_path.entry(path.clone()).or_default().push(number);
            }
        }
        let left = size.saturating_mul(MOST_GROWTH).max(SMALL);
        let unpacked = Mutex::new(Unpacking { files: FxHashMap::default(), left, failure: None });
        Ok(EmbeddedFiles { archive, index, by_path, unpacked })
    }

    /// How many parts are played by files here.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.index.files.len()
    }

    /// The file that processes mapped from `path`, and what stood for `/` where it
    /// was found. Where the mapping says nothing of which file it was,
    /// the only one of that path.
    pub(crate) fn mapped(
        &self,
        path: &[u8],
        version: &EmbeddedVersion,
    ) -> Option<(io::Result<File>, &str)> {
        let mut found = self.of_path(path).filter_map(|file| match &file.part {
            EmbeddedPart::Mapped { root, version, .. } => Some((file, root, version)),
            _ => None,
        });
        let (file, root, _) = match version.is_unknown() {
            false => found.find(|(.., carried)| carried.agrees(version))?,
            true => found.next().filter(|_| found.next().is_none())?,
        };
        Some((self.unpack(&file.member), root))
    }

    /// The file that lay at `path` when names were looked for.
    pub(crate) fn beside(&self, path: &str) -> Option<io::Result<File>> {
        let mut found = self.of_path(path.as_bytes());
        let file = found.find(|file| matches!(file.part, EmbeddedPart::Beside { .. }))?;
        let unpacked = self.unpack(&file.member);
        if let Err(error) = &unpacked {
            self.unpacking().failure.get_or_insert_with(|| format!("{path}: {error}"));
        }
        Some(unpacked)
    }

    /// A file that [`EmbeddedFiles::beside`] could not give, and why; the first of them.
    pub(crate) fn failure(&self) -> Option<String> {
        self.unpacking().failure.clone()
    }

    fn unpacking(&self) -> MutexGuard<'_, Unpacking> {
        self.unpacked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The map of the code that a process made, and its path.
    pub(crate) fn map(&self, pid: i32) -> Option<(io::Result<File>, &str)> {
        self.index.files.iter().find_map(|file| match &file.part {
            EmbeddedPart::Map { pid: of, path } if *of == pid => {
                Some((self.unpack(&file.member), path.as_str()))
            }
            _ => None,
        })
    }

    pub(crate) fn dump(&self, pid: i32, path: &[u8]) -> Option<io::Result<File>> {
        let file = self.index.files.iter().find(|file| match &file.part {
            EmbeddedPart::Dump { pid: of, path: at } => *of == pid && at.as_bytes() == path,
            _ => false,
        })?;
        Some(self.unpack(&file.member))
    }

    pub(crate) fn vdso(&self, build_id: Option<&str>, length: u64) -> Option<io::Result<File>> {
        let file = self.index.files.iter().find(|file| match &file.part {
            EmbeddedPart::Vdso { build_id: carried, length: carried_length } => {
                match (build_id, carried) {
                    (Some(one), Some(other)) => one == other,
                    _ => length == *carried_length,
                }
            }
            _ => false,
        })?;
        Some(self.unpack(&file.member))
    }

    fn of_path(&self, path: &[u8]) -> impl Iterator<Item = &EmbeddedFile> {
        let numbers = std::str::from_utf8(path).ok().and_then(|path| self.by_path.get(path));
        numbers.into_iter().flatten().map(|number| &self.index.files[*number])
    }

    fn unpack(&self, member: &str) -> io::Result<File> {
        let mut unpacking = self.unpacking();
        if let Some(file) = unpacking.files.get(member)
            && let Some(again) = reopened(file)
        {
            return Ok(again);
        }
        let damaged = |why: &dyn std::fmt::Display| {
            io::Error::other(format!("the copy that the recording carries is damaged: {why}"))
        };
        let mut archive = self.archive.clone();
        let mut packed = archive.by_name(member).map_err(|error| damaged(&error))?;
        let size = packed.size();
        if size > unpacking.left {
            return Err(damaged(&format!("{size} bytes are more than it can unpack to")));
        }
        let mut file = tempfile::tempfile()?;
        let copied = io::copy(&mut packed.by_ref().take(size.saturating_add(1)), &mut file);
        match copied {
            Ok(copied) if copied == size => {}
            Ok(copied) => return Err(damaged(&format!("it has {copied} bytes, not {size}"))),
            Err(error) if has_no_room(error.kind()) => {
                let text =
                    format!("{error}: TMPDIR has no room for it; name another directory there");
                return Err(io::Error::new(error.kind(), text));
            }
            Err(error) => return Err(damaged(&error)),
        }
        file.rewind()?;
        unpacking.left -= size;
        if unpacking.files.len() >= MOST_OPEN {
            unpacking.files.clear();
        }
        if let Some(again) = reopened(&file) {
            unpacking.files.insert(member.to_owned(), again);
        }
        Ok(file)
    }
}

/// Whether it is the place for unpacked files that is too small.
fn has_no_room(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

/// A stretch of a file, read as if it were one. Clones read by themselves.
#[derive(Clone, Debug)]
struct FilePart {
    file: Arc<File>,
    offset: u64,
    size: u64,
    position: u64,
}

impl Read for FilePart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.size.saturating_sub(self.position);
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let at = self.offset.saturating_add(self.position);
        let count = self.file.read_at(&mut buffer[..wanted], at)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for FilePart {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(distance) => self.size.checked_add_signed(distance),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
