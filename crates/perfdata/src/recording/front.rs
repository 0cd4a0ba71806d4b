//! What a file says before its first record: events, ids, the machine.

use super::file_header::{FileHeader, Section};
use crate::bytes::{ByteOrder, Cursor, RecordWords};
use crate::header::RecordType;
use crate::stream::{FeatureId, MOST_EVENTS, StreamDecoder, StreamError, StreamRecord, most_of};
use std::collections::VecDeque;

/// Bytes of ids that are wanted at once.
const IDS: u64 = 1 << 16;
/// A name of an event before Linux 3.10: config and 64 bytes of text.
const EVENT_TYPE: u64 = 72;

#[derive(Debug)]
pub(super) enum FrontStep {
    /// So many bytes from the same place.
    NeedMore(usize),
    /// Bytes from this place on.
    Seek(u64),
    Record(StreamRecord<'static>),
    Done,
}

/// What is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The attr and section of ids that start here.
    Entry(u64),
    /// The first of `entries`: where its ids are.
    Section,
    /// Its ids, from this byte of the section on.
    Ids(u64),
    /// The table of features.
    Table,
    /// The first of `features`.
    Feature,
    /// The name of an event that starts here.
    EventType(u64),
    Done,
}

/// An attr whose ids are not read yet.
#[derive(Debug)]
struct Entry {
    offset: u64,
    attr: Vec<u8>,
    ids: Section,
}

/// Reads what stands around the data.
#[derive(Debug)]
pub(super) struct Front {
    header: FileHeader,
    order: ByteOrder,
    length: u64,
    /// Where the input starts.
    at: u64,
    place: Place,
    entries: VecDeque<Entry>,
    ids: Vec<u64>,
    features: VecDeque<(FeatureId, Section)>,
    /// Bytes of ids and features that a file of this length can have:
    /// sections that overlap would make much of little.
    budget: u64,
}

enum Absent {
    NeedMore(usize),
    Seek(u64),
}

impl From<Absent> for FrontStep {
    fn from(absent: Absent) -> FrontStep {
        match absent {
            Absent::NeedMore(bytes) => FrontStep::NeedMore(bytes),
            Absent::Seek(offset) => FrontStep::Seek(offset),
        }
    }
}

impl Front {
    /// Of a file of `length` bytes whose input starts at its first byte.
    pub(super) fn new(header: FileHeader, order: ByteOrder, length: u64) -> Front {
        let place = Place::Entry(header.attrs.offset);
        Front {
            header,
            order,
            length,
            at: 0,
            place,
            entries: VecDeque::new(),
            ids: Vec::new(),
            features: VecDeque::new(),
            budget: length,
        }
    }

    pub(super) fn step(&mut self, stream: &mut StreamDecoder, input: &[u8]) -> FrontStep {
        loop {
            let step = match self.place {
                Place::Entry(offset) => self.entry(offset, input),
                Place::Section => self.section(stream),
                Place::Ids(next) => self.ids(next, stream, input),
                Place::Table => self.table(stream, input),
                Place::Feature => self.feature(stream, input),
                Place::EventType(offset) => self.event_type(offset, stream, input),
                Place::Done => Some(FrontStep::Done),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn bytes<'a>(&mut self, section: Section, input: &'a [u8]) -> Result<&'a [u8], Absent> {
        let Section { offset, size } = section;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let skipped = offset.checked_sub(self.at).and_then(|skipped| usize::try_from(skipped).ok());
        let there = skipped.and_then(|skipped| input.get(skipped..)?.get(..size));
        match there {
            Some(bytes) => Ok(bytes),
            None if offset == self.at => Err(Absent::NeedMore(size)),
            None => {
                self.at = offset;
                Err(Absent::Seek(offset))
            }
        }
    }

    fn entry(&mut self, offset: u64, input: &[u8]) -> Option<FrontStep> {
        let size = self.header.entry;
        // Both are within the file: neither sum overflows.
        if offset + size > self.header.attrs.offset + self.header.attrs.size
            // One more than is kept is read, so that it is refused and told.
            || self.entries.len() as u64 > u64::from(MOST_EVENTS)
        {
            self.place = Place::Section;
            return None;
        }
        let bytes = match self.bytes(Section { offset, size }, input) {
            Ok(bytes) => bytes,
            Err(absent) => return Some(absent.into()),
        };
        let (attr, ids) = bytes.split_at(bytes.len() - 16);
        let ids = Section::decode(&mut Cursor::new(ids, self.order)).unwrap_or_default();
        self.entries.push_back(Entry { offset, attr: attr.to_vec(), ids });
        self.place = Place::Entry(offset + size);
        None
    }

    /// Checks where the ids of an event are: once, whatever input there is.
    fn section(&mut self, stream: &mut StreamDecoder) -> Option<FrontStep> {
        let Some(entry) = self.entries.front_mut() else {
            self.place = Place::Table;
            return None;
        };
        self.place = Place::Ids(0);
        let Section { offset, size } = entry.ids;
        let (what, length) = ("a section of ids", self.length);
        let error = match (entry.ids.is_within(length), self.budget.checked_sub(size)) {
            (true, Some(left)) => {
                self.budget = left;
                return None;
            }
            (true, None) => StreamError::Overlap { what, offset },
            (false, _) => StreamError::Section { what, offset, size, length },
        };
        // One event needs none, and of several the others have theirs.
        entry.ids = Section::default();
        Some(FrontStep::Record(stream.unreadable(RecordType::HEADER_ATTR, error)))
    }

    fn ids(&mut self, next: u64, stream: &mut StreamDecoder, input: &[u8]) -> Option<FrontStep> {
        let Section { offset, size } = self.entries.front().map(|it| it.ids).unwrap_or_default();
        let left = (size - next) / 8 * 8;
        if left > 0 {
            let piece = Section { offset: offset + next, size: left.min(IDS) };
            let bytes = match self.bytes(piece, input) {
                Ok(bytes) => bytes,
                Err(absent) => return Some(absent.into()),
            };
            self.ids.extend(RecordWords::new(bytes, self.order).iter());
            self.place = Place::Ids(next + piece.size);
            return None;
        }
        self.place = Place::Section;
        let entry = self.entries.pop_front()?;
        let ids = std::mem::take(&mut self.ids);
        Some(FrontStep::Record(stream.describe(entry.offset, &entry.attr, ids)))
    }

    fn table(&mut self, stream: &mut StreamDecoder, input: &[u8]) -> Option<FrontStep> {
        self.place = Place::Feature;
        let count = self.header.features.len() as u64;
        // A recorder that did not finish has not written them.
        if self.header.data.size == 0 || count == 0 {
            return None;
        }
        let offset = self.header.data.end().unwrap_or(u64::MAX);
        let table = Section { offset, size: count * FileHeader::SECTION };
        if !table.is_within(self.length) {
            // Data that are cut off say that by themselves.
            if offset > self.length {
                return None;
            }
            let error = StreamError::FeatureTable { offset, length: self.length };
            return Some(FrontStep::Record(stream.unreadable(RecordType::HEADER_FEATURE, error)));
        }
        let bytes = match self.bytes(table, input) {
            Ok(bytes) => bytes,
            Err(absent) => {
                self.place = Place::Table;
                return Some(absent.into());
            }
        };
        let mut cursor = Cursor::new(bytes, self.order);
        for &id in &self.header.features {
            let section = Section::decode(&mut cursor).unwrap_or_default();
            self.features.push_back((id, section));
        }
        // Names go to the events before others may.
        self.features.make_contiguous().sort_by_key(|(id, _)| *id != FeatureId::EVENT_DESC);
        None
    }

    fn feature(&mut self, stream: &mut StreamDecoder, input: &[u8]) -> Option<FrontStep> {
        let Some(&(id, section)) = self.features.front() else {
            self.place = Place::EventType(self.header.event_types.offset);
            return None;
        };
        let Section { offset, size } = section;
        let length = self.length;
        if section.is_within(length) && id.is_skipped() {
            self.features.pop_front();
            return Some(FrontStep::Record(stream.pass_feature(offset, id, size)));
        }
        let error = match (section.is_within(length), size > most_of(id), size > self.budget) {
            (false, ..) => StreamError::FeatureSection { id, offset, size, length },
            (_, true, _) => StreamError::FeatureSize { id, offset, size },
            (.., true) => StreamError::Overlap { what: "a feature", offset },
            _ => {
                let bytes = match self.bytes(section, input) {
                    Ok(bytes) => bytes,
                    Err(absent) => return Some(absent.into()),
                };
                self.features.pop_front();
                self.budget -= size;
                return Some(FrontStep::Record(stream.learn(offset, id, bytes)));
            }
        };
        self.features.pop_front();
        Some(FrontStep::Record(stream.unreadable(RecordType::HEADER_FEATURE, error)))
    }

    /// Only for recorders that tell no other names.
    fn event_type(
        &mut self,
        offset: u64,
        stream: &mut StreamDecoder,
        input: &[u8],
    ) -> Option<FrontStep> {
        let types = self.header.event_types;
        let next = Section { offset, size: EVENT_TYPE };
        if !types.is_within(self.length) || next.end() > types.end() {
            self.place = Place::Done;
            return None;
        }
        let bytes = match self.bytes(next, input) {
            Ok(bytes) => bytes,
            Err(absent) => return Some(absent.into()),
        };
        self.place = Place::EventType(offset + EVENT_TYPE);
        let named = stream.event_type(&mut Cursor::new(bytes, self.order));
        named.ok().map(FrontStep::Record)
    }
}
