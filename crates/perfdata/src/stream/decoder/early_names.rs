//! Names of events that came before the events: perf of Linux 4.13 writes
//! EVENT_DESC into a pipe before HEADER_ATTR.

use crate::attr::Attr;
use crate::bytes::ByteOrder;
use crate::stream::feature::EventName;
use std::collections::BTreeMap;

/// Names that wait for their event.
#[derive(Debug, Default)]
pub(super) struct EarlyNames {
    /// By their place in the list of events.
    waiting: BTreeMap<usize, EventName>,
    /// Places by the first id.
    by_id: BTreeMap<u64, usize>,
}

impl EarlyNames {
    /// Bytes of memory that a name takes while it waits, about.
    pub(super) fn memory(name: &EventName) -> usize {
        const ENTRIES: usize = 2 * size_of::<EventName>();
        ENTRIES + name.attr.len() + 8 * name.ids.len() + name.name.len()
    }

    /// Keeps a name for the event at a place. One that came again counts.
    pub(super) fn keep(&mut self, place: usize, name: EventName) {
        if let Some(&id) = name.ids.first() {
            self.by_id.entry(id).or_insert(place);
        }
        self.waiting.insert(place, name);
    }

    /// The name of a new event: the one with its id; without ids, the one at
    /// its place in the list if that is the same event.
    pub(super) fn take(
        &mut self,
        place: usize,
        attr: &Attr,
        ids: &[u64],
        order: ByteOrder,
    ) -> Option<String> {
        if self.waiting.is_empty() {
            return None;
        }
        let by_id = ids.iter().find_map(|id| self.by_id.get(id).copied());
        let by_place = || {
            let waiting = self.waiting.get(&place)?;
            let has_no_ids = ids.is_empty() || waiting.ids.is_empty();
            (has_no_ids && is_of(waiting, attr, order)).then_some(place)
        };
        self.waiting.remove(&by_id.or_else(by_place)?).map(|waiting| waiting.name)
    }
}

pub(super) fn is_of(name: &EventName, attr: &Attr, order: ByteOrder) -> bool {
    Attr::decode(&name.attr, order)
        .is_ok_and(|named| (named.kind, named.config) == (attr.kind, attr.config))
}
