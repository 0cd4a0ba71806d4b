//! What a stream said at its beginning, and what has come of that since.

use perfdata::SampleType;
use perfdata::segment::LONGEST;
use perfdata::stream::{EventDescription, StreamDecoder, StreamStep, write};
use recorder::session::preamble::SIDE_NAME;
use recorder::session::synthesize::Synthesizer;
use recorder::sys::event::NATIVE_ORDER;

use crate::standing::residents::Residents;
use crate::standing::spool::Beginning;
use crate::worker::chunk::{Chunk, ChunkTally, FIRST_OF_TOOLS, SampleGap, kind};

/// Bytes of a stream's own header, before its first record.
pub(crate) const FILE_HEADER: usize = 16;

/// One sampling of a standing session.
#[derive(Debug)]
pub(crate) struct RecordedSampling {
    stream: u64,
    /// Events, names, promises, machine; without the file's header.
    announcement: Vec<u8>,
    residents: Residents,
    trailer: Vec<u8>,
    is_identified: bool,
    /// An id of the first event.
    id: Option<u64>,
}

/// The events that the front of a stream describes.
pub(crate) fn events(front: &[u8]) -> Vec<EventDescription> {
    let mut decoder = StreamDecoder::new();
    let mut rest = front;
    while let Ok(StreamStep::Record { consumed, .. }) = decoder.step(rest) {
        rest = rest.get(consumed..).unwrap_or_default();
    }
    decoder.events().to_vec()
}

/// Whether an event is sampled, and not there for its side records.
pub(crate) fn is_sampled(event: &EventDescription) -> bool {
    event.name.as_deref() != Some(SIDE_NAME)
}

impl RecordedSampling {
    /// From the first bytes of its stream.
    pub(crate) fn new(stream: u64, front: &[u8]) -> RecordedSampling {
        let events = events(front);
        let side = events.iter().find(|event| !is_sampled(event));
        let sampled = || events.iter().filter(|event| is_sampled(event));
        let records = Chunk::new(front.get(FILE_HEADER..).unwrap_or_default());
        let mut residents = Residents::default();
        residents.notice(&records);
        let of_tools = records.records().filter(|record| kind(record).0 >= FIRST_OF_TOOLS);
        RecordedSampling {
            stream,
            announcement: of_tools.flatten().copied().collect(),
            residents,
            trailer: side.map(|side| Synthesizer::trailer(&side.attr)).unwrap_or_default(),
            is_identified: sampled()
                .all(|event| event.attr.sample_type.contains(SampleType::IDENTIFIER)),
            id: sampled().next().and_then(|event| event.ids.first().copied()),
        }
    }

    pub(super) fn trailer(&self) -> Vec<u8> {
        self.trailer.clone()
    }

    pub(super) fn is_identified(&self) -> bool {
        self.is_identified
    }

    pub(super) fn announcement(&self) -> &[u8] {
        &self.announcement
    }

    pub(super) fn notice(&mut self, chunk: &Chunk<'_>) {
        self.residents.notice(chunk);
    }

    /// What somebody has to know who comes now.
    pub(super) fn whole(&self) -> Vec<u8> {
        let mut all = self.announcement.clone();
        self.residents.describe(&mut |piece| all.extend(piece));
        all
    }
}

impl Beginning for RecordedSampling {
    fn stream(&self) -> u64 {
        self.stream
    }

    fn describe(&self, each: &mut dyn FnMut(&[u8])) {
        let mut front = Vec::new();
        write::file_header(NATIVE_ORDER, &mut front);
        front.extend(&self.announcement);
        // An announcement has some kilobytes.
        front.truncate(LONGEST);
        each(&front);
        self.residents.describe(each);
    }

    fn tell(&self, gap: &mut SampleGap) -> Vec<u8> {
        gap.tell(&self.trailer)
    }

    fn miss(&self, chunk: &Chunk<'_>, gap: &mut SampleGap) {
        gap.add(&ChunkTally::of(chunk, self.is_identified));
        gap.add_told(chunk);
    }

    fn note(&self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        if let Some(id) = self.id {
            // Too long a note is none.
            let _fits = write::event_unit(id, text, NATIVE_ORDER, &mut out);
        }
        out
    }
}
