//! The file form: a header that says where everything is, which is written
//! last.

use super::content::Content;
use super::sink::{LeftOut, Sink};
use anyhow::Result;
use perfdata::bytes::ByteWriter;
use perfdata::recording::file_form::{self, FileOutline};
use perfdata::stream::{FeatureId, StreamDecoder, write};
use perfdata::{ByteOrder, RecordType};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

pub(super) struct FileSink {
    out: BufWriter<File>,
    order: ByteOrder,
    outline: Option<FileOutline>,
    data_end: u64,
    /// Where AUXTRACE records stand, and their bytes.
    aux_records: Vec<(u64, u64)>,
    features: BTreeMap<FeatureId, Content>,
}

impl FileSink {
    pub(super) fn new(file: File) -> FileSink {
        FileSink {
            out: BufWriter::with_capacity(1 << 18, file),
            order: ByteOrder::Little,
            outline: None,
            data_end: 0,
            aux_records: Vec::new(),
            features: BTreeMap::new(),
        }
    }

    /// Feature AUXTRACE (auxtrace_index__write(), tools/perf/util/auxtrace.c).
    fn aux_index(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = ByteWriter::new(&mut out, self.order);
        w.u64(self.aux_records.len() as u64);
        for &(offset, size) in &self.aux_records {
            w.u64(offset);
            w.u64(size);
        }
        out
    }
}

impl Sink for FileSink {
    fn is_file(&self) -> bool {
        true
    }

    fn start(&mut self, order: ByteOrder) -> Result<()> {
        self.order = order;
        Ok(())
    }

    /// All at once, before the data; what comes later is written behind all.
    fn described(&mut self, _: &StreamDecoder) -> Result<()> {
        Ok(())
    }

    fn begin(&mut self, stream: &StreamDecoder, _: bool) -> Result<()> {
        let mut front = Vec::new();
        self.outline = Some(FileOutline::begin(stream.events(), self.order, &mut front)?);
        self.data_end = front.len() as u64;
        Ok(self.out.write_all(&front)?)
    }

    fn record(&mut self, kind: RecordType, bytes: &[u8]) -> Result<()> {
        if kind.announces_trace(bytes.len()) {
            self.aux_records.push((self.data_end, bytes.len() as u64));
        }
        self.following(bytes)
    }

    fn following(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.data_end += bytes.len() as u64;
        Ok(())
    }

    fn build_id(&mut self, bytes: &[u8]) -> Result<()> {
        let none = Content::Bytes(Vec::new());
        let ids = self.features.entry(FeatureId::BUILD_ID).or_insert(none);
        if let Content::Bytes(ids) = ids {
            ids.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn feature(&mut self, id: FeatureId, content: Content, _: &mut LeftOut) -> Result<()> {
        self.features.insert(id, content);
        Ok(())
    }

    fn finish(&mut self, stream: &StreamDecoder) -> Result<()> {
        let Some(outline) = self.outline.take() else { return Ok(()) };
        if self.data_end == outline.data_start() {
            // No data at all would mean that the recorder died.
            let mut mark = Vec::new();
            write::finished_round(self.order, &mut mark);
            self.following(&mark)?;
        }
        let events = stream.events();
        if !self.aux_records.is_empty() {
            let index = Content::Bytes(self.aux_index());
            self.features.insert(FeatureId::AUXTRACE, index);
        }
        if events.iter().any(|event| event.name.is_some())
            && !self.features.contains_key(&FeatureId::EVENT_DESC)
        {
            let names = file_form::event_names(events, self.order)?;
            let names = Content::Bytes(file_form::feature(&names, self.order));
            self.features.insert(FeatureId::EVENT_DESC, names);
        }
        let sizes: Vec<_> =
            self.features.iter().map(|(id, content)| (*id, content.size())).collect();
        let end = outline.end(self.data_end, events, &sizes)?;
        self.out.write_all(&end.table)?;
        for content in self.features.values() {
            content.copy_to(&mut self.out)?;
        }
        self.out.write_all(&end.events)?;
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&end.header)?;
        Ok(self.out.flush()?)
    }
}
