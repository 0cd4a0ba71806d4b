//! What records the emulation writes: the target has the ring mapped as well,
//! and may have put anything into it.

use record::bytes::Cursor;
use record::{Attr, RecordHeader, RecordType, SampleLayout, SideRecord};

use crate::sys::event::NATIVE_ORDER;

/// How records must look.
#[derive(Debug)]
pub(super) struct Form {
    sample: Option<SampleLayout>,
    /// Bytes of the trailer of other records.
    trailer: usize,
}

impl Form {
    pub(super) fn new(sample: &Attr, side: &Attr) -> Form {
        let layout = |attr| SampleLayout::new(attr, NATIVE_ORDER).ok();
        let trailer = layout(side).map_or(0, |side| side.trailer_size());
        Form { sample: layout(sample), trailer }
    }

    /// Whether a record's bytes are what its header was when it was looked at,
    /// and one of those that the emulation writes, whole.
    pub(super) fn fits(&self, header: RecordHeader, bytes: &[u8]) -> bool {
        let mut cursor = Cursor::new(bytes, NATIVE_ORDER);
        if RecordHeader::decode(&mut cursor) != Ok(header) {
            return false;
        }
        let body = cursor.rest();
        match header.kind {
            RecordType::SAMPLE => {
                let decoded = self.sample.as_ref().map(|of| of.decode(header.misc, body));
                body.len().is_multiple_of(8) && matches!(decoded, Some(Ok(_)))
            }
            RecordType::MMAP2 | RecordType::COMM | RecordType::FORK | RecordType::EXIT => {
                let body = body.len().checked_sub(self.trailer).and_then(|end| body.get(..end));
                body.is_some_and(|body| SideRecord::decode(header, body, NATIVE_ORDER).is_ok())
            }
            _ => false,
        }
    }
}
