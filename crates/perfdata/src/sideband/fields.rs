//! Fields of a record's body, and the form of each type of field.

use super::{NamespaceLink, SidebandError};
use crate::bytes::{ByteOrder, ByteWriter, Cursor, FixedField, RecordWords, Short};
use crate::header::RecordType;
use crate::units::{Task, Time};

/// Reads fields; an error names the record type and the field.
pub(super) struct Fields<'a> {
    pub(super) kind: RecordType,
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(kind: RecordType, body: &'a [u8], order: ByteOrder) -> Self {
        Fields { kind, cursor: Cursor::new(body, order) }
    }

    /// The next field, in the form of its type.
    pub(super) fn get<T: SidebandField<'a>>(
        &mut self,
        name: &'static str,
    ) -> Result<T, SidebandError> {
        T::decode(self, name)
    }

    pub(super) fn bytes(
        &mut self,
        name: &'static str,
        count: usize,
    ) -> Result<&'a [u8], SidebandError> {
        self.read(name, |cursor| cursor.take(count))
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.cursor.rest()
    }

    /// Everything left, which stays there.
    pub(super) fn ahead(&self) -> &'a [u8] {
        self.cursor.clone().rest()
    }

    fn read<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Short>,
    ) -> Result<T, SidebandError> {
        let kind = self.kind;
        read(&mut self.cursor).map_err(|short| SidebandError::Short { kind, field, short })
    }
}

/// A type with one form in sideband records.
pub(super) trait SidebandField<'a>: Sized {
    /// `name` is that of perf_event_open(2).
    fn decode(fields: &mut Fields<'a>, name: &'static str) -> Result<Self, SidebandError>;

    /// # Errors
    /// Why the value has no such form.
    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str>;
}

impl<'a, T: FixedField> SidebandField<'a> for T {
    fn decode(fields: &mut Fields<'a>, name: &'static str) -> Result<T, SidebandError> {
        fields.read(name, |cursor| T::decode(cursor))
    }

    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        FixedField::encode(self, w);
        Ok(())
    }
}

impl<'a> SidebandField<'a> for Task {
    fn decode(fields: &mut Fields<'a>, _: &'static str) -> Result<Task, SidebandError> {
        Ok(Task { pid: fields.get("pid")?, tid: fields.get("tid")? })
    }

    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        put_task(w, *self);
        Ok(())
    }
}

/// A string, its NUL, and zeroes up to 8 bytes: the last field of a record.
impl<'a> SidebandField<'a> for &'a [u8] {
    fn decode(fields: &mut Fields<'a>, _: &'static str) -> Result<&'a [u8], SidebandError> {
        let rest = fields.rest();
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        Ok(&rest[..end])
    }

    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        if self.contains(&0) {
            return Err("its name holds a NUL byte");
        }
        let start = w.len();
        w.raw(self);
        w.u8(0);
        w.pad(start, 8);
        Ok(())
    }
}

impl<'a> SidebandField<'a> for [u8; 8] {
    fn decode(fields: &mut Fields<'a>, name: &'static str) -> Result<[u8; 8], SidebandError> {
        let mut array = [0; 8];
        array.copy_from_slice(fields.bytes(name, 8)?);
        Ok(array)
    }

    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        w.raw(self);
        Ok(())
    }
}

/// Their number, and the words.
impl<'a> SidebandField<'a> for RecordWords<'a> {
    fn decode(
        fields: &mut Fields<'a>,
        name: &'static str,
    ) -> Result<RecordWords<'a>, SidebandError> {
        let count = fields.get("nr")?;
        fields.read(name, |cursor| cursor.words(count))
    }

    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        w.u64(self.len() as u64);
        w.words(*self);
        Ok(())
    }
}

/// Their number, and two words each.
impl<'a> SidebandField<'a> for Vec<NamespaceLink> {
    fn decode(fields: &mut Fields<'a>, name: &'static str) -> Result<Self, SidebandError> {
        let count: u64 = fields.get(name)?;
        // A count beyond the body fails at the first missing link; what is
        // reserved is bounded by the bytes that are there.
        let there = fields.cursor.left() / size_of::<NamespaceLink>();
        let mut links = Vec::with_capacity(usize::try_from(count).map_or(there, |n| n.min(there)));
        for _ in 0..count {
            links.push(NamespaceLink { device: fields.get("dev")?, inode: fields.get("inode")? });
        }
        Ok(links)
    }

    fn encode(&self, w: &mut ByteWriter<'_>) -> Result<(), &'static str> {
        w.u64(self.len() as u64);
        self.iter().for_each(|link| put_words(w, &[link.device, link.inode]));
        Ok(())
    }
}

/// What FORK and EXIT hold: the ids of a task and of its parent by turns.
pub(super) fn lineage(fields: &mut Fields<'_>) -> Result<(Task, Task, Time), SidebandError> {
    let (mut task, mut parent) = (Task::default(), Task::default());
    task.pid = fields.get("pid")?;
    parent.pid = fields.get("ppid")?;
    task.tid = fields.get("tid")?;
    parent.tid = fields.get("ptid")?;
    Ok((task, parent, fields.get("time")?))
}

pub(super) fn put_lineage(w: &mut ByteWriter<'_>, task: Task, parent: Task, time: Time) {
    for id in [task.pid.0, parent.pid.0, task.tid.0, parent.tid.0] {
        w.i32(id);
    }
    w.u64(time.0);
}

pub(super) fn put_task(w: &mut ByteWriter<'_>, task: Task) {
    w.i32(task.pid.0);
    w.i32(task.tid.0);
}

pub(super) fn put_words(w: &mut ByteWriter<'_>, words: &[u64]) {
    words.iter().for_each(|&word| w.u64(word));
}
