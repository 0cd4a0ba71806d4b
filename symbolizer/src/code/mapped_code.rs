//! Code of mapped files.

use super::{CodeError, MachineCode};
use crate::files::located_file::LocatedFile;
use crate::process::locate::locate;
use crate::process::objects::MappedFile;
use crate::{Reason, SymbolizerOptions};
use object::ReadRef;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Files kept open; beyond, all are closed and those needed opened again.
const MOST_OPEN: usize = 64;

/// Files by their number among the objects, or why one cannot be read.
#[derive(Debug, Default)]
pub(crate) struct MappedCode {
    files: FxHashMap<usize, Result<LocatedFile, Reason>>,
}

impl MappedCode {
    /// The code in a stretch of link-time addresses, fewer bytes where the
    /// segment ends.
    pub(crate) fn read(
        &mut self,
        number: usize,
        mapped: &MappedFile,
        options: &SymbolizerOptions,
        stretch: &Range<u64>,
    ) -> Result<MachineCode, CodeError> {
        if self.files.len() >= MOST_OPEN && !self.files.contains_key(&number) {
            self.files.clear();
        }
        let located = self.files.entry(number).or_insert_with(|| locate(mapped, options));
        let located = located.as_ref().map_err(|reason| CodeError::Place(reason.clone()))?;
        let file = || String::from_utf8_lossy(&mapped.path).into_owned();
        let outside = || CodeError::Outside { object: file() };
        let (offset, left) = located.head.segments.offset_of(stretch.start).ok_or_else(outside)?;
        let length = left.min(stretch.end.saturating_sub(stretch.start));
        // The file may have been cut since.
        let read = (&located.file).read_bytes_at(offset, length);
        let bytes = read.map_err(|()| CodeError::Unreadable {
            what: file(),
            why: "it ends before its code".to_owned(),
        })?;
        Ok(MachineCode { bytes: bytes.to_vec(), machine: located.head.machine })
    }
}
