//! Bytes of a stream, in pieces of any size, to records. No I/O.

mod budget;
mod describe;
mod early_names;
mod part;
mod record;
mod search;
mod tally;
mod trace;

pub(crate) use budget::most_of;
pub use tally::{RecordTally, Unreadable};

use super::description::EventDescription;
use super::error::StreamError;
use super::features::Features;
use super::magic::Magic;
use super::route::Route;
use super::sample_record::SampleRecord;
use super::tracepoint_names::TracepointNames;
use super::write;
use crate::aggregate::AggregatePart;
use crate::bytes::ByteOrder;
use crate::header::{Misc, RecordHeader, RecordType};
use crate::kernel_list::KernelListAssembler;
use crate::region::RegionMark;
use crate::sideband::{SampleId, SidebandRecord};
use budget::Budget;
use describe::Unnamed;
use early_names::EarlyNames;
use search::Lost;
use std::collections::{BTreeMap, VecDeque};
use trace::Trace;

/// Types from here on are made by recorders, never by the kernel, and have
/// no trailer (PERF_RECORD_USER_TYPE_START).
const USER_TYPES: u32 = 64;

/// What [`StreamDecoder::step`] found at the front of its input.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "matched at once, never kept: a box would cost more")]
pub enum StreamStep<'a> {
    /// Call again with at least so many bytes from the same position.
    NeedMore(usize),
    Record {
        /// Bytes it took; the next step wants what comes after them.
        consumed: usize,
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
    /// Some of what the kernel counted of an event instead of writing
    /// samples; [`AggregateAssembler`](crate::aggregate::AggregateAssembler) puts parts
    /// together.
    Aggregate {
        /// Index into `events()`.
        event: usize,
        part: AggregatePart,
    },
    /// A part of the kernel's symbols; with the last one they are all in
    /// [`Features::kernel_list`].
    KernelList {
        /// Whether it is the last.
        is_whole: bool,
    },
    /// A thread has come to a side of a region that its program names.
    Region(RegionMark<'a>),
    /// A sample. One that does not decode is counted in [`RecordTally::unreadable`], too.
    Sample(SampleRecord<'a>),
    /// Another record of the kernel, or one that looks like it.
    Sideband {
        /// Index into `events()`.
        event: usize,
        /// Misc of its header.
        misc: Misc,
        record: SidebandRecord<'a>,
        id: SampleId,
    },
    /// Every ring has been drained once more.
    FinishedRound,
    /// Descriptions of what was there before the recording have ended.
    FinishedInit,
    /// A record that says nothing here, or that belongs to no event; counted
    /// in [`StreamDecoder::tally`].
    Skipped(RecordType),
    /// A record that cannot be read; the next one can be. Counted in
    /// [`RecordTally::unreadable`].
    Unreadable {
        kind: RecordType,
        /// Where it is and why.
        error: StreamError,
    },
    /// Bytes that follow a record of this type outside its size, or that are
    /// passed over in search of the record after it; in as many pieces as the
    /// input came in.
    Payload(RecordType),
    /// More of a zstd stream that holds records; only for who unpacks it
    /// ([`crate::recording::RecordingDecoder`] does, and never gives this).
    Packed {
        /// COMPRESSED or COMPRESSED2.
        kind: RecordType,
        /// Bytes of the zstd stream.
        data: &'a [u8],
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// The stream's header.
    Start,
    Record,
    /// Bytes outside records, at least one, that belong to the one before.
    Payload {
        kind: RecordType,
        left: u64,
    },
    /// Bytes that are no record.
    Lost,
}

/// Reads one stream. Input is the caller's: see [`StreamDecoder::step`].
#[derive(Debug)]
pub struct StreamDecoder {
    order: ByteOrder,
    position: Position,
    lost: Option<Box<Lost>>,
    offset: u64,
    /// Where the records end, when that is known.
    end: u64,
    /// What the last NeedMore asked for.
    wanted: usize,
    events: Vec<EventDescription>,
    route: Route,
    /// Events that had no name when they were described, in that order.
    unnamed: BTreeMap<Unnamed, VecDeque<usize>>,
    early_names: EarlyNames,
    /// Records of some types are another maker's, not what perf has the types for.
    has_foreign_types: bool,
    features: Features,
    kernel_list: KernelListAssembler,
    budget: Budget,
    tally: RecordTally,
    trace: Trace,
    tracepoints: TracepointNames,
    packed: Packed,
    /// Position and what is lost of the unpacked records.
    inside: (Position, Option<Box<Lost>>),
    /// Unpacked bytes that may be searched for a record.
    search_inside: u64,
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

impl Default for StreamDecoder {
    fn default() -> Self {
        StreamDecoder::new()
    }
}

impl StreamDecoder {
    /// A decoder at the start of a stream.
    pub fn new() -> StreamDecoder {
        StreamDecoder {
            order: ByteOrder::Little,
            position: Position::Start,
            lost: None,
            offset: 0,
            end: u64::MAX,
            wanted: 0,
            events: Vec::new(),
            route: Route::new(),
            unnamed: BTreeMap::new(),
            early_names: EarlyNames::default(),
            has_foreign_types: false,
            features: Features::default(),
            kernel_list: KernelListAssembler::default(),
            budget: Budget::default(),
            tally: RecordTally::default(),
            trace: Trace::default(),
            tracepoints: TracepointNames::default(),
            packed: Packed::Refused,
            inside: (Position::Record, None),
            search_inside: 0,
        }
    }

    /// Looks at the front of `input`, which starts where the last record
    /// ended. A record is never more than 65,535 bytes, so a buffer of that
    /// size and 16 always gets on.
    ///
    /// # Errors
    /// Bytes that are no stream, or compression. There is no going on after
    /// an error. A record that cannot be read is
    /// [`StreamRecord::Unreadable`]; when nothing says where it ends, it
    /// reaches up to the next bytes that are a record beyond doubt.
    #[inline]
    pub fn step<'a>(&mut self, input: &'a [u8]) -> Result<StreamStep<'a>, StreamError> {
        if self.position != Position::Record {
            return self.between_records(input);
        }
        let Some(front) = input.first_chunk() else { return Ok(self.need(RecordHeader::SIZE)) };
        let header = self.header(*front);
        let size = usize::from(header.size);
        let Some(payload) = input.get(RecordHeader::SIZE..size) else {
            return Ok(self.incomplete(header, input));
        };
        let record = match header.kind {
            RecordType::SAMPLE => self.routed_sample(header, payload),
            _ => self.other(header, payload),
        };
        let record = match record {
            Ok(record) => record,
            Err(error) => return self.broken(header.kind, error, input),
        };
        self.go_on(u64::from(header.size));
        self.tally.count(header.kind);
        Ok(StreamStep::Record { consumed: size, record })
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
            (Position::Lost, left) => self.lost_error(left).map_or(Ok(()), Err),
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
    pub fn tally(&self) -> &RecordTally {
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
    fn incomplete<'a>(&mut self, header: RecordHeader, input: &'a [u8]) -> StreamStep<'a> {
        let error = match usize::from(header.size) {
            0..RecordHeader::SIZE => self.record_size(header, RecordHeader::SIZE),
            _ if !header.kind.is_possible() => self.no_type(header),
            size => return self.need(size),
        };
        self.lose(header.kind, error, input)
    }

    /// A record that cannot be read, or a stream that cannot be.
    #[cold]
    fn broken<'a>(
        &mut self,
        kind: RecordType,
        error: StreamError,
        input: &'a [u8],
    ) -> Result<StreamStep<'a>, StreamError> {
        match error {
            StreamError::Compressed { .. } => Err(error),
            error => Ok(self.lose(kind, error, input)),
        }
    }

    fn misfit(&self, header: RecordHeader) -> StreamError {
        let (kind, size) = (header.kind, header.size);
        StreamError::Misfit { kind, offset: self.offset, size }
    }

    fn no_type(&self, header: RecordHeader) -> StreamError {
        StreamError::RecordType { kind: header.kind.0, offset: self.offset }
    }

    #[cold]
    fn between_records<'a>(&mut self, input: &'a [u8]) -> Result<StreamStep<'a>, StreamError> {
        match self.position {
            Position::Payload { kind, left } if !input.is_empty() => {
                let consumed = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
                if kind == RecordType::HEADER_TRACING_DATA {
                    self.name_tracepoints(&input[..consumed]);
                }
                self.go_on(consumed as u64);
                self.follow_with(kind, left - consumed as u64);
                Ok(StreamStep::Record { consumed, record: StreamRecord::Payload(kind) })
            }
            Position::Payload { .. } => Ok(self.need(1)),
            Position::Lost => Ok(self.search(input)),
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
            kind if !kind.is_possible() => Err(self.no_type(header)),
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
    fn need<'a>(&mut self, bytes: usize) -> StreamStep<'a> {
        self.wanted = bytes;
        StreamStep::NeedMore(bytes)
    }

    fn record_size(&self, header: RecordHeader, least: usize) -> StreamError {
        let (kind, size) = (header.kind, header.size);
        StreamError::RecordSize { kind, offset: self.offset, size, least }
    }

    fn start<'a>(&mut self, input: &'a [u8]) -> Result<StreamStep<'a>, StreamError> {
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
        Ok(StreamStep::Record { consumed: Magic::SIZE, record: StreamRecord::FileHeader })
    }

    fn follow_with(&mut self, kind: RecordType, bytes: u64) {
        self.position = match bytes {
            0 => Position::Record,
            left => Position::Payload { kind, left },
        };
    }
}

#[cfg(test)]
mod tests;
