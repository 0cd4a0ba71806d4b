//! Carried files where files are looked for, and packed where they were found.

use super::index::EmbeddedPart;
use super::packer::FilePacker;
use super::reader::EmbeddedFiles;
use crate::SymbolizerOptions;
use crate::files::opening::open_within;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

impl SymbolizerOptions {
    /// The files that the recording carries, unless the user names others.
    pub(crate) fn carried(&self) -> Option<&EmbeddedFiles> {
        self.carried.as_deref().filter(|_| self.symfs.is_none())
    }

    /// Opens what belongs to a mapped file that was found below `root`.
    pub(crate) fn open_beside(&self, root: &Path, path: &[u8]) -> io::Result<File> {
        let carried = || self.carried()?.beside(&self.shown(root, path)?);
        carried().unwrap_or_else(|| open_within(root, path))
    }

    /// The same open file once more, where it may be packed.
    pub(crate) fn to_pack(&self, file: &File) -> Option<FileToPack> {
        let packer = self.packer.clone()?;
        Some(FileToPack { packer, file: file.try_clone().ok()? })
    }

    /// A file beside a mapped one, which was used.
    pub(crate) fn pack_beside(&self, root: &Path, path: &[u8], file: Option<FileToPack>) {
        if let (Some(file), Some(path)) = (file, self.shown(root, path)) {
            file.pack(EmbeddedPart::Beside { path });
        }
    }

    /// What stood for `/`, as the index of carried files has it: empty where
    /// it is what stands for `/` by these options.
    pub(crate) fn shown_root(&self, root: &Path) -> Option<String> {
        match root == self.files() {
            true => Some(String::new()),
            false => Some(root.to_str()?.to_owned()),
        }
    }

    pub(crate) fn root_shown(&self, shown: &str) -> PathBuf {
        match shown.is_empty() {
            true => self.files().to_owned(),
            false => PathBuf::from(shown),
        }
    }

    /// None: no text.
    fn shown(&self, root: &Path, path: &[u8]) -> Option<String> {
        let path = std::str::from_utf8(path).ok()?.trim_start_matches('/');
        let root = self.shown_root(root)?;
        Some(format!("{}/{path}", root.trim_end_matches('/')))
    }
}

/// A file that may turn out to be the one that was looked for.
#[derive(Debug)]
pub(crate) struct FileToPack {
    packer: std::sync::Arc<FilePacker>,
    file: File,
}

impl FileToPack {
    pub(crate) fn pack(&self, part: EmbeddedPart) {
        self.packer.pack(part, &self.file);
    }
}
