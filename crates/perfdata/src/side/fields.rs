//! Named fields of a record's body, and the shapes that several kinds share.

use super::SideError;
use crate::bytes::{ByteOrder, ByteWriter, Cursor, RecordWords, Short};
use crate::header::RecordType;
use crate::units::{Pid, Task, Tid};

/// Reads fields; an error names the record type and the field.
pub(super) struct Fields<'a> {
    kind: RecordType,
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(kind: RecordType, body: &'a [u8], order: ByteOrder) -> Self {
        Fields { kind, cursor: Cursor::new(body, order) }
    }

    pub(super) fn kind(&self) -> RecordType {
        self.kind
    }

    pub(super) fn left(&self) -> usize {
        self.cursor.left()
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, SideError> {
        self.cursor.u8().map_err(|short| self.short(field, short))
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, SideError> {
        self.cursor.u16().map_err(|short| self.short(field, short))
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, SideError> {
        self.cursor.u32().map_err(|short| self.short(field, short))
    }

    pub(super) fn i32(&mut self, field: &'static str) -> Result<i32, SideError> {
        self.cursor.i32().map_err(|short| self.short(field, short))
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, SideError> {
        self.cursor.u64().map_err(|short| self.short(field, short))
    }

    pub(super) fn bytes(
        &mut self,
        field: &'static str,
        count: usize,
    ) -> Result<&'a [u8], SideError> {
        self.cursor.take(count).map_err(|short| self.short(field, short))
    }

    pub(super) fn words(
        &mut self,
        field: &'static str,
        count: u64,
    ) -> Result<RecordWords<'a>, SideError> {
        self.cursor.words(count).map_err(|short| self.short(field, short))
    }

    /// `pid` then `tid`.
    pub(super) fn task(&mut self) -> Result<Task, SideError> {
        Ok(Task { pid: Pid(self.i32("pid")?), tid: Tid(self.i32("tid")?) })
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Everything left, which stays there.
    pub(super) fn ahead(&self) -> &'a [u8] {
        self.cursor.clone().rest()
    }

    /// Everything left up to the first NUL.
    pub(super) fn string(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        &rest[..end]
    }

    fn short(&self, field: &'static str, short: Short) -> SideError {
        SideError::Short { kind: self.kind, field, short }
    }
}

pub(super) fn put_task(w: &mut ByteWriter<'_>, task: Task) {
    w.i32(task.pid.0);
    w.i32(task.tid.0);
}

pub(super) fn put_words(w: &mut ByteWriter<'_>, words: &[u64]) {
    for &word in words {
        w.u64(word);
    }
}

/// A string, its NUL, and zeroes up to 8 bytes.
pub(super) fn put_string(
    w: &mut ByteWriter<'_>,
    kind: RecordType,
    text: &[u8],
) -> Result<(), SideError> {
    if text.contains(&0) {
        return Err(SideError::Unencodable { kind, problem: "its name holds a NUL byte" });
    }
    let start = w.len();
    w.raw(text);
    w.u8(0);
    w.pad(start, 8);
    Ok(())
}
