//! Regions: parts of a run that a program names itself, as a stream tells of
//! them.
//!
//! A thread is in as many regions as it has begun and not ended, one inside
//! the other. Each begin and each end is a mark: an EVENT_UPDATE with a unit,
//! as notes are, whose text ends before the bytes begin. perf shows nothing
//! of it.

use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};
use crate::{Pid, Task, Tid, Time};

/// What the text of a record begins with that holds a mark.
pub const TEXT: &[u8] = b"region=";
/// The text of this version, with its NUL and zeroes up to a multiple of 8.
const VERSION: &[u8; 16] = b"region=1\0\0\0\0\0\0\0\0";
/// Bytes of the longest name.
pub const LONGEST_NAME: usize = 95;

const BEGIN: u32 = 1;
const END: u32 = 2;

/// Which side of a region a mark stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionSide {
    /// The thread enters the region of this name.
    Begin,
    /// It leaves the innermost region of this name; without a name the
    /// innermost of all.
    End,
}

/// A thread has come to a side of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionMark<'n> {
    /// When, by the clock of the stream's samples.
    pub time: Time,
    pub task: Task,
    /// Begin or end.
    pub side: RegionSide,
    /// What the program calls it, up to [`LONGEST_NAME`] bytes, in no
    /// encoding that anybody holds it to.
    pub name: &'n [u8],
}

/// Why bytes are no mark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionMarkError {
    #[error(
        "a region in a form not known here (its text is {0:?}); report it with the ebs that recorded it"
    )]
    Version(String),
    #[error("a region: {0}")]
    Short(#[from] Short),
    #[error("a region whose {0} is {1}, which cannot be")]
    Impossible(&'static str, u64),
}

impl<'n> RegionMark<'n> {
    /// Reads what follows type and id of an EVENT_UPDATE whose text begins
    /// with [`TEXT`].
    ///
    /// # Errors
    /// Another version, bytes that end early or go on, a side that is none, a
    /// begin without a name.
    pub fn decode(bytes: &'n [u8], order: ByteOrder) -> Result<RegionMark<'n>, RegionMarkError> {
        let mut c = Cursor::new(bytes, order);
        if !c.rest_starts_with(VERSION) {
            let text = &bytes[..bytes.len().min(VERSION.len())];
            let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
            let text = String::from_utf8_lossy(&text[..end]).into_owned();
            return Err(RegionMarkError::Version(text));
        }
        c.take(VERSION.len())?;
        let time = Time(c.u64()?);
        let task = Task { pid: Pid(c.i32()?), tid: Tid(c.i32()?) };
        let side = match c.u32()? {
            BEGIN => RegionSide::Begin,
            END => RegionSide::End,
            other => return Err(RegionMarkError::Impossible("side", u64::from(other))),
        };
        let length = usize::try_from(c.u32()?).unwrap_or(usize::MAX);
        let wrong = |what| RegionMarkError::Impossible(what, length as u64);
        if length > LONGEST_NAME || (length == 0 && side == RegionSide::Begin) {
            return Err(wrong("length of a name"));
        }
        let name = c.take(length)?;
        let padding = c.rest();
        match padding.len() < 8 && padding.iter().all(|&byte| byte == 0) {
            true => Ok(RegionMark { time, task, side, name }),
            false => Err(wrong("end")),
        }
    }

    /// Appends the bytes that [`RegionMark::decode`] reads, a multiple of 8. A
    /// longer name is cut at [`LONGEST_NAME`].
    pub fn encode(&self, w: &mut ByteWriter<'_>) {
        let name = &self.name[..self.name.len().min(LONGEST_NAME)];
        w.raw(VERSION);
        w.u64(self.time.0);
        w.i32(self.task.pid.0);
        w.i32(self.task.tid.0);
        w.u32(match self.side {
            RegionSide::Begin => BEGIN,
            RegionSide::End => END,
        });
        w.u32(u32::try_from(name.len()).unwrap_or(u32::MAX));
        let start = w.len();
        w.raw(name);
        w.pad(start, 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::Attr;
    use crate::stream::{StreamDecoder, StreamRecord, StreamStep, write};
    use proptest::prelude::*;

    fn encoded(mark: &RegionMark<'_>, order: ByteOrder) -> Vec<u8> {
        let mut bytes = Vec::new();
        mark.encode(&mut ByteWriter::new(&mut bytes, order));
        bytes
    }

    fn mark(name: &[u8]) -> RegionMark<'_> {
        let task = Task { pid: Pid(7), tid: Tid(8) };
        RegionMark { time: Time(5), task, side: RegionSide::Begin, name }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            time: u64, pid: i32, tid: i32, begins: bool, big: bool,
            name in proptest::collection::vec(any::<u8>(), 1..=LONGEST_NAME),
        ) {
            let side = if begins { RegionSide::Begin } else { RegionSide::End };
            let order = if big { ByteOrder::Big } else { ByteOrder::Little };
            let task = Task { pid: Pid(pid), tid: Tid(tid) };
            let mark = RegionMark { time: Time(time), task, side, name: &name };
            let bytes = encoded(&mark, order);
            prop_assert_eq!(bytes.len() % 8, 0);
            prop_assert_eq!(RegionMark::decode(&bytes, order), Ok(mark));
        }

        #[test]
        fn hostile_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let with_text = [VERSION.as_slice(), &bytes].concat();
            for bytes in [bytes, with_text] {
                if let Ok(mark) = RegionMark::decode(&bytes, ByteOrder::Little) {
                    prop_assert!(mark.name.len() <= LONGEST_NAME);
                }
            }
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_cut() {
        let bytes = encoded(&mark(&[b'x'; 200]), ByteOrder::Little);
        let read = RegionMark::decode(&bytes, ByteOrder::Little).unwrap();
        assert_eq!(read.name, [b'x'; LONGEST_NAME]);
    }

    #[test]
    fn what_no_recorder_writes_is_refused() {
        let whole = encoded(&mark(b"sweep"), ByteOrder::Little);
        let said =
            |bytes: &[u8]| RegionMark::decode(bytes, ByteOrder::Little).unwrap_err().to_string();
        let with = |at: usize, byte: u8| {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            said(&bytes)
        };
        assert!(with(7, b'2').contains("\"region=2\""), "{}", with(7, b'2'));
        assert_eq!(with(32, 3), "a region whose side is 3, which cannot be");
        assert_eq!(with(36, 0), "a region whose length of a name is 0, which cannot be");
        assert_eq!(with(36, 96), "a region whose length of a name is 96, which cannot be");
        assert_eq!(with(47, 1), "a region whose end is 5, which cannot be");
        assert!(said(&whole[..30]).starts_with("a region: "), "{}", said(&whole[..30]));
    }

    #[test]
    fn a_stream_gives_marks_of_events_that_it_knows() {
        let mut bytes = Vec::new();
        write::file_header(ByteOrder::Little, &mut bytes);
        write::attr(&Attr::default(), &[3], ByteOrder::Little, &mut bytes).unwrap();
        write::region(3, &mark(b"sweep"), ByteOrder::Little, &mut bytes).unwrap();
        write::region(4, &mark(b"other"), ByteOrder::Little, &mut bytes).unwrap();
        let (mut decoder, mut rest, mut found) =
            (StreamDecoder::new(), bytes.as_slice(), Vec::new());
        while let StreamStep::Record { consumed, record } = decoder.step(rest).unwrap() {
            if let StreamRecord::Region(mark) = record {
                found.push(mark.name.to_vec());
            }
            rest = &rest[consumed..];
        }
        assert_eq!(
            found,
            [b"sweep", b"other"],
            "marks are of threads, whatever event carries them"
        );
        assert_eq!(decoder.tally().unreadable(), None);
        assert!(decoder.events()[0].notes.is_empty() && decoder.events()[0].unit.is_none());
    }
}
