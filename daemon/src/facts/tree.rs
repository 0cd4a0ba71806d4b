//! Reading small text files below a root.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file of /proc or /sys that is there and makes no sense, or a disk that
/// fails.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// The kernel did not give a file's content.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// A word is not what that file has there.
    #[error("{}:{line}: \"{token}\" is no {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What stands there.
        token: String,
        /// What should.
        expected: &'static str,
    },
}

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
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(source) => Err(FactsError::Read { path, source }),
        }
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

    /// The one number in a file.
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
        let token = token.to_owned();
        FactsError::Malformed { path: self.path(file), line, token, expected }
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
