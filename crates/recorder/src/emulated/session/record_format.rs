//! What records the emulation writes: the target has the ring mapped as well,
//! and may have put anything into it.

use super::EVENT;
use perfdata::bytes::Cursor;
use perfdata::stream::write;
use perfdata::{Attr, RecordHeader, RecordType, RegionMark, SampleLayout, SidebandRecord};

use crate::sys::event::NATIVE_ORDER;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WrittenRecord {
    /// Of an event, by its place.
    Sample {
        event: usize,
    },
    Side,
}

#[derive(Debug)]
pub(super) struct RecordFormat {
    /// Of each event.
    samples: Vec<Option<SampleLayout>>,
    /// Bytes of the trailer of other records.
    trailer: usize,
}

impl RecordFormat {
    pub(super) fn new<'a>(samples: impl Iterator<Item = &'a Attr>, side: &Attr) -> RecordFormat {
        let layout = |attr: &Attr| SampleLayout::new(attr, NATIVE_ORDER).ok();
        let trailer = layout(side).map_or(0, |side| side.trailer_size());
        RecordFormat { samples: samples.map(layout).collect(), trailer }
    }

    /// What a record is, if its bytes are what its header was when it was looked
    /// at, and one of those that the emulation writes, whole.
    pub(super) fn written(&self, header: RecordHeader, bytes: &[u8]) -> Option<WrittenRecord> {
        let mut cursor = Cursor::new(bytes, NATIVE_ORDER);
        if RecordHeader::decode(&mut cursor) != Ok(header) {
            return None;
        }
        let body = cursor.rest();
        match header.kind {
            RecordType::SAMPLE => self.sample(header, body),
            RecordType::MMAP2 | RecordType::COMM | RecordType::FORK | RecordType::EXIT => {
                let body = body.get(..body.len().checked_sub(self.trailer)?)?;
                SidebandRecord::decode(header, body, NATIVE_ORDER).ok().map(|_| WrittenRecord::Side)
            }
            RecordType::EVENT_UPDATE => mark(bytes).map(|()| WrittenRecord::Side),
            _ => None,
        }
    }

    fn sample(&self, header: RecordHeader, body: &[u8]) -> Option<WrittenRecord> {
        // All begin with their event's id.
        let id = Cursor::new(body, NATIVE_ORDER).u64().ok()?;
        let event = usize::try_from(id.checked_sub(EVENT)?).ok()?;
        let layout = self.samples.get(event)?.as_ref()?;
        let is_whole = body.len().is_multiple_of(8) && layout.decode(header.misc, body).is_ok();
        is_whole.then_some(WrittenRecord::Sample { event })
    }
}

/// Bytes before what a mark tells: a header, what an update is of, an id.
const BEFORE: usize = 24;

/// A mark of a region, carried by the first event, to the last byte: other
/// updates would be believed.
fn mark(bytes: &[u8]) -> Option<()> {
    let mark = RegionMark::decode(bytes.get(BEFORE..)?, NATIVE_ORDER).ok()?;
    let mut again = Vec::new();
    write::region(EVENT, &mark, NATIVE_ORDER, &mut again).ok()?;
    (again == bytes).then_some(())
}
