//! Code of mapped files.

use super::{Code, CodeError, LONGEST};
use crate::locate::{Located, locate};
use crate::object::MappedFile;
use crate::{Options, Reason};
use object::ReadRef;
use rustc_hash::FxHashMap;

/// Files kept open; beyond, all are closed and those needed opened again.
const MOST_OPEN: usize = 64;

/// Files by their number among the objects, or why one cannot be read.
#[derive(Debug, Default)]
pub(super) struct Files {
    files: FxHashMap<usize, Result<Located, Reason>>,
}

impl Files {
    /// The code at a link-time address.
    pub(super) fn code(
        &mut self,
        number: usize,
        mapped: &MappedFile,
        options: &Options,
        address: u64,
    ) -> Result<Code, CodeError> {
        let located = self.located(number, mapped, options)?;
        let file = || String::from_utf8_lossy(&mapped.path).into_owned();
        let machine = located.head.machine;
        let bits =
            located.head.bits().ok_or_else(|| CodeError::Machine { file: file(), machine })?;
        let bytes = bytes(located, mapped, (address, LONGEST as u64))?;
        Code::new(bytes, bits).ok_or_else(|| CodeError::Outside { object: file() })
    }

    /// The bytes from a link-time address on, at most so many, and
    /// `e_machine` of the file.
    pub(super) fn text(
        &mut self,
        number: usize,
        (mapped, options): (&MappedFile, &Options),
        extent: (u64, u64),
    ) -> Result<(&[u8], u16), CodeError> {
        let located = self.located(number, mapped, options)?;
        Ok((bytes(located, mapped, extent)?, located.head.machine))
    }

    fn located(
        &mut self,
        number: usize,
        mapped: &MappedFile,
        options: &Options,
    ) -> Result<&Located, CodeError> {
        if self.files.len() >= MOST_OPEN && !self.files.contains_key(&number) {
            self.files.clear();
        }
        let located = self.files.entry(number).or_insert_with(|| locate(mapped, options));
        located.as_ref().map_err(|reason| CodeError::Place(reason.clone()))
    }
}

/// Up to so many bytes from an address on, fewer where the segment ends.
fn bytes<'l>(
    located: &'l Located,
    mapped: &MappedFile,
    (address, length): (u64, u64),
) -> Result<&'l [u8], CodeError> {
    let file = || String::from_utf8_lossy(&mapped.path).into_owned();
    let outside = || CodeError::Outside { object: file() };
    let (offset, left) = located.head.segments.offset_of(address).ok_or_else(outside)?;
    // The file may have been cut since.
    (&located.file).read_bytes_at(offset, left.min(length)).map_err(|()| CodeError::Unreadable {
        what: file(),
        why: "it ends before its code".to_owned(),
    })
}
