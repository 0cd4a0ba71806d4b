//! perf.data in file form (`perf_session__write_header()`,
//! tools/perf/util/header.c): header, ids, attrs, data, table of features,
//! features.

use super::attr::{self, Attr};
use super::bytes::Bytes;
use std::io::{self, Seek, SeekFrom, Write};

const HEADER: u32 = 104;
/// An attr and the section of its ids.
const ENTRY: u64 = attr::SIZE as u64 + 16;

const EVENT_DESC: u32 = 12;

#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) attr: Attr,
    pub(crate) ids: Vec<u64>,
    pub(crate) name: &'static str,
}

/// A file that takes records until it is finished.
pub(crate) struct Writer<W> {
    out: W,
    events: Vec<Event>,
    attrs: u64,
    data: u64,
    size: u64,
}

impl<W: Write + Seek> Writer<W> {
    pub(crate) fn new(mut out: W, events: &[Event]) -> io::Result<Writer<W>> {
        let mut front = Bytes::default();
        front.0.resize(HEADER as usize, 0);
        let mut sections = Vec::new();
        for event in events {
            sections.push((front.0.len() as u64, 8 * event.ids.len() as u64));
            front.u64s(&event.ids);
        }
        let attrs = front.0.len() as u64;
        for (event, (offset, size)) in events.iter().zip(sections) {
            event.attr.put(&mut front);
            front.u64s(&[offset, size]);
        }
        out.write_all(&front.0)?;
        let data = front.0.len() as u64;
        Ok(Writer { out, events: events.to_vec(), attrs, data, size: 0 })
    }

    /// Records, whole ones.
    pub(crate) fn records(&mut self, records: &[u8]) -> io::Result<()> {
        self.size += records.len() as u64;
        self.out.write_all(records)
    }

    /// Writes features (number and bytes, in order of number) and the
    /// header; the names of the events come by themselves.
    pub(crate) fn finish(mut self, features: &[(u32, Bytes)]) -> io::Result<W> {
        let mut all: Vec<(u32, Bytes)> = features.to_vec();
        all.push((EVENT_DESC, event_desc(&self.events)));
        all.sort_by_key(|(number, _)| *number);
        let mut offset = self.data + self.size + 16 * all.len() as u64;
        let mut bitmap = 0u64;
        let mut tail = Bytes::default();
        for (number, feature) in &all {
            bitmap |= 1 << number;
            tail.u64s(&[offset, feature.0.len() as u64]);
            offset += feature.0.len() as u64;
        }
        for (_, feature) in &all {
            tail.raw(&feature.0);
        }
        self.out.write_all(&tail.0)?;
        let mut header = Bytes::default();
        header.raw(b"PERFILE2");
        header.u64s(&[u64::from(HEADER), ENTRY]);
        header.u64s(&[self.attrs, ENTRY * self.events.len() as u64, self.data, self.size]);
        // event_types, which nobody writes any more
        header.u64s(&[0, 0]);
        header.u64s(&[bitmap, 0, 0, 0]);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&header.0)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn event_desc(events: &[Event]) -> Bytes {
    let mut out = Bytes::default();
    out.u32(u32::try_from(events.len()).unwrap());
    out.u32(attr::SIZE);
    for event in events {
        event.attr.put(&mut out);
        out.u32(u32::try_from(event.ids.len()).unwrap());
        out.text(event.name);
        out.u64s(&event.ids);
    }
    out
}

/// What perf says of a machine: host name, release, version, architecture,
/// CPUs, model, id, memory, command line.
pub(crate) fn machine(cpus: u32, command: &[&str]) -> Vec<(u32, Bytes)> {
    let text = |text: &str| {
        let mut out = Bytes::default();
        out.text(text);
        out
    };
    let mut count = Bytes::default();
    count.u32(cpus);
    count.u32(cpus);
    let mut memory = Bytes::default();
    memory.u64(64 << 20);
    let mut words = Bytes::default();
    words.u32(u32::try_from(command.len()).unwrap());
    command.iter().for_each(|word| words.text(word));
    vec![
        (3, text("synthesised")),
        (4, text("6.1.0")),
        (5, text("6.1.0")),
        (6, text("x86_64")),
        (7, count),
        (8, text("Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz")),
        (9, text("GenuineIntel,6,85,7")),
        (10, memory),
        (11, words),
    ]
}
