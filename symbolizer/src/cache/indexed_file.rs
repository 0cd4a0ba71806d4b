//! An ELF file that is asked by way of its index, if it has one.

use super::builder::Builder;
use super::folder::Folder;
use super::index::Index;
use crate::file::open_within;
use crate::frames::Frames;
use crate::{DebugFile, Options, Reason, elf};
use object::ReadCache;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Like [`DebugFile`], which is not opened before the index has no answer.
#[derive(Debug)]
pub struct IndexedFile {
    path: PathBuf,
    /// As shown in answers.
    shown: Arc<str>,
    options: Options,
    index: Option<Index>,
    file: Option<DebugFile>,
    /// Why an index was passed over.
    damage: Option<String>,
}

impl IndexedFile {
    /// Opens a file's index in `folder`, or else the file.
    ///
    /// # Errors
    /// Those of [`DebugFile::open`].
    pub fn open(
        path: &Path,
        options: Options,
        folder: Option<&Folder>,
    ) -> Result<IndexedFile, Reason> {
        // As DebugFile shows it.
        let shown = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut file = IndexedFile {
            path: path.to_owned(),
            shown: shown.display().to_string().into(),
            options,
            index: None,
            file: None,
            damage: None,
        };
        if let Some(folder) = folder
            && let Some(id) = file.build_id()
        {
            let index = folder
                .find(&id)
                .and_then(|index| index.map(|index| Index::open(index, &id)).transpose());
            match index {
                Ok(index) => file.index = index,
                Err(why) => file.damage = Some(why),
            }
        }
        if file.index.is_none() {
            file.file()?;
        }
        Ok(file)
    }

    fn build_id(&self) -> Option<Vec<u8>> {
        let path = std::path::absolute(&self.path).ok()?;
        let file = open_within(&self.options.root, path.as_os_str().as_bytes()).ok()?;
        elf::head(&ReadCache::new(file)).ok()?.build_id.map(Into::into)
    }

    fn file(&mut self) -> Result<&DebugFile, Reason> {
        if self.file.is_none() {
            self.file = Some(DebugFile::open(&self.path, &self.options)?);
        }
        match &self.file {
            Some(file) => Ok(file),
            None => Err(Reason::FileGone { file: self.shown.to_string() }),
        }
    }

    /// Lines and inlined callers at a link-time address; fastest in
    /// ascending order.
    ///
    /// # Errors
    /// The index turned out to be damaged, and the file cannot be opened.
    pub fn frames(&mut self, address: u64) -> Result<Frames, Reason> {
        if let Some(index) = &mut self.index {
            match index.frames(address, &self.shown) {
                Ok(frames) => return Ok(frames),
                Err(why) => {
                    self.index = None;
                    self.damage = Some(why);
                }
            }
        }
        Ok(self.file()?.frames(address))
    }

    /// Whether answers come from an index.
    pub fn is_indexed(&self) -> bool {
        self.index.is_some()
    }

    /// Why an index was passed over, if it was: it should be made anew.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }
}

/// The bytes of an index of everything that a file's debug info says.
///
/// # Errors
/// It has no build id or no debug info, or is too large; in words.
pub fn build(file: &DebugFile) -> Result<Vec<u8>, String> {
    let id = file.build_id().ok_or("it has no build id")?;
    let mut edges = Vec::new();
    file.edges(|edge| edges.push(edge));
    edges.sort_unstable();
    edges.dedup();
    let mut builder = Builder::default();
    for edge in edges {
        builder.add(edge, &file.frames(edge))?;
    }
    builder.finish(id)
}
