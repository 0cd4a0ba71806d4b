//! An ELF file that is asked by way of its index, if it has one.

use super::builder::Builder;
use super::index::Index;
use crate::debug_file::{Found, named};
use crate::frames::Frames;
use crate::locate::Located;
use crate::{DebugFile, Options, Reason};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Like [`DebugFile`], which is not opened before the index has no answer.
///
/// When an index turns out to be damaged, the file goes to
/// [`Options::indexes`] at the end, which can make the index anew.
#[derive(Debug)]
pub struct IndexedFile {
    /// Below the root.
    path: Box<[u8]>,
    /// As shown in answers.
    shown: Arc<str>,
    options: Options,
    index: Option<Index>,
    file: State,
    /// Bytes of the file with the debug info, once it was looked for.
    size: u64,
    /// Why its index was passed over.
    damage: Option<String>,
}

#[derive(Debug)]
enum State {
    /// Nobody needed it yet.
    Located(Box<Located>),
    Found(Box<Found>),
    Opened(Box<DebugFile>),
    Failed(Reason),
}

impl IndexedFile {
    /// Opens a file below `options.root`.
    ///
    /// # Errors
    /// Those of [`DebugFile::open`].
    pub fn open(path: &Path, options: &Options) -> Result<IndexedFile, Reason> {
        let (located, path) = named(path, options)?;
        Ok(IndexedFile::of(located, path.as_os_str().as_bytes(), options))
    }

    /// A file that was found where `path` leads.
    pub(crate) fn of(located: Located, path: &[u8], options: &Options) -> IndexedFile {
        let id = located.head.build_id.as_deref();
        let lowest = located.head.lowest().unwrap_or(0);
        let found = options.indexes.as_ref().zip(id).map(|(all, id)| all.find(id, lowest));
        let (index, damage) = match found {
            Some(Ok(index)) => (index, None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        IndexedFile {
            path: path.into(),
            shown: String::from_utf8_lossy(path).into(),
            options: options.clone(),
            index,
            file: State::Located(Box::new(located)),
            size: 0,
            damage,
        }
    }

    /// Lines and inlined callers at a link-time address; fastest in
    /// ascending order.
    ///
    /// # Errors
    /// No index answers, and the file cannot be read.
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

    /// Bytes of the file that has the debug info, unless an index is asked.
    pub(crate) fn debug_size(&mut self) -> u64 {
        match self.index {
            Some(_) => 0,
            None => {
                self.find();
                self.size
            }
        }
    }

    /// Looks for the separate debug file.
    fn find(&mut self) {
        if let State::Located(_) = self.file {
            self.advance(|state, path, options| match state {
                State::Located(located) => match Found::of(*located, path, options) {
                    Ok(found) => State::Found(Box::new(found)),
                    Err(reason) => State::Failed(reason),
                },
                other => other,
            });
        }
        if let State::Found(found) = &self.file {
            self.size = found.size();
        }
    }

    fn file(&mut self) -> Result<&DebugFile, Reason> {
        self.find();
        if let State::Found(_) = self.file {
            self.advance(|state, path, options| match state {
                State::Found(found) => match DebugFile::of(*found, path, options) {
                    Ok(file) => State::Opened(Box::new(file)),
                    Err(reason) => State::Failed(reason),
                },
                other => other,
            });
        }
        match &self.file {
            State::Opened(file) => Ok(file),
            State::Failed(reason) => Err(reason.clone()),
            State::Located(_) | State::Found(_) => Err(self.gone()),
        }
    }

    fn advance(&mut self, step: impl FnOnce(State, &[u8], &Options) -> State) {
        let gone = State::Failed(self.gone());
        let state = std::mem::replace(&mut self.file, gone);
        self.file = step(state, &self.path, &self.options);
    }

    fn gone(&self) -> Reason {
        Reason::FileGone { file: self.shown.to_string() }
    }

    /// Whether answers come from an index.
    pub fn is_indexed(&self) -> bool {
        self.index.is_some()
    }
}

impl Drop for IndexedFile {
    fn drop(&mut self) {
        let Some(why) = self.damage.take() else { return };
        let gone = State::Failed(self.gone());
        let file = std::mem::replace(&mut self.file, gone);
        if let (State::Opened(file), Some(indexes)) = (file, &self.options.indexes) {
            indexes.is_damaged(*file, why);
        }
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
    builder.finish(id, file.lowest())
}
