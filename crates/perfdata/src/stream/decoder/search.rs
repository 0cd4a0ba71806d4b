//! The next record, where one does not say where it ends.
//!
//! A place is taken for a record's start when everything there fits: its
//! header, its event, all its fields to the last byte, and the header after
//! it. Bytes passed over on the way are told.

use super::{Packed, Position, StreamDecoder, StreamRecord, StreamStep};
use crate::attr::Attr;
use crate::bytes::RecordWords;
use crate::header::{Misc, RecordHeader, RecordType};
use crate::sideband::SidebandRecord;
use crate::stream::error::StreamError;
use crate::stream::feature::{Feature, FeatureId};
use crate::stream::route::Routed;

/// Bits of misc that no record has (PERF_RECORD_MISC_*).
const NO_MISC: u16 = 0x0ff8;
/// Types beyond are no newer recorder's, either: perf's last is 83.
const LAST_TYPE: u32 = 255;

/// Bytes behind the NUL of a name at most.
const PADDING: usize = 7;

/// A record whose end is not known.
#[derive(Debug)]
pub(super) struct Lost {
    kind: RecordType,
    reason: StreamError,
    /// Bytes passed over so far.
    passed: u64,
}

impl Lost {
    fn error(&self, leftover: usize) -> StreamError {
        match &self.reason {
            cut @ StreamError::Truncated { .. } => cut.clone(),
            reason => StreamError::Lost {
                reason: Box::new(reason.clone()),
                bytes: self.passed + leftover as u64,
            },
        }
    }
}

enum Next {
    At(usize),
    /// Not before this place; to look there needs so many bytes of input.
    NotBefore(usize, usize),
}

impl RecordType {
    /// Whether a recorder may write such records, now or later.
    pub(super) fn is_possible(self) -> bool {
        (1..=LAST_TYPE).contains(&self.0)
    }
}

impl StreamDecoder {
    /// The record in front cannot be, and its size cannot be trusted: looks
    /// for the next one from here on.
    #[cold]
    pub(super) fn lose<'a>(
        &mut self,
        kind: RecordType,
        reason: StreamError,
        input: &'a [u8],
    ) -> StreamStep<'a> {
        self.lost = Some(Box::new(Lost { kind, reason, passed: 0 }));
        self.position = Position::Lost;
        self.search(input)
    }

    /// The record in front is cut off by the end of the data: others may be
    /// in it when its size is wrong. False when that was tried.
    pub(crate) fn lose_cut(&mut self, left: usize) -> bool {
        if self.position != Position::Record {
            return false;
        }
        let reason = StreamError::Truncated { left, offset: self.offset, wanted: self.wanted };
        let kind = RecordType::SAMPLE;
        self.lost = Some(Box::new(Lost { kind, reason, passed: 0 }));
        self.position = Position::Lost;
        true
    }

    /// Whether what comes next is a record: neither the bytes that follow one
    /// nor some that are passed over.
    pub(crate) fn expects_record(&self) -> bool {
        self.position == Position::Record
    }

    /// Bytes passed over in search of a record that was not found yet.
    pub(crate) fn passed(&self) -> u64 {
        self.lost.as_ref().map_or(0, |lost| lost.passed)
    }

    /// Whether the bytes of the record given last were passed over.
    #[inline]
    pub(crate) fn has_passed(&self, record: &StreamRecord<'_>) -> bool {
        match record {
            StreamRecord::Payload(_) => self.position == Position::Lost,
            StreamRecord::Unreadable { error, .. } => {
                matches!(error, StreamError::PassedOver { .. })
            }
            _ => false,
        }
    }

    /// Allows so many more unpacked bytes to be searched for a record: a few packed
    /// bytes may be gigabytes of nothing.
    pub(crate) fn allow_search_inside(&mut self, bytes: u64) {
        self.search_inside = self.search_inside.saturating_add(bytes);
    }

    /// Whether a record is looked for among the unpacked ones, and no more may be
    /// searched.
    pub(crate) fn is_search_spent(&self) -> bool {
        self.inside.1.is_some() && self.search_inside == 0
    }

    fn note_search(&mut self, bytes: usize) {
        if self.packed == Packed::Inside {
            self.search_inside = self.search_inside.saturating_sub(bytes as u64);
        }
    }

    /// No unpacked record is looked for any more; what that was about, or
    /// `otherwise`.
    pub(crate) fn stop_inside(&mut self, otherwise: StreamError) -> StreamError {
        let lost = std::mem::replace(&mut self.inside, (Position::Record, None)).1;
        lost.map_or(otherwise, |lost| lost.error(0))
    }

    pub(crate) fn lost_inside(&self, leftover: usize) -> Option<StreamError> {
        let lost = self.inside.1.as_ref()?;
        Some(lost.error(leftover))
    }

    pub(super) fn lost_error(&self, leftover: usize) -> Option<StreamError> {
        self.lost.as_ref().map(|lost| lost.error(leftover))
    }

    /// Goes on looking: input starts at a place where no record does.
    #[cold]
    pub(super) fn search<'a>(&mut self, input: &'a [u8]) -> StreamStep<'a> {
        let next = self.next_record(input);
        let (Next::At(searched) | Next::NotBefore(searched, _)) = &next;
        self.note_search(*searched);
        let (kind, passed) = match (&mut self.lost, &next) {
            (Some(lost), Next::At(consumed) | Next::NotBefore(consumed, _)) => {
                lost.passed += *consumed as u64;
                (lost.kind, lost.passed)
            }
            (None, _) => (RecordType::SAMPLE, 0),
        };
        match next {
            Next::NotBefore(0, wanted) => self.need(wanted),
            Next::NotBefore(consumed, _) => {
                self.go_on(consumed as u64);
                StreamStep::Record { consumed, record: StreamRecord::Payload(kind) }
            }
            Next::At(consumed) => {
                self.go_on(consumed as u64);
                self.position = Position::Record;
                let reason = self.lost.take().map_or(StreamError::Empty, |lost| lost.reason);
                let (reason, to) = (Box::new(reason), self.offset);
                let error = StreamError::PassedOver { reason, bytes: passed, to };
                self.tally.note_unreadable(&error);
                StreamStep::Record { consumed, record: StreamRecord::Unreadable { kind, error } }
            }
        }
    }

    /// The first place after the first byte where a record starts.
    fn next_record(&mut self, input: &[u8]) -> Next {
        let mut at = 1;
        while let Some(front) = input.get(at..).and_then(|rest| rest.first_chunk()) {
            let header = self.header(*front);
            let size = usize::from(header.size);
            let end = at + size;
            let left = match self.packed {
                Packed::Inside => u64::MAX,
                Packed::Refused | Packed::Given => self.end.saturating_sub(self.offset),
            };
            if could_be(header) && end as u64 <= left {
                let after = if end as u64 == left { 0 } else { RecordHeader::SIZE };
                let Some(record) = input.get(at..end + after) else {
                    return Next::NotBefore(at - 1, end + after - (at - 1));
                };
                let (record, following) = record.split_at(size);
                if self.is_record(header, &record[RecordHeader::SIZE..])
                    && following.first_chunk().is_none_or(|front| could_follow(self.header(*front)))
                {
                    return Next::At(at);
                }
            }
            at += 1;
        }
        Next::NotBefore(at - 1, 1 + RecordHeader::SIZE)
    }

    /// Whether a record is one to the last byte.
    fn is_record(&mut self, header: RecordHeader, payload: &[u8]) -> bool {
        match header.kind {
            RecordType::SAMPLE => {
                let Routed::Event(event) = self.route.sample(payload, self.order) else {
                    return false;
                };
                let event = self.events.get(event);
                event.is_some_and(|it| it.layout.decode(header.misc, payload).is_ok())
            }
            RecordType(1..super::USER_TYPES) => self.is_side(header, payload),
            RecordType::FINISHED_ROUND | RecordType::FINISHED_INIT => payload.is_empty(),
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => self.packed != Packed::Inside,
            RecordType::HEADER_ATTR => Attr::decode(payload, self.order).is_ok(),
            RecordType::HEADER_FEATURE => {
                let id = RecordWords::new(payload, self.order).get(0).map(FeatureId);
                id.is_some_and(|id| {
                    id <= FeatureId::LAST && Feature::decode(id, &payload[8..], self.order).is_ok()
                })
            }
            RecordType::EVENT_UPDATE => {
                let words = RecordWords::new(payload, self.order);
                let id = words.get(1).filter(|_| words.get(0).is_some_and(|kind| kind < 4));
                id.is_some_and(|id| self.route.by_id(id).is_some())
            }
            _ => false,
        }
    }

    fn is_side(&mut self, header: RecordHeader, payload: &[u8]) -> bool {
        let routed = self.route.side(payload, self.order);
        matches!(routed, Routed::Event(_)) && self.is_exact(header, payload, routed)
    }

    /// Whether a sideband record is written again as it is, of its event or, when
    /// that is not known, of the first. Behind a name there may be rests of
    /// another, which old perfs write, or more zeros than its length needs:
    /// recorders have room for the longest name.
    pub(super) fn is_exact(&self, header: RecordHeader, payload: &[u8], routed: Routed) -> bool {
        let event = match routed {
            Routed::Event(event) => self.events.get(event),
            Routed::UnknownId | Routed::NoPlace => self.events.first(),
        };
        let trailer = event.map_or(0, |event| event.layout.trailer_size());
        let Some(end) = payload.len().checked_sub(trailer) else { return false };
        let (body, trailer) = payload.split_at(end);
        let Ok(record) = SidebandRecord::decode(header, body, self.order) else { return false };
        let mut again = Vec::with_capacity(RecordHeader::SIZE + payload.len());
        let encoded = record.encode(header.misc, trailer, self.order, &mut again).is_ok();
        let again = again.get(RecordHeader::SIZE..).unwrap_or_default();
        let Some(end) = again.len().checked_sub(trailer.len()).filter(|_| encoded) else {
            return false;
        };
        let Some((body, padding)) = body.split_at_checked(end) else { return false };
        let is_padded = has_name(header.kind) && padding.len().is_multiple_of(8);
        let is_nothing = is_padded && padding.iter().all(|byte| *byte == 0);
        if !(padding.is_empty() || is_nothing) {
            return false;
        }
        let zeros = again[..end].iter().rev().take(PADDING).take_while(|byte| **byte == 0).count();
        again[..end - zeros] == body[..end - zeros]
    }

    /// Whether a record that can be read, but not to the last byte, holds
    /// another one, or `begun` one: its size is wrong then.
    #[cold]
    pub(super) fn holds_another(&mut self, payload: &[u8], begun: bool) -> bool {
        self.note_search(payload.len());
        if self.packed == Packed::Inside && self.search_inside == 0 {
            return true;
        }
        (0..payload.len()).step_by(8).any(|at| {
            let rest = &payload[at..];
            let Some(front) = rest.first_chunk() else { return false };
            let header = self.header(*front);
            if !could_be(header) || header.kind.0 >= super::USER_TYPES {
                return false;
            }
            let size = usize::from(header.size);
            let after = rest.get(size..).and_then(|after| after.first_chunk());
            match rest.get(RecordHeader::SIZE..size) {
                Some(record) => {
                    self.is_record(header, record)
                        && after.is_none_or(|front| could_follow(self.header(*front)))
                }
                None => begun,
            }
        })
    }
}

/// Whether this may be the header of a record that can be told from chance.
fn could_be(header: RecordHeader) -> bool {
    let RecordHeader { kind, misc, size } = header;
    match kind {
        RecordType(1..=22) => {
            (8..=longest(kind)).contains(&size) && size % 8 == 0 && misc.0 & NO_MISC == 0
        }
        RecordType::FINISHED_ROUND | RecordType::FINISHED_INIT => size == 8 && misc == Misc(0),
        RecordType::COMPRESSED | RecordType::COMPRESSED2 => size > 16 && misc == Misc(0),
        RecordType::HEADER_ATTR | RecordType::HEADER_FEATURE | RecordType::EVENT_UPDATE => {
            size > 16 && size % 8 == 0 && misc == Misc(0)
        }
        _ => false,
    }
}

fn could_follow(header: RecordHeader) -> bool {
    let RecordHeader { kind, size, .. } = header;
    kind.name().is_some() && (8..=longest(kind)).contains(&size)
}

/// Whether a name is the last field of a kind.
pub(super) fn has_name(kind: RecordType) -> bool {
    use RecordType as Type;
    [Type::MMAP, Type::MMAP2, Type::COMM, Type::KSYMBOL, Type::CGROUP].contains(&kind)
}

/// Bytes that the kernel writes in a record of a kind at most, with room for
/// fields to come.
fn longest(kind: RecordType) -> u16 {
    match kind {
        // A path of PATH_MAX, or names, and some numbers.
        RecordType::MMAP
        | RecordType::MMAP2
        | RecordType::COMM
        | RecordType::NAMESPACES
        | RecordType::KSYMBOL
        | RecordType::CGROUP => 8192,
        // perf_event_validate_size().
        RecordType::READ => 16_384,
        RecordType::SAMPLE | RecordType::TEXT_POKE | RecordType::CALLCHAIN_DEFERRED => u16::MAX,
        RecordType(1..super::USER_TYPES) => 512,
        _ => u16::MAX,
    }
}
