//! Records on their way from one form to another.

use super::anonymiser::{Anonymiser, Anonymous, Verdict};
use super::content::{Content, copy_part};
use super::sink::{LeftOut, Sink};
use anyhow::{Context, Result};
use perfdata::bytes::Cursor;
use perfdata::stream::{FeatureId, StreamDecoder, StreamRecord};
use perfdata::{ByteOrder, EventType, RecordHeader, RecordType};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::rc::Rc;

/// Features that would be wrong afterwards: where AUX data stand in the file
/// (told anew), how a directory of files is laid out, how records were packed.
const UNTRUE: [FeatureId; 3] = [FeatureId::AUXTRACE, FeatureId(24), FeatureId::COMPRESSED];
/// What stands before the bytes of a feature in a record.
const FEATURE_FRONT: usize = RecordHeader::SIZE + 8;

struct TracingData {
    file: File,
    size: u64,
    left: u64,
}

pub(super) struct Conversion {
    sink: Box<dyn Sink>,
    /// The file that is read, for what the decoder passes over.
    source: Option<Rc<File>>,
    is_file: bool,
    begun: bool,
    tracing_data: Option<TracingData>,
    records: u64,
    samples: u64,
    anonymiser: Option<Anonymiser>,
    order: ByteOrder,
    /// Features that the sink got.
    features: BTreeSet<FeatureId>,
    left_out: LeftOut,
}

impl Conversion {
    /// `source` is the file that is read, if it is one.
    pub(super) fn new(
        sink: Box<dyn Sink>,
        source: Option<File>,
        anonymiser: Option<Anonymiser>,
    ) -> Conversion {
        Conversion {
            sink,
            source: source.map(Rc::new),
            is_file: false,
            begun: false,
            tracing_data: None,
            records: 0,
            samples: 0,
            anonymiser,
            order: ByteOrder::Little,
            features: BTreeSet::new(),
            left_out: LeftOut::default(),
        }
    }

    /// Takes a record that `stream` just gave, and its bytes.
    ///
    /// # Errors
    ///
    /// What it cannot be written to.
    pub(super) fn record(
        &mut self,
        stream: &StreamDecoder,
        record: &StreamRecord<'_>,
        bytes: &[u8],
    ) -> Result<()> {
        match record {
            StreamRecord::FileHeader => {
                self.is_file = bytes.is_empty();
                self.order = stream.order();
                self.sink.start(self.order)
            }
            StreamRecord::Unreadable { kind, .. } => {
                self.left_out.note(format!("{kind} that cannot be read"));
                Ok(())
            }
            // Of a file: all is taken when the data begin.
            _ if bytes.is_empty() => Ok(()),
            StreamRecord::Skipped(RecordType::COMPRESSED | RecordType::COMPRESSED2) => Ok(()),
            StreamRecord::Payload(kind) => self.payload(*kind, bytes),
            _ => self.anonymised(stream, record, bytes),
        }
    }

    fn anonymised(
        &mut self,
        stream: &StreamDecoder,
        record: &StreamRecord<'_>,
        bytes: &[u8],
    ) -> Result<()> {
        let kind = kind(stream, bytes);
        let Some(anonymiser) = &mut self.anonymiser else {
            return self.in_pipe_or_data(stream, kind, bytes);
        };
        match anonymiser.record(stream, record, bytes) {
            Verdict::AsItIs => self.in_pipe_or_data(stream, kind, bytes),
            Verdict::Changed => {
                let changed = anonymiser.take_changed();
                self.in_pipe_or_data(stream, kind, &changed)?;
                if let Some(anonymiser) = &mut self.anonymiser {
                    anonymiser.give_back(changed);
                }
                Ok(())
            }
            Verdict::LeftOut => {
                match record {
                    // Of many records one is told.
                    StreamRecord::KernelList { is_whole: false } => {}
                    StreamRecord::KernelList { .. } => {
                        self.left_out.note("the kernel's symbols".to_owned());
                    }
                    _ => self.left_out.note(kind.to_string()),
                }
                Ok(())
            }
        }
    }

    /// Everything was read. Tells what was written.
    ///
    /// # Errors
    ///
    /// What it cannot be written to.
    pub(super) fn finish(mut self, stream: &StreamDecoder) -> Result<String> {
        self.begin(stream)?;
        if self.tracing_data.is_some() {
            self.left_out.note("tracing data that are cut off");
        }
        let form = if self.sink.is_file() { "file form" } else { "pipe form" };
        let tracepoints = stream.events().iter().any(|it| it.attr.kind == EventType::TRACEPOINT);
        let formats = self.features.contains(&FeatureId::TRACING_DATA);
        let unopened = match self.sink.is_file() && tracepoints && !formats {
            true => "; perf will not open it without the formats of tracepoints: use --pipe",
            false => "",
        };
        self.sink.finish(stream)?;
        Ok(format!(
            "{form}, {} records, {} of them samples{}{}{unopened}",
            self.records,
            self.samples,
            self.left_out,
            self.anonymiser.as_ref().map(Anonymiser::told).unwrap_or_default()
        ))
    }

    /// Before the first record: events, and the features of a file.
    fn begin(&mut self, stream: &StreamDecoder) -> Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.sink.begin(stream, self.is_file)?;
        let Some(file) = self.source.clone() else { return Ok(()) };
        for &section in &stream.features().sections {
            let (file, offset, size) = (Rc::clone(&file), section.offset, section.size);
            self.feature(section.id, Content::Part { file, offset, size })?;
        }
        Ok(())
    }

    fn in_pipe_or_data(
        &mut self,
        stream: &StreamDecoder,
        kind: RecordType,
        bytes: &[u8],
    ) -> Result<()> {
        match kind {
            RecordType::HEADER_ATTR => self.sink.described(stream),
            RecordType::HEADER_FEATURE => {
                let mut cursor = Cursor::new(&bytes[RecordHeader::SIZE..], stream.order());
                let Ok(id) = cursor.u64() else { return Ok(()) };
                // What a file says at its end is the last word.
                if stream.features().sections.iter().any(|section| section.id.0 == id) {
                    return Ok(());
                }
                self.feature(FeatureId(id), Content::Bytes(bytes[FEATURE_FRONT..].to_vec()))
            }
            RecordType::HEADER_BUILD_ID => self.build_id(bytes),
            RecordType::HEADER_TRACING_DATA => {
                let mut cursor = Cursor::new(&bytes[RecordHeader::SIZE..], stream.order());
                let size = cursor.u32().map_or(0, u64::from);
                let file = tempfile::tempfile().context("cannot make a file in TMPDIR")?;
                self.tracing_data = Some(TracingData { file, size, left: size });
                self.passed_over(stream, kind, size)
            }
            _ if kind.announces_trace(bytes.len()) => {
                self.keep(stream, kind, bytes)?;
                let mut cursor = Cursor::new(&bytes[RecordHeader::SIZE..], stream.order());
                self.passed_over(stream, kind, cursor.u64().unwrap_or(0))
            }
            _ => self.keep(stream, kind, bytes),
        }
    }

    fn keep(&mut self, stream: &StreamDecoder, kind: RecordType, bytes: &[u8]) -> Result<()> {
        self.begin(stream)?;
        self.records += 1;
        self.samples += u64::from(kind == RecordType::SAMPLE);
        self.sink.record(kind, bytes)
    }

    /// Bytes behind a record, which the decoder of a file does not read.
    fn passed_over(&mut self, stream: &StreamDecoder, kind: RecordType, size: u64) -> Result<()> {
        let (true, Some(file)) = (self.is_file, self.source.clone()) else { return Ok(()) };
        let offset = stream.offset();
        let there = file.metadata()?.len().saturating_sub(offset);
        copy_part(&file, offset, size.min(there), |piece| self.payload(kind, piece))
    }

    fn payload(&mut self, kind: RecordType, bytes: &[u8]) -> Result<()> {
        if kind != RecordType::HEADER_TRACING_DATA {
            return match self.anonymiser {
                // The record before them was left out.
                Some(_) => Ok(()),
                None => self.sink.following(bytes),
            };
        }
        let Some(data) = &mut self.tracing_data else { return Ok(()) };
        data.file.write_all(bytes).context("cannot write to TMPDIR")?;
        data.left = data.left.saturating_sub(bytes.len() as u64);
        match self.tracing_data.take() {
            Some(TracingData { file, size, left: 0 }) => {
                let content = Content::Part { file: Rc::new(file), offset: 0, size };
                self.feature(FeatureId::TRACING_DATA, content)
            }
            unfinished => {
                self.tracing_data = unfinished;
                Ok(())
            }
        }
    }

    fn build_id(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(anonymiser) = &mut self.anonymiser else { return self.sink.build_id(bytes) };
        let content = Content::Bytes(bytes.to_vec());
        match anonymiser.feature(FeatureId::BUILD_ID, &content, self.order)? {
            Anonymous::Bytes(bytes) => self.sink.build_id(&bytes),
            Anonymous::AsItIs | Anonymous::LeftOut => {
                self.left_out.note(title(FeatureId::BUILD_ID));
                Ok(())
            }
        }
    }

    /// Adds a feature of the writer's own, once all records were given.
    ///
    /// # Errors
    ///
    /// What it cannot be written to.
    pub(super) fn add(
        &mut self,
        stream: &StreamDecoder,
        id: FeatureId,
        content: Content,
    ) -> Result<()> {
        self.begin(stream)?;
        self.features.insert(id);
        self.sink.feature(id, content, &mut self.left_out)
    }

    fn feature(&mut self, id: FeatureId, content: Content) -> Result<()> {
        if UNTRUE.contains(&id) {
            return Ok(());
        }
        // Files are looked for at a recording's end, which a pipe has too late.
        let is_lost = id == FeatureId::EMBEDDED_FILES && !self.sink.is_file();
        if id > FeatureId::LAST || is_lost {
            self.left_out.note(title(id));
            return Ok(());
        }
        let content = match &mut self.anonymiser {
            None => content,
            Some(anonymiser) => match anonymiser.feature(id, &content, self.order)? {
                Anonymous::AsItIs => content,
                Anonymous::Bytes(bytes) => Content::Bytes(bytes),
                Anonymous::LeftOut => {
                    self.left_out.note(title(id));
                    return Ok(());
                }
            },
        };
        self.features.insert(id);
        self.sink.feature(id, content, &mut self.left_out)
    }
}

fn title(id: FeatureId) -> String {
    match id {
        FeatureId::CMDLINE => "the command line".to_owned(),
        FeatureId::BUILD_ID => "build ids".to_owned(),
        FeatureId::EMBEDDED_FILES => "the files that it carries".to_owned(),
        FeatureId::TRACING_DATA => "formats of tracepoints".to_owned(),
        id => id.to_string(),
    }
}

fn kind(stream: &StreamDecoder, bytes: &[u8]) -> RecordType {
    let header = RecordHeader::decode(&mut Cursor::new(bytes, stream.order()));
    header.map_or(RecordType(0), |header| header.kind)
}
