//! Writing the file form: what stands around the data of a file
//! (`perf_session__write_header()`, tools/perf/util/header.c).
//!
//! A file is a header of [`HEADER_SIZE`] bytes, the events, the data (records
//! as they are), a table of features and the features. Only when all of that
//! is there does the header say where everything stands: [`FileOutline`].

mod outline;
mod tracing_data;

pub use outline::{FileEnd, FileOutline, event_names};
pub use tracing_data::{TracepointFormat, TracingData};

use super::file_header::{FileHeader, Section};
use crate::attr::Attr;
use crate::bytes::{ByteOrder, ByteWriter};
use crate::stream::write::{self, WriteError};
use crate::stream::{EventDescription, Feature, FeatureId};

/// Bytes of a header with the bitmap of features.
pub const HEADER_SIZE: u64 = FileHeader::WITH_FEATURES;

/// Where the events of a file stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Events {
    entry: u64,
    attrs: Section,
}

impl Events {
    /// Appends ids and attrs of events, to stand at the offset `at` of a
    /// file.
    ///
    /// All attrs get one size, as perf steps from one to the next by their
    /// own. It is the largest of them; but 128 where nothing is lost by that,
    /// which is what every perf since 5.12 reads.
    ///
    /// # Errors
    /// An attr that cannot be written.
    fn write(
        events: &[EventDescription],
        order: ByteOrder,
        at: u64,
        out: &mut Vec<u8>,
    ) -> Result<Events, WriteError> {
        let start = out.len();
        let offset = |out: &Vec<u8>| at + (out.len() - start) as u64;
        let mut sections = Vec::new();
        for event in events {
            let size = 8 * event.ids.len() as u64;
            sections.push(Section { offset: offset(out), size });
            let mut w = ByteWriter::new(out, order);
            event.ids.iter().for_each(|&id| w.u64(id));
        }
        let size = events.iter().map(|event| size_in_file(&event.attr)).max().unwrap_or(0);
        let entry = u64::from(size) + FileHeader::SECTION;
        let attrs = Section { offset: offset(out), size: entry * events.len() as u64 };
        for (event, ids) in events.iter().zip(sections) {
            event.attr.encode(size, order, out)?;
            put_section(ids, &mut ByteWriter::new(out, order));
        }
        Ok(Events { entry, attrs })
    }
}

fn size_in_file(attr: &Attr) -> u32 {
    attr.size.min(attr.stream_size()).max(attr.least_size())
}

/// The header of a file whose data are followed by the table of these
/// features.
fn header(events: Events, data: Section, features: &[FeatureId], order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    let w = &mut ByteWriter::new(&mut out, order);
    w.u64(write::MAGIC);
    w.u64(HEADER_SIZE);
    w.u64(events.entry);
    put_section(events.attrs, w);
    put_section(data, w);
    // Names of events, which nobody has written since Linux 3.10.
    put_section(Section::default(), w);
    for word in 0..FileHeader::BITMAP {
        let bits = features.iter().filter(|id| id.0 / 64 == word);
        w.u64(bits.fold(0, |bits, id| bits | 1 << (id.0 % 64)));
    }
    out
}

/// The table of features of these sizes, in bytes, which follow it one after
/// the other; it stands at the offset `at`, behind the data. Features must
/// come in order of their ids.
fn table(features: &[(FeatureId, u64)], at: u64, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    let mut offset = at + FileHeader::SECTION * features.len() as u64;
    for &(_, size) in features {
        put_section(Section { offset, size }, &mut ByteWriter::new(&mut out, order));
        offset += size;
    }
    out
}

/// The bytes of a feature.
pub fn feature(feature: &Feature, order: ByteOrder) -> Vec<u8> {
    let mut out = Vec::new();
    feature.encode(&mut ByteWriter::new(&mut out, order));
    out
}

fn put_section(section: Section, w: &mut ByteWriter<'_>) {
    w.u64(section.offset);
    w.u64(section.size);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::{RecordingDecoder, RecordingSource, RecordingStep};
    use crate::stream::{StreamError, StreamRecord};

    fn events(sizes: &[u32], order: ByteOrder) -> Vec<EventDescription> {
        let mut out = Vec::new();
        let mut decoder = crate::stream::StreamDecoder::new();
        write::file_header(order, &mut out);
        for (&size, id) in sizes.iter().zip(100u64..) {
            let attr = Attr { size, config: id, ..Attr::default() };
            write::attr(&attr, &[id, id + 1000], order, &mut out).unwrap();
        }
        let mut at = 0;
        while let crate::stream::StreamStep::Record { consumed, .. } =
            decoder.step(&out[at..]).unwrap()
        {
            at += consumed;
        }
        let mut events = decoder.events().to_vec();
        for (event, &size) in events.iter_mut().zip(sizes) {
            event.attr.size = size;
        }
        events
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let events = events(&[96, 112], order);
            let mut file = Vec::new();
            let outline = FileOutline::begin(&events, order, &mut file).unwrap();
            assert_eq!(outline.data_start(), file.len() as u64);
            write::finished_round(order, &mut file);

            // Its recorder may die here,
            let (decoder, rounds) = read(&file);
            assert_eq!(rounds, 1);
            assert_eq!(decoder.finish(0), Err(StreamError::Unfinished { left: 0 }));
            assert_eq!(decoder.stream().events().len(), events.len());

            let data_end = file.len() as u64;
            let name = feature(&Feature::Hostname("here".into()), order);
            let kept = [(FeatureId::HOSTNAME, name.len() as u64), (FeatureId(200), 3)];
            let end = outline.end(data_end, &events, &kept).unwrap();
            assert!(end.events.is_empty(), "the front has them");
            // or here, or have a disk that takes no more.
            let mut bare = file.clone();
            bare[..104].copy_from_slice(&outline.header(data_end));
            let (decoder, rounds) = read(&bare);
            assert_eq!((rounds, decoder.finish(0)), (1, Ok(())));

            file.extend([&end.table, &name, &b"new"[..]].concat());
            file[..104].copy_from_slice(&end.header);
            let (decoder, rounds) = read(&file);
            decoder.finish(0).unwrap();
            let stream = decoder.stream();
            assert_eq!((rounds, stream.tally().unreadable()), (1, None));
            assert_eq!(stream.features().hostname.as_deref(), Some("here"));
            assert_eq!(stream.features().others[&FeatureId(200)], b"new");
            for (event, read) in events.iter().zip(stream.events()) {
                assert_eq!((&event.ids, event.attr.config), (&read.ids, read.attr.config));
                assert_eq!(read.attr.size, 112, "one size for all");
            }
        }
    }

    /// Reads to the end, and counts rounds.
    fn read(file: &[u8]) -> (RecordingDecoder, u64) {
        let mut decoder =
            RecordingDecoder::new(RecordingSource::File { length: file.len() as u64 });
        let (mut at, mut rounds) = (0, 0);
        loop {
            match decoder.step(&file[at..]).unwrap() {
                RecordingStep::Record { consumed, record, .. } => {
                    at += consumed;
                    rounds += u64::from(record == StreamRecord::FinishedRound);
                }
                RecordingStep::Seek(offset) => at = usize::try_from(offset).unwrap(),
                RecordingStep::NeedMore(_) | RecordingStep::End => return (decoder, rounds),
            }
        }
    }

    #[test]
    fn events_that_come_late_stand_behind_all() {
        let order = ByteOrder::Little;
        let events = events(&[112, 112], order);
        let mut file = Vec::new();
        let outline = FileOutline::begin(&events[..1], order, &mut file).unwrap();
        write::finished_round(order, &mut file);
        let name = feature(&Feature::Hostname("here".into()), order);
        let kept = [(FeatureId::HOSTNAME, name.len() as u64)];
        let end = outline.end(file.len() as u64, &events, &kept).unwrap();
        file.extend([end.table, name, end.events].concat());
        file[..104].copy_from_slice(&end.header);
        let (decoder, rounds) = read(&file);
        assert_eq!((rounds, decoder.finish(0)), (1, Ok(())));
        let ids: Vec<_> = decoder.stream().events().iter().map(|event| &event.ids).collect();
        assert_eq!(ids, [&events[0].ids, &events[1].ids]);
        assert_eq!(decoder.stream().features().hostname.as_deref(), Some("here"));
    }

    #[test]
    fn attrs_shrink_to_what_old_readers_know_and_no_further() {
        let sizes = |attr: Attr| size_in_file(&attr);
        assert_eq!(sizes(Attr { size: 64, ..Attr::default() }), 64);
        assert_eq!(sizes(Attr { size: 136, ..Attr::default() }), 128);
        assert_eq!(sizes(Attr { size: 144, config3: 1, ..Attr::default() }), 136);
        assert_eq!(sizes(Attr { size: 64, sample_regs_intr: 1, ..Attr::default() }), 104);
    }
}
