//! Bytes of a stream, in pieces of any size, to records. No I/O.

mod describe;
mod part;
mod tally;

pub use tally::{Tally, Unreadable};

use super::description::EventDescription;
use super::detail::BuildId;
use super::error::StreamError;
use super::features::Features;
use super::magic::Magic;
use super::route::{Route, Routed};
use super::write;
use crate::bytes::{ByteOrder, Cursor};
use crate::header::{Misc, RecordHeader, RecordType};
use crate::side::{SampleId, SideRecord};
use std::collections::{BTreeMap, VecDeque};

/// Types from here on are made by recorders, never by the kernel, and have
/// no trailer (PERF_RECORD_USER_TYPE_START).
const USER_TYPES: u32 = 64;

/// What [`Decoder::step`] found at the front of its input.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "matched at once, never kept: a box would cost more")]
pub enum Step<'a> {
    /// Call again with at least so many bytes from the same position.
    NeedMore(usize),
    /// A record.
    Record {
        /// Bytes it took; the next step wants what comes after them.
        consumed: usize,
        /// The record.
        record: StreamRecord<'a>,
    },
}

/// One record of a stream.
#[derive(Debug, PartialEq)]
pub enum StreamRecord<'a> {
    /// The stream's 16 bytes of header.
    FileHeader,
    /// An event was described: it is now `events()[index]`.
    Event(usize),
    /// `features()` learned something.
    Feature,
    /// `events()[index]` learned something.
    EventUpdate(usize),
    /// A sample, to be decoded with `events()[event].layout`.
    Sample {
        /// Index into `events()`.
        event: usize,
        /// Misc of its header.
        misc: Misc,
        /// Bytes after its header.
        payload: &'a [u8],
    },
    /// Another record of the kernel, or one that looks like it.
    Side {
        /// Index into `events()`.
        event: usize,
        /// Misc of its header.
        misc: Misc,
        /// Its body.
        record: SideRecord<'a>,
        /// Its trailer.
        id: SampleId,
    },
    /// Every ring has been drained once more.
    FinishedRound,
    /// Descriptions of what was there before the recording have ended.
    FinishedInit,
    /// A record that says nothing here, or that belongs to no event; counted
    /// in [`Decoder::tally`].
    Skipped(RecordType),
    /// A record whose fields cannot be read though its size is good: the
    /// next one can be. Counted in [`Tally::unreadable`].
    Unreadable {
        /// Its type.
        kind: RecordType,
        /// Where it is and why.
        error: StreamError,
    },
    /// Bytes that follow a record of this type outside its size, in as many
    /// pieces as the input came in.
    Payload(RecordType),
    /// More of a zstd stream that holds records; only for who unpacks it
    /// ([`crate::recording::Decoder`] does, and never gives this).
    Packed {
        /// COMPRESSED or COMPRESSED2.
        kind: RecordType,
        /// Bytes of the zstd stream.
        data: &'a [u8],
    },
}

/// A sample, as in [`StreamRecord::Sample`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled<'a> {
    /// Bytes of the record.
    pub size: usize,
    /// Index into `events()`.
    pub event: usize,
    /// Misc of its header.
    pub misc: Misc,
    /// Its body.
    pub payload: &'a [u8],
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// The stream's header.
    Start,
    /// A record.
    Record,
    /// Bytes outside records, at least one, that belong to the one before.
    Payload { kind: RecordType, left: u64 },
}

/// Reads one stream. Input is the caller's: see [`Decoder::step`].
#[derive(Debug)]
pub struct Decoder {
    order: ByteOrder,
    position: Position,
    offset: u64,
    /// What the last NeedMore asked for.
    wanted: usize,
    events: Vec<EventDescription>,
    route: Route,
    /// By config, events that had no name when they were described.
    unnamed: BTreeMap<u64, VecDeque<usize>>,
    features: Features,
    tally: Tally,
    packed: Packed,
}

/// What becomes of COMPRESSED records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packed {
    /// They are an error: whoever steps does not unpack.
    Refused,
    /// They are given as [`StreamRecord::Packed`].
    Given,
    /// The bytes are unpacked ones: nothing in them may follow a record
    /// outside its size or be packed again.
    Inside,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new()
    }
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Decoder {
        Decoder {
            order: ByteOrder::Little,
            position: Position::Start,
            offset: 0,
            wanted: 0,
            events: Vec::new(),
            route: Route::new(),
            unnamed: BTreeMap::new(),
            features: Features::default(),
            tally: Tally::default(),
            packed: Packed::Refused,
        }
    }

    /// Looks at the front of `input`, which starts where the last record
    /// ended. A record is never more than 65,535 bytes, so a buffer of that
    /// size always gets on.
    ///
    /// # Errors
    /// Bytes that are no stream, a record shorter than it can be, an event
    /// that is not understood, compression. There is no going on after an
    /// error: nothing says where or what the next record is. A record that
    /// costs only itself is [`StreamRecord::Unreadable`].
    #[inline]
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, StreamError> {
        if self.position != Position::Record {
            return self.between_records(input);
        }
        let Some(front) = input.first_chunk() else { return Ok(self.need(RecordHeader::SIZE)) };
        let header = self.header(*front);
        let size = usize::from(header.size);
        let Some(payload) = input.get(RecordHeader::SIZE..size) else {
            return self.incomplete(header);
        };
        let record = match header.kind {
            RecordType::SAMPLE => self.routed_sample(header, payload),
            _ => self.other(header, payload)?,
        };
        self.go_on(u64::from(header.size));
        self.tally.count(header.kind);
        Ok(Step::Record { consumed: size, record })
    }

    /// The sample that `input`, as for [`Decoder::step`], begins with; None
    /// where a step would give or ask for anything else. What matters is
    /// what it saves: handing on a step, which has room for any record, took
    /// a quarter of a report's time.
    #[inline]
    pub fn sample<'a>(&mut self, input: &'a [u8]) -> Option<Sampled<'a>> {
        if self.position != Position::Record {
            return None;
        }
        let header = self.header(*input.first_chunk()?);
        if header.kind != RecordType::SAMPLE {
            return None;
        }
        let size = usize::from(header.size);
        let payload = input.get(RecordHeader::SIZE..size)?;
        let Routed::Event(event) = self.route.sample(payload, self.order) else { return None };
        self.go_on(u64::from(header.size));
        self.tally.count(header.kind);
        Some(Sampled { size, event, misc: header.misc, payload })
    }

    /// Says whether the stream may end here, `leftover` bytes after the last
    /// record.
    ///
    /// # Errors
    /// Where and how much of a record is missing. Everything read before is
    /// good.
    pub fn finish(&self, leftover: usize) -> Result<(), StreamError> {
        let offset = self.offset;
        match (self.position, leftover) {
            (Position::Payload { kind, left: missing }, _) => {
                Err(StreamError::PayloadTruncated { kind, offset, missing })
            }
            (Position::Start, 0) => Err(StreamError::Empty),
            (Position::Record, 0) => Ok(()),
            (_, left) => {
                let wanted = self.wanted.max(left + 1);
                Err(StreamError::Truncated { left, offset, wanted })
            }
        }
    }

    /// One per HEADER_ATTR, in order; one for several that only list more
    /// ids of it ([`write::IDS_A_RECORD`]).
    pub fn events(&self) -> &[EventDescription] {
        &self.events
    }

    /// What the stream said of the machine so far.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Bytes consumed.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The stream's byte order; little-endian before its header.
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Records seen, by type, and those that belong to no event.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    #[inline]
    fn header(&self, front: [u8; RecordHeader::SIZE]) -> RecordHeader {
        let [a, b, c, d, e, f, g, h] = front;
        let (kind, misc, size) = match self.order {
            ByteOrder::Little => (
                u32::from_le_bytes([a, b, c, d]),
                u16::from_le_bytes([e, f]),
                u16::from_le_bytes([g, h]),
            ),
            ByteOrder::Big => (
                u32::from_be_bytes([a, b, c, d]),
                u16::from_be_bytes([e, f]),
                u16::from_be_bytes([g, h]),
            ),
        };
        RecordHeader { kind: RecordType(kind), misc: Misc(misc), size }
    }

    /// A record whose end is not in the input, or before its start.
    #[cold]
    fn incomplete<'a>(&mut self, header: RecordHeader) -> Result<Step<'a>, StreamError> {
        if usize::from(header.size) < RecordHeader::SIZE {
            return Err(self.record_size(header, RecordHeader::SIZE));
        }
        Ok(self.need(usize::from(header.size)))
    }

    #[cold]
    fn between_records<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, StreamError> {
        match self.position {
            Position::Payload { kind, left } if !input.is_empty() => {
                let consumed = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                self.go_on(consumed as u64);
                self.follow_with(kind, left - consumed as u64);
                Ok(Step::Record { consumed, record: StreamRecord::Payload(kind) })
            }
            Position::Payload { .. } => Ok(self.need(1)),
            Position::Start | Position::Record => self.start(input),
        }
    }

    /// Anything but a sample.
    #[inline(never)]
    fn other<'a>(
        &mut self,
        header: RecordHeader,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        let kind = header.kind;
        let result = match kind {
            RecordType(1..USER_TYPES) => self.side(header, payload),
            _ => self.own(header, payload),
        };
        match result {
            Err(error) if error.costs_one_record() => {
                self.tally.note_unreadable(&error);
                Ok(StreamRecord::Unreadable { kind, error })
            }
            result => result,
        }
    }

    #[cold]
    fn need<'a>(&mut self, bytes: usize) -> Step<'a> {
        self.wanted = bytes;
        Step::NeedMore(bytes)
    }

    fn record_size(&self, header: RecordHeader, least: usize) -> StreamError {
        let (kind, size) = (header.kind, header.size);
        StreamError::RecordSize { kind, offset: self.offset, size, least }
    }

    fn start<'a>(&mut self, input: &'a [u8]) -> Result<Step<'a>, StreamError> {
        let Some(magic) = Magic::find(input)? else { return Ok(self.need(Magic::SIZE)) };
        match magic.header_size {
            write::HEADER_SIZE => {}
            size if size >= Magic::SMALLEST_FILE_HEADER => {
                return Err(StreamError::FileForm { size });
            }
            size => return Err(StreamError::HeaderSize { size }),
        }
        self.position = Position::Record;
        self.order = magic.order;
        self.offset = write::HEADER_SIZE;
        Ok(Step::Record { consumed: Magic::SIZE, record: StreamRecord::FileHeader })
    }

    fn follow_with(&mut self, kind: RecordType, bytes: u64) {
        self.position = match bytes {
            0 => Position::Record,
            left => Position::Payload { kind, left },
        };
    }

    #[inline]
    fn routed_sample<'a>(&mut self, header: RecordHeader, payload: &'a [u8]) -> StreamRecord<'a> {
        match self.route.sample(payload, self.order) {
            Routed::Event(event) => StreamRecord::Sample { event, misc: header.misc, payload },
            lost => self.unrouted(header.kind, lost),
        }
    }

    fn side<'a>(
        &mut self,
        header: RecordHeader,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        let event = match self.route.side(payload, self.order) {
            Routed::Event(event) => event,
            lost => return Ok(self.unrouted(header.kind, lost)),
        };
        let Some(description) = self.events.get(event) else {
            return Ok(self.unrouted(header.kind, Routed::NoPlace));
        };
        let (kind, offset) = (header.kind, self.offset);
        let id = description.layout.trailer(payload);
        let id = id.map_err(|reason| StreamError::Trailer { kind, offset, reason })?;
        let end = payload.len().saturating_sub(description.layout.trailer_size());
        let record = SideRecord::decode(header, &payload[..end], self.order);
        let record = record.map_err(|reason| StreamError::Side { offset, reason })?;
        Ok(StreamRecord::Side { event, misc: header.misc, record, id })
    }

    #[cold]
    fn unrouted<'a>(&mut self, kind: RecordType, lost: Routed) -> StreamRecord<'a> {
        match lost {
            Routed::UnknownId => self.tally.unknown_id += 1,
            _ => self.tally.unplaced += 1,
        }
        StreamRecord::Skipped(kind)
    }

    /// Records of the stream itself.
    fn own<'a>(
        &mut self,
        header: RecordHeader,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        let (kind, offset) = (header.kind, self.offset);
        let short = |short| StreamError::Short { kind, offset, short };
        // Without it nothing says how many bytes follow the record.
        let least = |size: usize| self.record_size(header, RecordHeader::SIZE + size);
        let mut cursor = Cursor::new(payload, self.order);
        Ok(match kind {
            RecordType::HEADER_ATTR => self.event(payload)?,
            RecordType::EVENT_UPDATE => self.update(&mut cursor).map_err(short)?,
            RecordType::HEADER_FEATURE => self.feature(&mut cursor)?,
            RecordType::HEADER_EVENT_TYPE => self.event_type(&mut cursor).map_err(short)?,
            RecordType::HEADER_BUILD_ID => {
                let id = BuildId::decode(header.misc, &mut cursor).map_err(short)?;
                self.features.build_ids.push(id);
                StreamRecord::Feature
            }
            RecordType::FINISHED_ROUND => StreamRecord::FinishedRound,
            RecordType::FINISHED_INIT => StreamRecord::FinishedInit,
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => self.packed(kind, payload)?,
            RecordType::HEADER_TRACING_DATA | RecordType::AUXTRACE
                if self.packed == Packed::Inside =>
            {
                return Err(StreamError::Nested { kind, offset });
            }
            RecordType::HEADER_TRACING_DATA => {
                let bytes = u64::from(cursor.u32().map_err(|_| least(4))?);
                self.follow_with(kind, bytes);
                StreamRecord::Skipped(kind)
            }
            RecordType::AUXTRACE => {
                let bytes = cursor.u64().map_err(|_| least(8))?;
                self.follow_with(kind, bytes);
                StreamRecord::Skipped(kind)
            }
            kind => StreamRecord::Skipped(kind),
        })
    }
}

#[cfg(test)]
mod tests;
