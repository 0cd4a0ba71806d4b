//! A stream that is part of something: of a file, or packed.
//! [`crate::recording::RecordingDecoder`] knows of what.

use super::{Packed, Position, StreamDecoder, StreamRecord, StreamStep};
use crate::bytes::{ByteOrder, Cursor};
use crate::header::RecordType;
use crate::stream::error::StreamError;
use crate::stream::feature::FeatureId;
use crate::stream::features::FeatureSection;

impl StreamDecoder {
    /// A decoder at the start of a recording whose COMPRESSED records its
    /// caller unpacks.
    pub(crate) fn unpacking() -> StreamDecoder {
        StreamDecoder { packed: Packed::Given, ..StreamDecoder::new() }
    }

    /// Goes to another place: what comes next are records there, in this
    /// byte order.
    pub(crate) fn go_to(&mut self, offset: u64, order: ByteOrder) {
        self.position = Position::Record;
        self.offset = offset;
        self.order = order;
    }

    pub(crate) fn ends_at(&mut self, offset: u64) {
        self.end = offset;
    }

    /// [`StreamDecoder::step`] over unpacked bytes: they take no place.
    pub(crate) fn step_inside<'a>(
        &mut self,
        input: &'a [u8],
    ) -> Result<StreamStep<'a>, StreamError> {
        let before = std::mem::replace(&mut self.packed, Packed::Inside);
        self.swap_inside();
        let step = self.step(input);
        self.swap_inside();
        self.packed = before;
        step
    }

    fn swap_inside(&mut self) {
        std::mem::swap(&mut self.position, &mut self.inside.0);
        std::mem::swap(&mut self.lost, &mut self.inside.1);
    }

    #[inline]
    pub(super) fn go_on(&mut self, bytes: u64) {
        if self.packed != Packed::Inside {
            self.offset += bytes;
        }
    }

    /// Bytes that follow the last record outside its size.
    pub(crate) fn following(&self) -> Option<u64> {
        match self.position {
            Position::Payload { left, .. } => Some(left),
            Position::Start | Position::Record | Position::Lost => None,
        }
    }

    pub(crate) fn pass(&mut self, bytes: u64) {
        if let Position::Payload { kind, left } = self.position {
            self.offset += bytes;
            self.follow_with(kind, left.saturating_sub(bytes));
        }
    }

    /// A COMPRESSED or COMPRESSED2 record.
    pub(super) fn packed<'a>(
        &self,
        kind: RecordType,
        payload: &'a [u8],
    ) -> Result<StreamRecord<'a>, StreamError> {
        let offset = self.offset;
        match self.packed {
            Packed::Refused => return Err(StreamError::Compressed { kind, offset }),
            Packed::Inside => return Err(StreamError::Nested { kind, offset }),
            Packed::Given => {}
        }
        if kind == RecordType::COMPRESSED {
            return Ok(StreamRecord::Packed { kind, data: payload });
        }
        let short = |short| StreamError::Short { kind, offset, short };
        let mut cursor = Cursor::new(payload, self.order);
        let size = cursor.u64().map_err(short)?;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        let data = cursor.take(size).map_err(short)?;
        Ok(StreamRecord::Packed { kind, data })
    }

    /// An event described outside the stream, in `attr` at `offset`.
    pub(crate) fn describe<'a>(
        &mut self,
        offset: u64,
        attr: &[u8],
        ids: Vec<u64>,
    ) -> StreamRecord<'a> {
        self.offset = offset;
        self.add_event(attr, ids)
    }

    /// A feature told outside the stream, in `data` at `offset`.
    pub(crate) fn learn<'a>(
        &mut self,
        offset: u64,
        id: FeatureId,
        data: &[u8],
    ) -> StreamRecord<'a> {
        self.offset = offset;
        match self.insert_feature(id, data) {
            // Recorders that find nothing to tell leave it empty.
            Err(_) if data.is_empty() => StreamRecord::Skipped(RecordType::HEADER_FEATURE),
            Ok(()) => {
                let section = FeatureSection { id, offset, size: data.len() as u64 };
                self.features.sections.push(section);
                StreamRecord::Feature
            }
            Err(error) => self.unreadable(RecordType::HEADER_FEATURE, error),
        }
    }

    pub(crate) fn pass_feature<'a>(
        &mut self,
        offset: u64,
        id: FeatureId,
        size: u64,
    ) -> StreamRecord<'a> {
        self.features.unread.insert(id, size);
        self.features.sections.push(FeatureSection { id, offset, size });
        StreamRecord::Feature
    }

    pub(crate) fn unreadable<'a>(
        &mut self,
        kind: RecordType,
        error: StreamError,
    ) -> StreamRecord<'a> {
        self.tally.note_unreadable(&error);
        StreamRecord::Unreadable { kind, error }
    }
}
