//! A session's stream on its way into a file, in file form.
//!
//! The stream tells events and the machine in records before all others. In
//! a file events stand in front, so these first records are held back until
//! the data begin. After each piece the header says how many data there are:
//! perf refuses files that say 0, as those of its own recorder that was
//! killed do. What tells of the machine stays among the data besides, so
//! that a recorder that is killed leaves all it knew; what comes at the end
//! is for readers who look for it there.

use super::destination::Destination;
use super::stack_unwinder::StackUnwinder;
use super::{first_record, keeper};
use perfdata::bytes::Cursor;
use perfdata::recording::file_form::{self, FileOutline};
use perfdata::stream::{FeatureId, StreamDecoder, StreamStep};
use perfdata::{EventType, RecordHeader, RecordType};
use recorder::Facts;
use recorder::session::ledger::Ledger;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use symbolizer::{FilePacker, KeptFiles, PackedFiles};

/// Bytes of files, before they are packed, that a recording carries unasked:
/// packed in two or three seconds.
const MOST_CARRIED: u64 = 512 << 20;
/// Bytes that a stream in pipe form begins with.
const STREAM_HEADER: usize = 16;
/// Bytes of a HEADER_FEATURE before its content.
const FEATURE_FRONT: usize = RecordHeader::SIZE + 8;

#[derive(Debug)]
pub(super) struct RecordedFile {
    destination: Destination,
    facts: Facts,
    stream: StreamDecoder,
    /// Features by number, as they will stand at the end.
    features: BTreeMap<FeatureId, Vec<u8>>,
    form: Form,
    kept: Option<KeptFiles>,
    carried: Vec<String>,
    unwinder: Option<Box<StackUnwinder>>,
}

#[derive(Debug, Default)]
pub struct RecordedExtras {
    pub carried: Option<KeptFiles>,
    /// Whether frames take the place of copied stacks.
    pub unwinds: bool,
}

#[derive(Debug)]
enum Form {
    /// Not known yet: nothing but these bytes came.
    Held(Vec<u8>),
    File(FileOutline),
    /// As the stream comes, and why.
    Pipe(String),
}

impl RecordedFile {
    /// `facts` tell how tracepoints are laid out.
    pub(super) fn new(
        destination: Destination,
        facts: Facts,
        extras: RecordedExtras,
    ) -> RecordedFile {
        RecordedFile {
            kept: extras.carried,
            unwinder: extras.unwinds.then(|| Box::new(StackUnwinder::new())),
            carried: Vec::new(),
            destination,
            facts,
            stream: StreamDecoder::new(),
            features: BTreeMap::new(),
            form: Form::Held(Vec::new()),
        }
    }

    /// Writes records as [`Destination::write_records`] does, or keeps them for a
    /// while and leaves another buffer for them.
    pub(super) fn write_records(&mut self, bytes: &mut Vec<u8>) -> (u64, io::Result<()>) {
        if let Some(kept) = &mut self.kept {
            keeper::keep(kept, bytes);
        }
        let Some(mut unwinder) = self.unwinder.take() else { return self.write_kept(bytes) };
        let written = unwinder.take(bytes, |ready| self.write_kept(ready));
        self.unwinder = Some(unwinder);
        (0, written)
    }

    /// Books what was taken and could not be written.
    pub(super) fn settle(&mut self, ledger: &mut Ledger) {
        if let Some(unwinder) = &mut self.unwinder {
            unwinder.settle(ledger);
        }
    }

    fn write_kept(&mut self, bytes: &[u8]) -> (u64, io::Result<()>) {
        match &mut self.form {
            Form::Held(held) => {
                held.extend_from_slice(bytes);
                let front = front(held);
                // Of the rest only the next bytes tell whether it is more of it.
                if front == held.len() {
                    return (0, Ok(()));
                }
                let held = std::mem::take(held);
                match self.begin(&held[..front]) {
                    Ok(()) => self.write_kept(&held[front..]),
                    Err(error) => (0, Err(error)),
                }
            }
            Form::File(_) => {
                let (kept, written) = match self.without_events(bytes) {
                    Ok(None) => self.destination.write_records(bytes),
                    Ok(Some(others)) => self.destination.write_records(&others),
                    Err(error) => (0, Err(error)),
                };
                (kept, written.and(self.say_size()))
            }
            Form::Pipe(_) => self.destination.write_records(bytes),
        }
    }

    /// The stream has ended: what a file ends with.
    ///
    /// # Errors
    ///
    /// A full disk: the file ends with its data then, all of which can be
    /// read.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let waited = match self.unwinder.take() {
            Some(mut unwinder) => {
                let written = unwinder.finish(|ready| self.write_kept(ready));
                self.unwinder = Some(unwinder);
                written
            }
            None => Ok(()),
        };
        waited.and(self.finish_form())
    }

    fn finish_form(&mut self) -> io::Result<()> {
        if let Form::Held(held) = &mut self.form {
            let held = std::mem::take(held);
            if held.is_empty() {
                return Ok(());
            }
            self.begin(&held)?;
        }
        let Form::File(_) = self.form else { return Ok(()) };
        let order = self.stream.order();
        let names =
            file_form::event_names(self.stream.events(), order).map_err(io::Error::other)?;
        self.features.insert(FeatureId::EVENT_DESC, file_form::feature(&names, order));
        let result = match self.pack() {
            None => self.end(None),
            // A recording without them is better than none.
            Some(packed) => self.end(Some(&packed)).or_else(|error| {
                self.carried = vec![not_carried(&error)];
                self.end(None)
            }),
        };
        result.map_err(|error| {
            let why = format!("the names at the recording's end: {error}");
            io::Error::new(error.kind(), why)
        })
    }

    fn pack(&mut self) -> Option<PackedFiles> {
        let mut kept = self.kept.take()?;
        kept.look_again();
        self.carried = keeper::notes(&kept);
        if kept.is_empty() {
            return None;
        }
        let pack = || -> io::Result<PackedFiles> {
            let spool = Destination::spool().map_err(io::Error::other)?;
            let packer = FilePacker::new(spool.reread()?, MOST_CARRIED);
            kept.pack_into(&packer);
            packer.finish()
        };
        match pack() {
            Ok(packed) => {
                if !packed.left_out.is_empty() {
                    self.carried.push(format!(
                        "the recording does not carry {}, as it would be more than {} MiB: names \
                         need the files where they lie now; `ebs archive FILE` packs them all",
                        packed.left_out.join(", "),
                        MOST_CARRIED >> 20
                    ));
                }
                (packed.files > 0).then_some(packed)
            }
            Err(error) => {
                self.carried.push(not_carried(&error));
                None
            }
        }
    }

    /// Writes what a file ends with, and the header that knows of it.
    fn end(&mut self, packed: Option<&PackedFiles>) -> io::Result<()> {
        let (Form::File(outline), Some(data_end)) = (&self.form, self.destination.end()) else {
            return Ok(());
        };
        let mut sizes: Vec<_> =
            self.features.iter().map(|(id, content)| (*id, content.len() as u64)).collect();
        // Their number is the last that there can be.
        sizes.extend(packed.map(|packed| (FeatureId::EMBEDDED_FILES, packed.size)));
        let end = outline.end(data_end, self.stream.events(), &sizes).map_err(io::Error::other)?;
        let mut tail = end.table;
        self.features.values().for_each(|content| tail.extend_from_slice(content));
        let archive = packed.map(|packed| (&packed.archive, packed.size));
        self.destination.write_tail(&tail, archive, &end.events)?;
        self.destination.replace_front(&end.header)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.carried.clone();
        notes.extend(self.form_notes());
        notes
    }

    fn form_notes(&self) -> Vec<String> {
        match &self.form {
            Form::Pipe(why) => vec![format!(
                "the recording is in pipe form: {why}, and perf opens no file without the formats \
                 of its tracepoints"
            )],
            Form::Held(_) | Form::File(_) => Vec::new(),
        }
    }

    /// Writes what comes before the data, told by the stream's first bytes.
    fn begin(&mut self, front: &[u8]) -> io::Result<()> {
        self.learn(front)?;
        let mut records = front.get(STREAM_HEADER..).unwrap_or_default();
        if let Err(why) = self.describe_tracepoints() {
            self.form = Form::Pipe(why);
            return self.destination.write_whole(front);
        }
        let mut bytes = Vec::new();
        let outline = FileOutline::begin(self.stream.events(), self.stream.order(), &mut bytes)
            .map_err(io::Error::other)?;
        while let Some((header, record)) = first_record(records) {
            records = &records[record.len()..];
            if header.kind != RecordType::HEADER_ATTR {
                bytes.extend_from_slice(record);
            }
            self.note_feature(header, record);
        }
        let header = outline.header(bytes.len() as u64);
        bytes[..header.len()].copy_from_slice(&header);
        self.destination.write_whole(&bytes)?;
        self.form = Form::File(outline);
        Ok(())
    }

    /// So that the file can be read as it is now.
    fn say_size(&self) -> io::Result<()> {
        match (&self.form, self.destination.end()) {
            (Form::File(outline), Some(end)) => {
                self.destination.replace_front(&outline.header(end))
            }
            _ => Ok(()),
        }
    }

    /// Records without those that describe events, which stand elsewhere in
    /// a file; None: there are none of these.
    fn without_events(&mut self, bytes: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut others: Option<Vec<u8>> = None;
        let mut rest = bytes;
        while let Some((header, record)) = first_record(rest) {
            let at = bytes.len() - rest.len();
            rest = &rest[record.len()..];
            match header.kind {
                RecordType::HEADER_ATTR => {
                    self.learn(record)?;
                    others.get_or_insert_with(|| bytes[..at].to_vec());
                    continue;
                }
                RecordType::HEADER_FEATURE => self.note_feature(header, record),
                _ => {}
            }
            if let Some(others) = &mut others {
                others.extend_from_slice(record);
            }
        }
        Ok(others)
    }

    fn learn(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.step(bytes).map_err(io::Error::other)? {
                StreamStep::Record { consumed, .. } => bytes = &bytes[consumed..],
                StreamStep::NeedMore(_) => {
                    return Err(io::Error::other("a record that is cut in two"));
                }
            }
        }
        Ok(())
    }

    fn note_feature(&mut self, header: RecordHeader, record: &[u8]) {
        if header.kind != RecordType::HEADER_FEATURE {
            return;
        }
        let mut cursor = Cursor::new(&record[RecordHeader::SIZE..], self.stream.order());
        if let (Ok(id), Some(content)) = (cursor.u64(), record.get(FEATURE_FRONT..))
            && FeatureId(id) <= FeatureId::LAST
        {
            self.features.insert(FeatureId(id), content.to_vec());
        }
    }

    /// perf opens no file with a tracepoint that it has no format of.
    fn describe_tracepoints(&mut self) -> Result<(), String> {
        let tracepoints =
            self.stream.events().iter().filter(|event| event.attr.kind == EventType::TRACEPOINT);
        let names: Vec<_> = tracepoints.map(|event| (event.title(), event.attr.config)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let points: Vec<_> = names.iter().map(|(name, id)| (name.as_ref(), *id)).collect();
        let data = self.facts.tracing_data(Path::new("/"), &points);
        let data = data.map_err(|why| why.to_string())?;
        self.features.insert(FeatureId::TRACING_DATA, data.encode(self.stream.order()));
        Ok(())
    }
}

fn not_carried(error: &io::Error) -> String {
    format!(
        "the recording carries no files, as they cannot be packed ({error}): names need them where \
         they lie now"
    )
}

/// Bytes of a stream's front: its header, and records up to the first that
/// tells neither of events nor of the machine.
fn front(bytes: &[u8]) -> usize {
    let mut end = STREAM_HEADER.min(bytes.len());
    while let Some((header, record)) = first_record(&bytes[end..]) {
        let tells = [RecordType::HEADER_ATTR, RecordType::EVENT_UPDATE, RecordType::HEADER_FEATURE];
        if !tells.contains(&header.kind) {
            break;
        }
        end += record.len();
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::sample::OutputPlace;
    use perfdata::recording::{self, RecordingForm, RecordingSource};
    use perfdata::stream::{Feature, StreamRecord, write};
    use perfdata::{Attr, Sample, SampleLayout, SampleType, Time};
    use std::fs;
    use std::path::PathBuf;
    use tempfile::TempDir;

    use super::super::NATIVE_ORDER as ORDER;

    const SAMPLED: SampleType =
        SampleType::IDENTIFIER.union(SampleType::IP).union(SampleType::TIME);

    fn attr(kind: EventType) -> Attr {
        Attr { kind, config: 2, sample_type: SAMPLED, ..Attr::default() }
    }

    /// Events with the ids 1 and so on, a name for the first, a feature.
    fn front_of(kinds: &[EventType]) -> Vec<u8> {
        let mut out = Vec::new();
        write::file_header(ORDER, &mut out);
        for (kind, id) in kinds.iter().zip(1..) {
            write::attr(&attr(*kind), &[id], ORDER, &mut out).unwrap();
        }
        write::event_name(1, "first", ORDER, &mut out).unwrap();
        write::feature(&Feature::Hostname("here".into()), ORDER, &mut out).unwrap();
        out
    }

    fn samples(id: u64, times: std::ops::Range<u64>) -> Vec<u8> {
        let layout = SampleLayout::new(&attr(EventType::SOFTWARE), ORDER).unwrap();
        let mut out = Vec::new();
        for time in times {
            let (identifier, ip, time) = (Some(id), Some(time), Some(Time(time)));
            let sample = Sample { identifier, ip, time, ..Sample::default() };
            layout.encode(&sample, &mut out).unwrap();
        }
        write::finished_round(ORDER, &mut out);
        out
    }

    struct Scene {
        _directory: TempDir,
        path: PathBuf,
        file: RecordedFile,
    }

    impl Scene {
        fn new() -> Scene {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("f.data");
            let destination =
                Destination::create(&OutputPlace::File(path.clone()), &mut || false).unwrap();
            let file = RecordedFile::new(destination, Facts::default(), RecordedExtras::default());
            Scene { _directory: directory, path, file }
        }

        fn write(&mut self, bytes: &[u8]) {
            let (_, result) = self.file.write_records(&mut bytes.to_vec());
            result.unwrap();
        }

        /// What is in the file now: its decoder, and how many samples of each
        /// event.
        fn read(&self) -> (recording::RecordingDecoder, Vec<usize>) {
            let bytes = fs::read(&self.path).unwrap();
            let length = bytes.len() as u64;
            let mut decoder = recording::RecordingDecoder::new(RecordingSource::File { length });
            let mut found = Vec::new();
            let mut at = 0;
            loop {
                match decoder.step(&bytes[at..]).unwrap() {
                    recording::RecordingStep::Record { consumed, record, .. } => {
                        at += consumed;
                        if let StreamRecord::Sample(sample) = record {
                            found.resize(found.len().max(sample.event + 1), 0);
                            found[sample.event] += 1;
                        }
                    }
                    recording::RecordingStep::Seek(offset) => at = usize::try_from(offset).unwrap(),
                    recording::RecordingStep::NeedMore(_) | recording::RecordingStep::End => break,
                }
            }
            assert_eq!(decoder.finish(0), Ok(()), "readable at any time");
            (decoder, found)
        }
    }

    #[test]
    fn a_file_can_be_read_while_it_is_written() {
        let mut scene = Scene::new();
        let front = front_of(&[EventType::SOFTWARE, EventType::SOFTWARE]);
        // As a daemon sends it: cut between any two records.
        let (begun, rest) = front.split_at(STREAM_HEADER);
        scene.write(begun);
        scene.write(rest);
        assert_eq!(fs::metadata(&scene.path).unwrap().len(), 0, "events stand before all else");
        for passes in 1..4 {
            scene.write(&[samples(1, 0..3), samples(2, 0..2)].concat());
            let (decoder, found) = scene.read();
            assert_eq!(
                (decoder.form(), found),
                (RecordingForm::File, vec![3 * passes, 2 * passes])
            );
            let stream = decoder.stream();
            assert_eq!(
                stream.events()[0].name.as_deref(),
                Some("first"),
                "the name is in the data"
            );
            assert_eq!(stream.features().hostname.as_deref(), Some("here"));
            assert!(stream.features().sections.is_empty(), "not at the end yet");
        }
        scene.file.finish().unwrap();
        let (decoder, found) = scene.read();
        assert_eq!(found, [9, 6]);
        let stream = decoder.stream();
        assert_eq!(stream.events().len(), 2);
        assert_eq!(stream.features().hostname.as_deref(), Some("here"));
        assert!(scene.file.notes().is_empty());
    }

    #[test]
    fn what_is_told_late_stands_at_the_end() {
        let mut scene = Scene::new();
        scene.write(&[front_of(&[EventType::SOFTWARE]), samples(1, 0..3)].concat());
        let mut late = samples(1, 3..5);
        write::attr(&attr(EventType::SOFTWARE), &[2, 3], ORDER, &mut late).unwrap();
        write::feature(&Feature::OsRelease("6.18".into()), ORDER, &mut late).unwrap();
        late.extend(samples(3, 0..7));
        scene.write(&late);
        scene.file.finish().unwrap();
        let (decoder, found) = scene.read();
        assert_eq!(found, [5, 7]);
        let stream = decoder.stream();
        assert_eq!(stream.events()[1].ids, [2, 3]);
        assert_eq!(stream.features().os_release.as_deref(), Some("6.18"));
        assert_eq!(stream.tally().unreadable(), None);
    }

    #[test]
    fn without_any_record_there_is_still_a_file() {
        let mut scene = Scene::new();
        scene.write(&front_of(&[EventType::SOFTWARE]));
        scene.file.finish().unwrap();
        let (decoder, found) = scene.read();
        assert_eq!((decoder.stream().events().len(), found.len()), (1, 0));
        let mut nothing = Scene::new();
        nothing.file.finish().unwrap();
        assert_eq!(fs::metadata(&nothing.path).unwrap().len(), 0);
    }

    #[test]
    fn tracepoints_without_their_formats_stay_in_pipe_form() {
        let mut scene = Scene::new();
        let stream = [front_of(&[EventType::TRACEPOINT]), samples(1, 0..3)].concat();
        scene.write(&stream);
        scene.file.finish().unwrap();
        assert_eq!(fs::read(&scene.path).unwrap(), stream);
        let notes = scene.file.notes();
        assert!(notes.len() == 1 && notes[0].contains("tracefs is not mounted"), "{notes:?}");
    }
}
