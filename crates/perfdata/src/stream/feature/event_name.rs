//! EVENT_DESC: names of events.

use super::field::{FeatureField, put_count};
use crate::attr::{Attr, AttrError};
use crate::bytes::{ByteOrder, ByteWriter, Cursor, Short};

/// More events than a recorder has file descriptors for.
pub(crate) const MOST_EVENTS: u32 = 1 << 14;

/// An event and its name in EVENT_DESC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventName {
    /// Bytes of its attr, as the recorder knew it.
    pub attr: Vec<u8>,
    pub ids: Vec<u64>,
    pub name: String,
}

impl EventName {
    /// Describes an event; its attr takes as many bytes as in HEADER_ATTR.
    ///
    /// # Errors
    /// An attr that cannot be written.
    pub fn new(
        attr: &Attr,
        ids: &[u64],
        name: &str,
        order: ByteOrder,
    ) -> Result<EventName, AttrError> {
        let mut bytes = Vec::new();
        attr.encode(attr.stream_size(), order, &mut bytes)?;
        Ok(EventName { attr: bytes, ids: ids.to_vec(), name: name.to_owned() })
    }
}

impl FeatureField for Vec<EventName> {
    fn decode(c: &mut Cursor<'_>) -> Result<Vec<EventName>, Short> {
        let (count, attr_size) = (c.u32()?, c.u32()?);
        let mut events = Vec::new();
        // There are no more events to be named.
        for _ in 0..count.min(MOST_EVENTS) {
            let attr = c.take(usize::try_from(attr_size).unwrap_or(usize::MAX))?.to_vec();
            let ids = u64::from(c.u32()?);
            let name = String::decode(c)?;
            events.push(EventName { attr, ids: c.words(ids)?.iter().collect(), name });
        }
        Ok(events)
    }

    fn encode(&self, w: &mut ByteWriter<'_>) {
        // One size for all attrs: shorter ones are zero-extended, as the kernel
        // would.
        let size = self.iter().map(|event| event.attr.len()).max().unwrap_or(0);
        put_count(w, self.len());
        put_count(w, size);
        for event in self {
            w.raw(&event.attr);
            (event.attr.len()..size).for_each(|_| w.u8(0));
            put_count(w, event.ids.len());
            event.name.encode(w);
            event.ids.iter().for_each(|&id| w.u64(id));
        }
    }

    /// None: names go to the events.
    fn memory(&self) -> usize {
        0
    }
}
