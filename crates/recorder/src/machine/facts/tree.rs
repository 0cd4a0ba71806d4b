//! Reading small text files below a root.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file of /proc or /sys that is there and makes no sense, or a disk that
/// fails.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}:{line}: {token:?} is no {expected}", path.display())]
    Malformed {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What stands there; a long one is cut.
        token: String,
        expected: &'static str,
    },
    /// A directory, a pipe or a device where a file should be.
    #[error("{} is no regular file", path.display())]
    NotAFile { path: PathBuf },
    #[error("{} is too large: more than {most} {unit}", path.display())]
    TooLarge { path: PathBuf, most: usize, unit: &'static str },
    #[error(
        "{} is no directory that can be read; give one that holds devices/ (a copy of \
         /sys/bus/event_source/devices) and, when there is one, cpuinfo (of /proc/cpuinfo)",
        path.display()
    )]
    NoTree { path: PathBuf },
}

/// Bytes of the largest file that is read whole: lists of tracepoints,
/// mounts and mappings are far shorter.
const MAX_BYTES: usize = 16 << 20;
/// Bytes of a file of sysfs: its kernel buffer is a page. [sysfs.rst]
const MAX_ATTRIBUTE: usize = 4096;
/// Files in a directory; the fullest `events` have some thousands.
const MAX_NAMES: usize = 1 << 14;
/// Characters of a word that an error quotes.
const MAX_QUOTED: usize = 60;

/// A directory that holds `proc` and `sys`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree<'a> {
    root: &'a Path,
}

impl<'a> Tree<'a> {
    pub(super) fn new(root: &'a Path) -> Tree<'a> {
        Tree { root }
    }

    /// Path of `file` (absolute or not) below the root.
    pub(super) fn path(&self, file: impl AsRef<Path>) -> PathBuf {
        let file = file.as_ref();
        self.root.join(file.strip_prefix("/").unwrap_or(file))
    }

    /// The bytes of a file, or None when it is not there for us.
    pub(super) fn bytes(&self, file: impl AsRef<Path>) -> Result<Option<Vec<u8>>, FactsError> {
        let path = self.path(file);
        let Some(bytes) = read_front(&path, MAX_BYTES + 1)? else { return Ok(None) };
        if bytes.len() > MAX_BYTES {
            return Err(FactsError::TooLarge { path, most: MAX_BYTES, unit: "bytes" });
        }
        Ok(Some(bytes))
    }

    /// The first `most` bytes of a file as text, for files whose length
    /// grows with the machine and whose front is enough.
    pub(super) fn front(
        &self,
        file: impl AsRef<Path>,
        most: usize,
    ) -> Result<Option<String>, FactsError> {
        let bytes = read_front(&self.path(file), most)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    pub(super) fn attribute(&self, file: impl AsRef<Path>) -> Result<Option<String>, FactsError> {
        let path = self.path(file);
        let Some(bytes) = read_front(&path, MAX_ATTRIBUTE + 1)? else { return Ok(None) };
        if bytes.len() > MAX_ATTRIBUTE {
            return Err(FactsError::TooLarge { path, most: MAX_ATTRIBUTE, unit: "bytes" });
        }
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The text of a file; bytes that are no UTF-8 become U+FFFD.
    pub(super) fn text(&self, file: impl AsRef<Path>) -> Result<Option<String>, FactsError> {
        Ok(self.bytes(file)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The one word or line in a file, trimmed; None also when it is empty.
    pub(super) fn word(&self, file: impl AsRef<Path>) -> Result<Option<String>, FactsError> {
        let text = self.text(file)?;
        Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    pub(super) fn number<T: FromStr>(
        &self,
        file: impl AsRef<Path>,
    ) -> Result<Option<T>, FactsError> {
        let file = file.as_ref();
        let Some(word) = self.word(file)? else { return Ok(None) };
        word.parse().map(Some).map_err(|_| self.malformed(file, 1, &word, "number in range"))
    }

    /// Names in a directory, sorted; None when it is not there for us.
    pub(super) fn names(&self, dir: impl AsRef<Path>) -> Result<Option<Vec<String>>, FactsError> {
        let path = self.path(dir);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(source) => return Err(FactsError::Read { path, source }),
        };
        let mut names = Vec::new();
        for entry in entries {
            if names.len() == MAX_NAMES {
                return Err(FactsError::TooLarge { path, most: MAX_NAMES, unit: "files" });
            }
            let entry = entry.map_err(|source| FactsError::Read { path: path.clone(), source })?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        Ok(Some(names))
    }

    pub(super) fn malformed(
        &self,
        file: impl AsRef<Path>,
        line: usize,
        token: &str,
        expected: &'static str,
    ) -> FactsError {
        let token = match token.char_indices().nth(MAX_QUOTED) {
            Some((end, _)) => format!("{}...", &token[..end]),
            None => token.to_owned(),
        };
        FactsError::Malformed { path: self.path(file), line, token, expected }
    }
}

/// At most `most` bytes from the front of a regular file; None when it is
/// not there for us. A pipe or a device is refused before it is read: it
/// could wait for ever.
fn read_front(path: &Path, most: usize) -> Result<Option<Vec<u8>>, FactsError> {
    let failed = |source| FactsError::Read { path: path.to_owned(), source };
    let file = match OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(FactsError::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    match Read::take(file, u64::try_from(most).unwrap_or(u64::MAX)).read_to_end(&mut bytes) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if is_absent(&error) => Ok(None),
        Err(source) => Err(failed(source)),
    }
}

/// Missing, hidden from us, or the file of a process that has just gone.
pub(super) fn is_absent(error: &io::Error) -> bool {
    let kind = error.kind();
    matches!(
        kind,
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(libc::ESRCH)
}
