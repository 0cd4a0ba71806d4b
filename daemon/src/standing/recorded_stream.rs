//! What a standing session samples now: its announcement, and what runs. A
//! segment begins with it, and so does what a reader is sent.

use perfdata::SampleType;
use perfdata::segment::LONGEST;
use perfdata::stream::{EventDescription, StreamDecoder, StreamStep, write};
use recorder::session::preamble::SIDE_NAME;
use recorder::session::synthesize::Synthesizer;
use recorder::sys::event::NATIVE_ORDER;

use super::process_table::ProcessTable;
use crate::worker::chunk::{Chunk, ChunkTally, FIRST_OF_TOOLS, SampleGap, record_type};

#[derive(Debug)]
pub(super) struct RecordedStream {
    /// Of the sampling, random.
    pub(super) stream: u64,
    /// Events, names, promises, machine; without the file's header.
    pub(super) announcement: Vec<u8>,
    pub(super) process_table: ProcessTable,
    pub(super) trailer: Vec<u8>,
    pub(super) is_identified: bool,
    /// An id of the first event.
    id: Option<u64>,
}

/// The events that a stream begins with.
pub(super) fn events(front: &[u8]) -> Vec<EventDescription> {
    let mut decoder = StreamDecoder::new();
    let mut rest = front;
    while let Ok(StreamStep::Record { consumed, .. }) = decoder.step(rest) {
        rest = rest.get(consumed..).unwrap_or_default();
    }
    decoder.events().to_vec()
}

pub(super) fn is_sampled(event: &EventDescription) -> bool {
    event.name.as_deref() != Some(SIDE_NAME)
}

impl RecordedStream {
    /// From the first bytes of its stream.
    pub(super) fn new(stream: u64, front: &[u8]) -> RecordedStream {
        let events = events(front);
        let side = events.iter().find(|event| !is_sampled(event));
        let sampled = || events.iter().filter(|event| is_sampled(event));
        let records = Chunk::of_preamble(front);
        let mut process_table = ProcessTable::default();
        process_table.notice(&records);
        let of_tools = records.records().filter(|record| record_type(record).0 >= FIRST_OF_TOOLS);
        RecordedStream {
            stream,
            announcement: of_tools.flatten().copied().collect(),
            process_table,
            trailer: side.map(|side| Synthesizer::trailer(&side.attr)).unwrap_or_default(),
            is_identified: sampled()
                .all(|event| event.attr.sample_type.contains(SampleType::IDENTIFIER)),
            id: sampled().next().and_then(|event| event.ids.first().copied()),
        }
    }

    /// What a reader is to have before live records.
    pub(super) fn whole(&self) -> Vec<u8> {
        let mut all = self.announcement.clone();
        self.process_table.describe(&mut |piece| all.extend(piece));
        all
    }

    /// Hands on events, machine and processes, in pieces.
    pub(super) fn describe(&self, each: &mut dyn FnMut(&[u8])) {
        let mut front = Vec::new();
        write::file_header(NATIVE_ORDER, &mut front);
        front.extend(&self.announcement);
        // An announcement has some kilobytes.
        front.truncate(LONGEST);
        each(&front);
        self.process_table.describe(each);
    }

    /// Adds a chunk's samples to a gap, and what its LOST records tell.
    pub(super) fn add_missed(&self, chunk: &Chunk<'_>, gap: &mut SampleGap) {
        gap.add(&ChunkTally::of(chunk, self.is_identified));
        gap.add_lost_records(chunk);
    }

    pub(super) fn note(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(id) = self.id {
            // Too long a note is none.
            let _fits = write::event_unit(id, text, NATIVE_ORDER, &mut out);
        }
        out
    }
}
