//! A file that is being written: its front, which comes first and must be
//! right at once, and its end.

use super::super::file_header::{FileHeader, Section};
use super::{Events, HEADER_SIZE, header, table};
use crate::attr::AttrError;
use crate::bytes::ByteOrder;
use crate::stream::write::WriteError;
use crate::stream::{EventDescription, EventName, Feature, FeatureId};

/// Where things stand in a file whose data are being written.
///
/// The front is whole from the start, but its header says that there are no
/// data yet. [`FileOutline::header`] says how many there are so far, and
/// [`FileOutline::end`] where the features are that follow the last of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileOutline {
    order: ByteOrder,
    events: Events,
    /// Ids that each event had when the front was written.
    ids: Vec<usize>,
    /// Where the data begin.
    start: u64,
}

/// What a file ends with, and the header that is right then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEnd {
    /// The table of features, which the features themselves follow.
    pub table: Vec<u8>,
    /// Events once more, to stand behind the features; empty when all that
    /// is known of them is in the front.
    pub events: Vec<u8>,
    /// The header, in place of the first.
    pub header: Vec<u8>,
}

impl FileOutline {
    /// Appends the front of a file to an empty `out`: header and events.
    ///
    /// # Errors
    /// An attr that cannot be written.
    pub fn begin(
        events: &[EventDescription],
        order: ByteOrder,
        out: &mut Vec<u8>,
    ) -> Result<FileOutline, WriteError> {
        let mut described = Vec::new();
        let place = Events::write(events, order, HEADER_SIZE, &mut described)?;
        let start = HEADER_SIZE + described.len() as u64;
        let outline = FileOutline { order, events: place, ids: id_counts(events), start };
        out.extend(outline.header(start));
        out.append(&mut described);
        Ok(outline)
    }

    /// Offset of the first record.
    pub fn data_start(&self) -> u64 {
        self.start
    }

    /// The end of a file whose data end at the offset `data_end`; `features`
    /// are the sizes, in bytes, of those that follow the table, in order of
    /// their ids.
    ///
    /// # Errors
    /// An attr that cannot be written.
    pub fn end(
        &self,
        data_end: u64,
        events: &[EventDescription],
        features: &[(FeatureId, u64)],
    ) -> Result<FileEnd, WriteError> {
        let table = table(features, data_end, self.order);
        let sizes: u64 = features.iter().map(|(_, size)| size).sum();
        let mut late = Vec::new();
        let mut place = self.events;
        if id_counts(events) != self.ids {
            let at = data_end + FileHeader::SECTION * features.len() as u64 + sizes;
            place = Events::write(events, self.order, at, &mut late)?;
        }
        let ids: Vec<FeatureId> = features.iter().map(|(id, _)| *id).collect();
        let header = header(place, self.data(data_end), &ids, self.order);
        Ok(FileEnd { table, events: late, header })
    }

    /// The header of a file whose data end at the offset `data_end` so far:
    /// it has no features, nor what was learnt of events since its front was
    /// written.
    pub fn header(&self, data_end: u64) -> Vec<u8> {
        header(self.events, self.data(data_end), &[], self.order)
    }

    fn data(&self, end: u64) -> Section {
        Section { offset: self.start, size: end.saturating_sub(self.start) }
    }
}

fn id_counts(events: &[EventDescription]) -> Vec<usize> {
    events.iter().map(|event| event.ids.len()).collect()
}

/// Feature EVENT_DESC, the names of events, which a pipe tells in another
/// way.
///
/// # Errors
/// An attr that cannot be written.
pub fn event_names(events: &[EventDescription], order: ByteOrder) -> Result<Feature, AttrError> {
    let name = |event: &EventDescription| {
        EventName::new(&event.attr, &event.ids, &event.perf_title(), order)
    };
    Ok(Feature::EventDescriptions(events.iter().map(name).collect::<Result<_, _>>()?))
}
