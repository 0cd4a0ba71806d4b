//! The file form: a header that says where everything is, which is written
//! last.

use super::content::Content;
use super::left_out::LeftOut;
use super::sink::Sink;
use anyhow::Result;
use record::bytes::Writer;
use record::recording::file_form::{self, Events, HEADER_SIZE};
use record::stream::{Decoder, EventDescription, EventName, Feature, FeatureId, write};
use record::{ByteOrder, RecordType};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};

/// Writes the file form.
pub(super) struct FileSink {
    out: BufWriter<File>,
    order: ByteOrder,
    /// Where the events stand, and how many ids each had then.
    events: Option<(Events, Vec<usize>)>,
    /// Where the data start, and how many bytes there are.
    data: (u64, u64),
    /// Where AUXTRACE records stand, and their bytes.
    aux_records: Vec<(u64, u64)>,
    features: BTreeMap<FeatureId, Content>,
}

impl FileSink {
    pub(super) fn new(file: File) -> FileSink {
        FileSink {
            out: BufWriter::with_capacity(1 << 18, file),
            order: ByteOrder::Little,
            events: None,
            data: (HEADER_SIZE, 0),
            aux_records: Vec::new(),
            features: BTreeMap::new(),
        }
    }

    /// Feature AUXTRACE (auxtrace_index__write(), tools/perf/util/auxtrace.c).
    fn aux_index(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut w = Writer::new(&mut out, self.order);
        w.u64(self.aux_records.len() as u64);
        for &(offset, size) in &self.aux_records {
            w.u64(offset);
            w.u64(size);
        }
        out
    }
}

fn id_counts(events: &[EventDescription]) -> Vec<usize> {
    events.iter().map(|event| event.ids.len()).collect()
}

/// The names of events, which a pipe tells in another way.
fn event_names(events: &[EventDescription], order: ByteOrder) -> Result<Vec<EventName>> {
    let name = |event: &EventDescription| {
        Ok(EventName::new(&event.attr, &event.ids, &event.perf_title(), order)?)
    };
    events.iter().map(name).collect()
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
    fn described(&mut self, _: &Decoder) -> Result<()> {
        Ok(())
    }

    fn begin(&mut self, stream: &Decoder, _: bool) -> Result<()> {
        let mut front = Vec::new();
        let events = Events::write(stream.events(), self.order, HEADER_SIZE, &mut front)?;
        let room = file_form::header(events, (0, 0), &[], self.order);
        self.out.write_all(&room)?;
        self.out.write_all(&front)?;
        self.events = Some((events, id_counts(stream.events())));
        self.data.0 = HEADER_SIZE + front.len() as u64;
        Ok(())
    }

    fn record(&mut self, kind: RecordType, bytes: &[u8]) -> Result<()> {
        if kind == RecordType::AUXTRACE {
            self.aux_records.push((self.data.0 + self.data.1, bytes.len() as u64));
        }
        self.following(bytes)
    }

    fn following(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.data.1 += bytes.len() as u64;
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

    fn finish(&mut self, stream: &Decoder) -> Result<()> {
        if self.data.1 == 0 {
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
            let names = Feature::EventDescriptions(event_names(events, self.order)?);
            let names = Content::Bytes(file_form::feature(&names, self.order));
            self.features.insert(FeatureId::EVENT_DESC, names);
        }
        let sizes: Vec<_> =
            self.features.iter().map(|(id, content)| (*id, content.size())).collect();
        let end = self.data.0 + self.data.1;
        let table = file_form::table(&sizes, end, self.order);
        self.out.write_all(&table)?;
        for content in self.features.values() {
            content.copy_to(&mut self.out)?;
        }
        let mut place = self.events.take();
        if place.as_ref().is_none_or(|(_, counts)| *counts != id_counts(events)) {
            let size: u64 = sizes.iter().map(|(_, size)| size).sum();
            let mut bytes = Vec::new();
            let at = end + table.len() as u64 + size;
            let late = Events::write(events, self.order, at, &mut bytes)?;
            self.out.write_all(&bytes)?;
            place = Some((late, Vec::new()));
        }
        if let Some((events, _)) = place {
            let ids: Vec<_> = sizes.iter().map(|(id, _)| *id).collect();
            self.out.seek(SeekFrom::Start(0))?;
            self.out.write_all(&file_form::header(events, self.data, &ids, self.order))?;
        }
        Ok(self.out.flush()?)
    }
}
