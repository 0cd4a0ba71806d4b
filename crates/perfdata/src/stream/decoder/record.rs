//! Each kind of record: samples, other records of the kernel, and those of
//! the stream itself.

use super::budget::too_much;
use super::search::has_name;
use super::{Packed, Position, SampleRecord, StreamDecoder, StreamRecord};
use crate::bytes::{ByteOrder, Cursor};
use crate::header::{RecordHeader, RecordType};
use crate::sideband::SidebandRecord;
use crate::stream::error::StreamError;
use crate::stream::feature::BuildId;
use crate::stream::route::Routed;
use crate::stream::tracepoint_names::TracepointNames;
use std::ops::RangeInclusive;

impl StreamDecoder {
    /// The sample that `input`, as for [`StreamDecoder::step`], begins with; None
    /// where a step would give or ask for anything else. What matters is
    /// what it saves: handing on a step, which has room for any record, took
    /// a quarter of a report's time.
    #[inline]
    pub fn sample<'a>(&mut self, input: &'a [u8]) -> Option<SampleRecord<'a>> {
        if self.position != Position::Record {
            return None;
        }
        let header = self.header(*input.first_chunk()?);
        if header.kind != RecordType::SAMPLE {
            return None;
        }
        let payload = input.get(RecordHeader::SIZE..usize::from(header.size))?;
        let Routed::Event(event) = self.route.sample(payload, self.order) else { return None };
        let described = self.events.get(event)?;
        if !described.layout.fits(payload) && !described.is_sound(header.misc, payload) {
            return None;
        }
        self.go_on(u64::from(header.size));
        self.tally.count(header.kind);
        Some(SampleRecord { event, misc: header.misc, payload })
    }

    #[inline]
    pub(super) fn routed_sample<'a>(
        &mut self,
        header: RecordHeader,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        match self.route.sample(payload, self.order) {
            Routed::Event(event) => {
                let sample = SampleRecord { event, misc: header.misc, payload };
                match self.events.get(event) {
                    Some(described) if described.layout.fits(payload) => {
                        Ok(StreamRecord::Sample(sample))
                    }
                    _ => self.doubtful(sample),
                }
            }
            lost => Ok(self.unrouted(header.kind, lost)),
        }
    }

    /// A sample whose length alone does not say that it is one.
    #[inline(never)]
    pub(super) fn doubtful<'a>(
        &mut self,
        sample: SampleRecord<'a>,
    ) -> Result<StreamRecord<'a>, StreamError> {
        let SampleRecord { event, misc, payload } = sample;
        let (kind, offset) = (RecordType::SAMPLE, self.offset);
        let Some(described) = self.events.get(event) else {
            return Ok(self.unrouted(kind, Routed::NoPlace));
        };
        if described.is_sound(misc, payload) {
            return Ok(StreamRecord::Sample(sample));
        }
        if let Some(error) = &described.unreadable {
            let error = error.clone();
            return Ok(self.unreadable(kind, error));
        }
        match described.layout.decode(misc, payload) {
            Ok(_) => {
                let size = u16::try_from(sample.size()).unwrap_or(u16::MAX);
                Err(StreamError::Misfit { kind, offset, size })
            }
            Err(reason) => {
                let error = StreamError::Sample { offset, reason };
                if !payload.len().is_multiple_of(8) || self.holds_another(payload, true) {
                    return Err(error);
                }
                self.tally.note_unreadable(&error);
                Ok(StreamRecord::Sample(sample))
            }
        }
    }

    pub(super) fn side<'a>(
        &mut self,
        header: RecordHeader,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        let routed = self.route.side(payload, self.order);
        let exact = self.is_exact(header, payload, routed);
        let event = match routed {
            Routed::Event(event) => event,
            Routed::UnknownId if !exact => return Err(self.misfit(header)),
            // What it tells of a process or of the kernel is true whatever
            // event it was told for.
            Routed::UnknownId if has_name(header.kind) && self.route.has_one_trailer() => 0,
            lost => return Ok(self.unrouted(header.kind, lost)),
        };
        let Some(description) = self.events.get(event) else {
            return Ok(self.unrouted(header.kind, Routed::NoPlace));
        };
        let (kind, offset) = (header.kind, self.offset);
        let id = description.layout.trailer(payload);
        let id = id.map_err(|reason| StreamError::Trailer { kind, offset, reason })?;
        let end = payload.len().saturating_sub(description.layout.trailer_size());
        let record = SidebandRecord::decode(header, &payload[..end], self.order);
        let record = record.map_err(|reason| StreamError::Sideband { offset, reason })?;
        if !exact && (!payload.len().is_multiple_of(8) || self.holds_another(payload, true)) {
            return Err(self.misfit(header));
        }
        Ok(StreamRecord::Sideband { event, misc: header.misc, record, id })
    }

    #[cold]
    pub(super) fn unrouted<'a>(&mut self, kind: RecordType, lost: Routed) -> StreamRecord<'a> {
        match lost {
            Routed::UnknownId => self.tally.unknown_id += 1,
            _ => self.tally.unplaced += 1,
        }
        StreamRecord::Skipped(kind)
    }

    /// Records of the stream itself.
    pub(super) fn own<'a>(
        &mut self,
        header: RecordHeader,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        let (kind, offset) = (header.kind, self.offset);
        // perf writes no such index, and none before all other records.
        if kind == RecordType::ID_INDEX
            && self.tally.iter().next().is_none()
            && !is_index(payload, self.order)
        {
            self.has_foreign_types = true;
        }
        let short = |short| StreamError::Short { kind, offset, short };
        // Without it nothing says how many bytes follow the record.
        let least = |size: usize| self.record_size(header, RecordHeader::SIZE + size);
        let mut cursor = Cursor::new(payload, self.order);
        Ok(match kind {
            _ if self.has_foreign_types && FOREIGN_TYPES.contains(&kind.0) => {
                StreamRecord::Skipped(kind)
            }
            RecordType::HEADER_ATTR => self.event(payload),
            RecordType::EVENT_UPDATE => self.update(&mut cursor)?,
            RecordType::HEADER_FEATURE => self.feature(&mut cursor)?,
            RecordType::HEADER_EVENT_TYPE => self.event_type(&mut cursor).map_err(short)?,
            RecordType::HEADER_BUILD_ID => {
                let id = BuildId::decode(header.misc, &mut cursor).map_err(short)?;
                if !self.budget.take(id.memory(), payload.len()) {
                    return Err(too_much("a build id", offset));
                }
                self.features.build_ids.push(id);
                StreamRecord::Feature
            }
            RecordType::COMPRESSED | RecordType::COMPRESSED2 => self.packed(kind, payload)?,
            RecordType::HEADER_TRACING_DATA | RecordType::AUXTRACE
                if self.packed == Packed::Inside =>
            {
                return Err(StreamError::Nested { kind, offset });
            }
            RecordType::HEADER_TRACING_DATA => {
                let bytes = u64::from(cursor.u32().map_err(|_| least(4))?);
                self.tracepoints = TracepointNames::default();
                self.follow_with(kind, bytes);
                StreamRecord::Skipped(kind)
            }
            RecordType::AUXTRACE if kind.announces_trace(usize::from(header.size)) => {
                let bytes = cursor.u64().map_err(short)?;
                self.trace.buffers += 1;
                self.trace.bytes = self.trace.bytes.saturating_add(bytes);
                self.follow_with(kind, bytes);
                StreamRecord::Skipped(kind)
            }
            RecordType::AUXTRACE_INFO => {
                self.trace.kind = Some(cursor.u32().map_err(short)?);
                StreamRecord::Skipped(kind)
            }
            RecordType::FINISHED_ROUND if payload.is_empty() => StreamRecord::FinishedRound,
            RecordType::FINISHED_INIT if payload.is_empty() => StreamRecord::FinishedInit,
            _ if self.holds_another(payload, false) => return Err(self.misfit(header)),
            kind => StreamRecord::Skipped(kind),
        })
    }
}

/// Types that a perf 3.3 of Google's has for features, and perf for other records since.
const FOREIGN_TYPES: RangeInclusive<u32> = RecordType::ID_INDEX.0..=RecordType::HEADER_FEATURE.0;

/// Whether a record can be an index of ids
/// (`struct perf_record_id_index`, tools/lib/perf/include/perf/event.h).
fn is_index(payload: &[u8], order: ByteOrder) -> bool {
    const ENTRY: u64 = 32;
    let entries = Cursor::new(payload, order).u64().ok();
    let bytes = entries.and_then(|count| count.checked_mul(ENTRY));
    bytes.is_some_and(|bytes| bytes <= payload.len() as u64)
}
