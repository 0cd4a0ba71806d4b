//! Writing a stream: each function appends one record to a buffer.
//!
//! A stream is [`file_header`], one [`attr`] an event, then names, notes and
//! [`feature`]s, then the kernel's records as they are, each pass over the
//! rings ended by [`finished_round`].

use super::feature::{Feature, FeatureId};
use crate::aggregate::{Aggregate, AggregatePart, AggregatePartError};
use crate::attr::{Attr, AttrError};
use crate::bytes::{ByteOrder, ByteWriter};
use crate::header::{Misc, RecordHeader, RecordType, UpdateKind};
use crate::kernel_list::KernelListPart;
use crate::region::RegionMark;

/// "PERFILE2" as a little-endian word.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"PERFILE2");
/// Bytes of the header of a pipe stream.
pub(super) const HEADER_SIZE: u64 = 16;
/// Ids that a HEADER_ATTR of ours has at most. An event with more goes on in
/// the next HEADER_ATTR, with the same attr: [`super::StreamDecoder`] makes one event
/// of them, perf takes them for several of one name.
pub const IDS_A_RECORD: usize = 8_000;

/// Why a record cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("a {kind} record of {size} bytes is beyond the limit of 65,535")]
    TooLong { kind: RecordType, size: usize },
    #[error(transparent)]
    Attr(#[from] AttrError),
    #[error(transparent)]
    Aggregate(#[from] AggregatePartError),
}

/// The 16 bytes that a stream starts with.
pub fn file_header(order: ByteOrder, out: &mut Vec<u8>) {
    let mut w = ByteWriter::new(out, order);
    w.u64(MAGIC);
    w.u64(HEADER_SIZE);
}

/// HEADER_ATTR: describes an event and the ids its records carry.
///
/// # Errors
/// More ids than fit a record (about 8,170; see [`IDS_A_RECORD`]), or an attr
/// that cannot be written.
pub fn attr(
    attr: &Attr,
    ids: &[u64],
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let mut bytes = Vec::new();
    attr.encode(attr.stream_size(), order, &mut bytes)?;
    record(RecordType::HEADER_ATTR, order, out, |w| {
        w.raw(&bytes);
        for &id in ids {
            w.u64(id);
        }
    })
}

/// EVENT_UPDATE with a name: what perf and `ebs` call the event with this id.
///
/// # Errors
/// A name beyond 65,500 bytes.
pub fn event_name(
    id: u64,
    name: &str,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    event_update(UpdateKind::NAME, id, name, order, out)
}

/// EVENT_UPDATE with a unit, or with one of our notes ([`super::note`]).
///
/// # Errors
/// A text beyond 65,500 bytes.
pub fn event_unit(
    id: u64,
    text: &str,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    event_update(UpdateKind::UNIT, id, text, order, out)
}

/// An aggregate of the event with this id: EVENT_UPDATEs with a unit, as notes
/// are, whose text ends before the bytes begin. perf shows nothing of it.
/// `out` stays as it was on error.
///
/// # Errors
/// Values that no hits have, see [`AggregatePart::encode`].
pub fn aggregate(
    id: u64,
    aggregate: Aggregate,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let start = out.len();
    for part in aggregate.into_parts() {
        if let Err(error) = aggregate_part(id, &part, order, out) {
            out.truncate(start);
            return Err(error);
        }
    }
    Ok(())
}

/// One part of an aggregate.
///
/// # Errors
/// Values that no hits have, or more sites than fit a record.
pub fn aggregate_part(
    id: u64,
    part: &AggregatePart,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let mut bytes = Vec::new();
    part.encode(order, &mut bytes)?;
    record(RecordType::EVENT_UPDATE, order, out, |w| {
        w.u64(UpdateKind::UNIT.0);
        w.u64(id);
        w.raw(&bytes);
    })
}

/// A part of the kernel's symbols, in an EVENT_UPDATE of the event with this
/// id, as parts of aggregates.
///
/// # Errors
/// None that [`PackedKernelList::parts`](crate::kernel_list::PackedKernelList::parts) gives a
/// reason for.
pub fn kernel_list_part(
    id: u64,
    part: &KernelListPart<'_>,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    record(RecordType::EVENT_UPDATE, order, out, |w| {
        w.u64(UpdateKind::UNIT.0);
        w.u64(id);
        part.encode(w);
    })
}

/// A mark of a region ([`crate::region`]), carried by the event with this id.
///
/// # Errors
/// None that a mark can cause: a longer name is cut.
pub fn region(
    id: u64,
    mark: &RegionMark<'_>,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    record(RecordType::EVENT_UPDATE, order, out, |w| {
        w.u64(UpdateKind::UNIT.0);
        w.u64(id);
        mark.encode(w);
    })
}

fn event_update(
    kind: UpdateKind,
    id: u64,
    text: &str,
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    record(RecordType::EVENT_UPDATE, order, out, |w| {
        w.u64(kind.0);
        w.u64(id);
        w.raw(text.as_bytes());
        w.u8(0);
    })
}

/// HEADER_FEATURE.
///
/// # Errors
/// A feature that does not fit a record.
pub fn feature(feature: &Feature, order: ByteOrder, out: &mut Vec<u8>) -> Result<(), WriteError> {
    record(RecordType::HEADER_FEATURE, order, out, |w| {
        w.u64(feature.id().0);
        feature.encode(w);
    })
}

/// HEADER_FEATURE with bytes that are written already, those after its id.
/// They are not padded, as perf before 6.12 did not: perf takes what follows
/// an old CPU_TOPOLOGY for more of it (process_cpu_topology(),
/// tools/perf/util/header.c).
///
/// # Errors
/// A feature that does not fit a record.
pub fn feature_bytes(
    id: FeatureId,
    data: &[u8],
    order: ByteOrder,
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let kind = RecordType::HEADER_FEATURE;
    let size = RecordHeader::SIZE + 8 + data.len();
    let size = u16::try_from(size).map_err(|_| WriteError::TooLong { kind, size })?;
    let w = &mut ByteWriter::new(out, order);
    RecordHeader { kind, misc: Misc(0), size }.encode(w);
    w.u64(id.0);
    w.raw(data);
    Ok(())
}

/// FINISHED_ROUND: every ring has been drained once more; see
/// [`super::OrderedRoundBuffer`].
pub fn finished_round(order: ByteOrder, out: &mut Vec<u8>) {
    mark(RecordType::FINISHED_ROUND, order, out);
}

/// FINISHED_INIT: descriptions of what was there before the recording have
/// ended.
pub fn finished_init(order: ByteOrder, out: &mut Vec<u8>) {
    mark(RecordType::FINISHED_INIT, order, out);
}

fn mark(kind: RecordType, order: ByteOrder, out: &mut Vec<u8>) {
    RecordHeader { kind, misc: Misc(0), size: 8 }.encode(&mut ByteWriter::new(out, order));
}

/// Appends a record padded to 8 bytes; leaves `out` as it was on error.
fn record(
    kind: RecordType,
    order: ByteOrder,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut ByteWriter<'_>),
) -> Result<(), WriteError> {
    let mut bytes = Vec::new();
    let mut w = ByteWriter::new(&mut bytes, order);
    body(&mut w);
    w.pad(0, 8);
    let size = RecordHeader::SIZE + bytes.len();
    let header = |size| RecordHeader { kind, misc: Misc(0), size };
    let size = u16::try_from(size).map_err(|_| WriteError::TooLong { kind, size })?;
    header(size).encode(&mut ByteWriter::new(out, order));
    out.extend_from_slice(&bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{AttrFlags, SampleType};

    fn page_faults() -> Attr {
        Attr {
            kind: crate::attr::EventType::SOFTWARE,
            config: 2,
            sample_type: SampleType::IDENTIFIER,
            flags: AttrFlags::SAMPLE_ID_ALL,
            ..Attr::default()
        }
    }

    #[test]
    fn the_header_says_pipe() {
        let mut out = Vec::new();
        file_header(ByteOrder::Little, &mut out);
        assert_eq!(out, *b"PERFILE2\x10\0\0\0\0\0\0\0");
        out.clear();
        file_header(ByteOrder::Big, &mut out);
        assert_eq!(out, *b"2ELIFREP\0\0\0\0\0\0\0\x10");
    }

    #[test]
    fn an_attr_takes_128_bytes_and_more_only_when_it_must() {
        assert_eq!(page_faults().stream_size(), 128);
        assert_eq!(Attr { config3: 1, ..page_faults() }.stream_size(), 136);
        assert_eq!(Attr { config4: 1, ..page_faults() }.stream_size(), 144);
        let mut out = Vec::new();
        attr(&page_faults(), &[7, 8], ByteOrder::Little, &mut out).unwrap();
        assert_eq!(out[..8], [64, 0, 0, 0, 0, 0, 152, 0]);
        assert_eq!(out[136..], [7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_does_not_fit_a_record_is_refused_and_leaves_no_trace() {
        let mut out = vec![1];
        let ids = vec![0; 8_200];
        let error = attr(&page_faults(), &ids, ByteOrder::Little, &mut out).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a HEADER_ATTR record of 65736 bytes is beyond the limit of 65,535"
        );
        let long = "x".repeat(66_000);
        event_name(1, &long, ByteOrder::Little, &mut out).unwrap_err();
        feature(&Feature::Hostname(long), ByteOrder::Little, &mut out).unwrap_err();
        assert_eq!(out, [1]);
    }

    #[test]
    fn marks_are_headers_alone() {
        let mut out = Vec::new();
        finished_round(ByteOrder::Little, &mut out);
        finished_init(ByteOrder::Little, &mut out);
        assert_eq!(out, [68, 0, 0, 0, 0, 0, 8, 0, 82, 0, 0, 0, 0, 0, 8, 0]);
    }
}
