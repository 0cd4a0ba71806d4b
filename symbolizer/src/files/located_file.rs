//! A file that was found and opened, and is ELF.

use super::debuginfod::Artifact;
use super::embedded::reader::EmbeddedFiles;
use super::opening::open_within;
use super::options::SymbolizerOptions;
use crate::Reason;
use crate::elf::head::hex;
use crate::elf::{self, head::ElfHead};
use object::ReadCache;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file that is the one that is meant, as far as can be told.
#[derive(Debug)]
pub(crate) struct LocatedFile {
    pub(crate) file: ReadCache<File>,
    pub(crate) head: ElfHead,
    /// What stands for `/` where the file was found: separate debug files
    /// are looked for below it.
    pub(crate) root: PathBuf,
}

/// The file that `path` names below `options.root`, and its whole path there.
pub(crate) fn named(
    path: &Path,
    options: &SymbolizerOptions,
) -> Result<(LocatedFile, PathBuf), Reason> {
    let name = || path.display().to_string();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Reason::FileGone { file: name() },
        _ => Reason::FileUnreadable { file: name(), why: error.to_string() },
    };
    let whole = std::path::absolute(path).map_err(unreadable)?;
    let file = open_within(&options.root, whole.as_os_str().as_bytes()).map_err(unreadable)?;
    let file = ReadCache::new(file);
    let head = elf::head(&file)
        .map_err(|error| Reason::NotElf { file: name(), why: error.to_string() })?;
    Ok((LocatedFile { file, head, root: options.root.clone() }, whole))
}

/// Of a file without debug symbols: its build id, and what servers said when
/// they were asked for them.
pub(crate) fn build_in_words(id: Option<&[u8]>, options: &SymbolizerOptions) -> String {
    let Some(id) = id else { return "no build id".to_owned() };
    let mut words = format!("build id {}", hex(id));
    let servers = options.debuginfod.as_ref();
    if let Some(said) = servers.and_then(|servers| servers.said(id, Artifact::DebugInfo)) {
        words.push_str(&format!("; debuginfod: {said}"));
    }
    // Of which program it is, only the file itself says.
    if let Some(failure) = options.carried().and_then(EmbeddedFiles::failure) {
        words.push_str(&format!("; the recording has {failure}"));
    }
    words
}
