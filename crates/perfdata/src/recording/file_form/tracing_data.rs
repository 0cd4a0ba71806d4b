//! Feature TRACING_DATA: how the payloads of tracepoints are laid out, as
//! the kernel says it (tracing_data_get(), tools/perf/util/trace-event-info.c).
//! perf opens no file that has a tracepoint and not this.

use crate::bytes::{ByteOrder, ByteWriter};

/// What it begins with; the version is one that ends without names of
/// threads, which our recordings tell in records.
const MAGIC: [&[u8]; 3] = [&[23, 8, 68], b"tracing", b"0.5\0"];

/// A tracepoint's own description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointFormat {
    /// Its group: "sched".
    pub subsystem: String,
    /// Its file `format` in tracefs.
    pub format: Vec<u8>,
}

/// The feature's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracingData {
    /// Bytes of a page of the recorded machine.
    pub page_size: u32,
    /// The file `events/header_page` of tracefs.
    pub header_page: Vec<u8>,
    /// The file `events/header_event`.
    pub header_event: Vec<u8>,
    /// The tracepoints, those of a group next to each other.
    pub formats: Vec<TracepointFormat>,
}

impl TracingData {
    /// The bytes of the feature, of a machine with 64-bit longs.
    pub fn encode(&self, order: ByteOrder) -> Vec<u8> {
        let mut out = Vec::new();
        let w = &mut ByteWriter::new(&mut out, order);
        MAGIC.iter().for_each(|bytes| w.raw(bytes));
        w.u8(u8::from(order == ByteOrder::Big));
        w.u8(8);
        w.u32(self.page_size);
        w.raw(b"header_page\0");
        put(&self.header_page, w);
        w.raw(b"header_event\0");
        put(&self.header_event, w);
        // The tracers' own entries.
        w.u32(0);
        let groups: Vec<&[TracepointFormat]> =
            self.formats.chunk_by(|a, b| a.subsystem == b.subsystem).collect();
        w.u32(count(groups.len()));
        for group in groups {
            let name = group.first().map_or("", |point| point.subsystem.as_str());
            w.raw(name.as_bytes());
            w.u8(0);
            w.u32(count(group.len()));
            group.iter().for_each(|point| put(&point.format, w));
        }
        // Symbols of the kernel, and texts of its trace_printk().
        w.u32(0);
        w.u32(0);
        out
    }
}

fn put(file: &[u8], w: &mut ByteWriter<'_>) {
    w.u64(file.len() as u64);
    w.raw(file);
}

/// A recording has a few tracepoints.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_stand_under_their_groups() {
        let point = |subsystem: &str, format: &str| TracepointFormat {
            subsystem: subsystem.to_owned(),
            format: format.into(),
        };
        let data = TracingData {
            page_size: 4096,
            header_page: b"page".to_vec(),
            header_event: b"event".to_vec(),
            formats: vec![point("a", "1"), point("a", "22"), point("b", "333")],
        };
        let expected: [&[u8]; 21] = [
            b"\x17\x08\x44tracing0.5\0\0\x08\0\x10\0\0",
            b"header_page\0",
            &4_u64.to_le_bytes(),
            b"page",
            b"header_event\0",
            &5_u64.to_le_bytes(),
            b"event",
            &0_u32.to_le_bytes(),
            &2_u32.to_le_bytes(),
            b"a\0",
            &2_u32.to_le_bytes(),
            &1_u64.to_le_bytes(),
            b"1",
            &2_u64.to_le_bytes(),
            b"22",
            b"b\0",
            &1_u32.to_le_bytes(),
            &3_u64.to_le_bytes(),
            b"333",
            &0_u32.to_le_bytes(),
            &0_u32.to_le_bytes(),
        ];
        assert_eq!(data.encode(ByteOrder::Little), expected.concat());
        assert_eq!(data.encode(ByteOrder::Big)[14..20], [1, 8, 0, 0, 16, 0]);
    }
}
