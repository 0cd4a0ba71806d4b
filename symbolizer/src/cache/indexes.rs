//! The indexes that a program asks, and those it finds damaged.

use super::folder::{Folder, LIMIT};
use super::index::Index;
use super::indexed_file::build;
use crate::DebugFile;
use std::sync::{Mutex, PoisonError};

/// Indexes by build id, for any number of symbolizers of one program.
#[derive(Debug)]
pub struct Indexes {
    folder: Folder,
    damaged: Mutex<Vec<(DebugFile, String)>>,
}

impl Indexes {
    /// Those of a directory.
    pub fn new(folder: Folder) -> Indexes {
        Indexes { folder, damaged: Mutex::default() }
    }

    /// The index of a program whose first part is loaded at `lowest`. None:
    /// there is none. An error says why it is not to be used.
    pub(super) fn find(&self, build_id: &[u8], lowest: u64) -> Result<Option<Index>, String> {
        let found = self.folder.find(build_id)?;
        found.map(|file| Index::open(file, build_id, lowest)).transpose()
    }

    pub(super) fn is_damaged(&self, file: DebugFile, why: String) {
        let mut damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = damaged.iter().all(|(known, _)| known.build_id() != file.build_id());
        if is_new {
            damaged.push((file, why));
        }
    }

    /// Makes those anew that were found damaged. Each is told in a sentence.
    /// It takes as long as reading all debug info: to be called once
    /// everything is answered, and those who asked are gone.
    pub fn mend(&self) -> impl Iterator<Item = String> {
        let damaged =
            std::mem::take(&mut *self.damaged.lock().unwrap_or_else(PoisonError::into_inner));
        damaged.into_iter().map(|(file, why)| {
            let anew = match self.put(&file) {
                Ok(_) => "made anew".to_owned(),
                Err(why) => format!("and not made anew: {why}"),
            };
            format!("the index of {} was not used: {why}; {anew}", file.shown())
        })
    }

    /// Makes the index of a file; gives its bytes.
    ///
    /// # Errors
    /// The file has no build id or no debug info, or the system says why
    /// not; in words.
    pub fn put(&self, file: &DebugFile) -> Result<usize, String> {
        let index = build(file)?;
        let id = file.build_id().unwrap_or_default();
        self.folder
            .put(id, &index, LIMIT)
            .map_err(|error| format!("cannot use {}: {error}", self.folder.path().display()))?;
        Ok(index.len())
    }
}
