//! The pipe form: records from front to back.

use super::content::Content;
use super::sink::{LeftOut, Sink};
use anyhow::{Result, bail};
use perfdata::bytes::{ByteWriter, Cursor};
use perfdata::stream::{FeatureId, StreamDecoder, write};
use perfdata::{ByteOrder, Misc, RecordHeader, RecordType};
use std::fs::File;
use std::io::{BufWriter, Write};

/// Bytes that a feature in a record has at most.
const FEATURE: u64 = 65_535 - 16;

pub(super) struct PipeSink {
    out: BufWriter<File>,
    order: ByteOrder,
    /// How many ids of each event are written.
    ids: Vec<usize>,
    scratch: Vec<u8>,
}

impl PipeSink {
    pub(super) fn new(file: File) -> PipeSink {
        let out = BufWriter::with_capacity(1 << 18, file);
        PipeSink { out, order: ByteOrder::Little, ids: Vec::new(), scratch: Vec::new() }
    }

    fn flush_scratch(&mut self) -> Result<()> {
        self.out.write_all(&self.scratch)?;
        self.scratch.clear();
        Ok(())
    }

    /// The build ids of a file are records without a type.
    fn build_ids(&mut self, ids: &[u8]) -> Result<()> {
        let mut cursor = Cursor::new(ids, self.order);
        while let Ok(header) = RecordHeader::decode(&mut cursor) {
            let body = usize::from(header.size).checked_sub(RecordHeader::SIZE);
            let Some(Ok(body)) = body.map(|size| cursor.take(size)) else { break };
            let header = RecordHeader { kind: RecordType::HEADER_BUILD_ID, ..header };
            header.encode(&mut ByteWriter::new(&mut self.scratch, self.order));
            self.scratch.extend_from_slice(body);
        }
        self.flush_scratch()
    }

    /// Bytes behind a record that says how many.
    fn tracing_data(&mut self, content: &Content) -> Result<()> {
        let size = content.size().next_multiple_of(8);
        let Ok(word) = u32::try_from(size) else { bail!("tracing data of {size} bytes") };
        let kind = RecordType::HEADER_TRACING_DATA;
        let w = &mut ByteWriter::new(&mut self.scratch, self.order);
        RecordHeader { kind, misc: Misc(0), size: 12 }.encode(w);
        w.u32(word);
        self.flush_scratch()?;
        content.copy_to(&mut self.out)?;
        let padding = usize::try_from(size - content.size()).unwrap_or(0);
        Ok(self.out.write_all(&[0; 8][..padding])?)
    }
}

impl Sink for PipeSink {
    fn is_file(&self) -> bool {
        false
    }

    fn start(&mut self, order: ByteOrder) -> Result<()> {
        self.order = order;
        write::file_header(order, &mut self.scratch);
        self.flush_scratch()
    }

    fn described(&mut self, stream: &StreamDecoder) -> Result<()> {
        for (index, event) in stream.events().iter().enumerate() {
            let written = self.ids.get(index).copied();
            let left = &event.ids[written.unwrap_or(0)..];
            if written.is_none() && left.is_empty() {
                write::attr(&event.attr, &[], self.order, &mut self.scratch)?;
            }
            for ids in left.chunks(write::IDS_A_RECORD) {
                write::attr(&event.attr, ids, self.order, &mut self.scratch)?;
            }
        }
        self.ids = stream.events().iter().map(|event| event.ids.len()).collect();
        self.flush_scratch()
    }

    /// Names that a file tells in a feature, where perf looks for them in a
    /// pipe.
    fn begin(&mut self, stream: &StreamDecoder, of_file: bool) -> Result<()> {
        self.described(stream)?;
        let named = stream.events().iter().enumerate().filter(|_| of_file);
        for (index, event) in named {
            // Without ids, 0 means the first event.
            let id = event.ids.first().copied().or_else(|| (index == 0).then_some(0));
            if let (Some(id), Some(name)) = (id, &event.name) {
                write::event_name(id, name, self.order, &mut self.scratch)?;
            }
        }
        self.flush_scratch()
    }

    fn record(&mut self, _: RecordType, bytes: &[u8]) -> Result<()> {
        Ok(self.out.write_all(bytes)?)
    }

    fn following(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.out.write_all(bytes)?)
    }

    fn build_id(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.out.write_all(bytes)?)
    }

    fn feature(&mut self, id: FeatureId, content: Content, left_out: &mut LeftOut) -> Result<()> {
        match id {
            // That there are some is all it says.
            FeatureId::BRANCH_STACK => {}
            // A recorder that found nothing to tell left the section empty;
            // of a pipe perf reads the first field of each record, and gives
            // up the whole where there is none.
            _ if content.size() == 0 => return Ok(()),
            FeatureId::BUILD_ID => return self.build_ids(&content.to_bytes()?),
            FeatureId::TRACING_DATA => return self.tracing_data(&content),
            _ => {}
        }
        if content.size() > FEATURE {
            left_out.note(format!("{id}, of {} bytes, which no record holds", content.size()));
            return Ok(());
        }
        let data = content.to_bytes()?;
        write::feature_bytes(id, &data, self.order, &mut self.scratch)?;
        self.flush_scratch()
    }

    fn finish(&mut self, _: &StreamDecoder) -> Result<()> {
        Ok(self.out.flush()?)
    }
}
