//! Names of tracepoints, out of the formats that a recorder of a pipe hands
//! over behind a HEADER_TRACING_DATA record: without them an event says only
//! its number.
//!
//! The layout is trace.dat's front (trace_event__parse_header(),
//! tools/perf/util/trace-event-read.c): of each format the first two lines
//! are read, `name: sched_switch` and `ID: 317`.

use crate::bytes::{ByteOrder, Cursor};

const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";
/// Bytes of a format that are looked at: its first two lines are much
/// shorter.
const LINES: usize = 256;
/// Bytes of the name of a system, NUL included, at most: they are names of
/// directories.
const SYSTEM: usize = 256;

/// A tracepoint that there is on the recorded machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TracepointName {
    /// `config` of its events.
    pub(super) id: u64,
    /// `sched:sched_switch`.
    pub(super) name: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FormatsPart {
    #[default]
    Magic,
    Version,
    /// Byte order, bytes of a long, bytes of a page.
    Sizes,
    HeaderPage,
    HeaderEvent,
    /// How many formats of the tracer's own there are, then each.
    Tracers,
    Tracer {
        left: u32,
    },
    Systems,
    System {
        left: u32,
    },
    Formats,
    /// How long a format is, then its first lines.
    Size,
    Format {
        size: u64,
    },
    /// What follows is of no interest, or makes no sense.
    Done,
}

/// Reads tracing data in pieces of any size, in little memory whatever they
/// claim.
#[derive(Debug, Default)]
pub(super) struct TracepointNames {
    part: FormatsPart,
    order: ByteOrder,
    /// Bytes of the part that have come.
    held: Vec<u8>,
    /// Bytes to be passed over before the part starts.
    skipped: u64,
    system: String,
    systems: u32,
    formats: u32,
}

impl TracepointNames {
    pub(super) fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(TracepointName)) {
        while !bytes.is_empty() && self.part != FormatsPart::Done {
            if self.skipped > 0 {
                let there = bytes.len() as u64;
                let skipped = usize::try_from(self.skipped.min(there)).unwrap_or(bytes.len());
                self.skipped -= skipped as u64;
                bytes = &bytes[skipped..];
                continue;
            }
            let wanted = self.wanted() - self.held.len();
            let mut piece = &bytes[..wanted.min(bytes.len())];
            let is_text = matches!(self.part, FormatsPart::Version | FormatsPart::System { .. });
            let end = piece.iter().position(|byte| *byte == 0).filter(|_| is_text);
            if let Some(end) = end {
                piece = &piece[..end];
            }
            self.held.extend_from_slice(piece);
            bytes = &bytes[piece.len() + usize::from(end.is_some())..];
            if end.is_some() || self.held.len() == self.wanted() {
                let held = std::mem::take(&mut self.held);
                // A text as long as can be has no end.
                self.part = match is_text && end.is_none() {
                    true => FormatsPart::Done,
                    false => self.after(&held, &mut each).unwrap_or(FormatsPart::Done),
                };
                self.held = held;
                self.held.clear();
            }
        }
    }

    /// Bytes of the part; of texts the most that they may have. At least one.
    fn wanted(&self) -> usize {
        match self.part {
            FormatsPart::Magic => MAGIC.len(),
            FormatsPart::Version | FormatsPart::System { .. } => SYSTEM,
            FormatsPart::Sizes => 1 + 1 + 4,
            FormatsPart::HeaderPage => b"header_page\0".len() + 8,
            FormatsPart::HeaderEvent => b"header_event\0".len() + 8,
            FormatsPart::Tracers | FormatsPart::Systems | FormatsPart::Formats => 4,
            FormatsPart::Tracer { .. } | FormatsPart::Size => 8,
            FormatsPart::Format { size } => usize::try_from(size).unwrap_or(LINES).clamp(1, LINES),
            FormatsPart::Done => 1,
        }
    }

    /// What follows the part that is `held`; None when it makes no sense.
    fn after(&mut self, held: &[u8], each: &mut impl FnMut(TracepointName)) -> Option<FormatsPart> {
        let mut c = Cursor::new(held, self.order);
        Some(match self.part {
            FormatsPart::Magic if held == MAGIC => FormatsPart::Version,
            FormatsPart::Version => FormatsPart::Sizes,
            FormatsPart::Sizes => {
                self.order = if held[0] == 0 { ByteOrder::Little } else { ByteOrder::Big };
                FormatsPart::HeaderPage
            }
            FormatsPart::HeaderPage | FormatsPart::HeaderEvent => {
                c.take(held.len() - 8).ok()?;
                self.skipped = c.u64().ok()?;
                match self.part {
                    FormatsPart::HeaderPage => FormatsPart::HeaderEvent,
                    _ => FormatsPart::Tracers,
                }
            }
            FormatsPart::Tracers => tracer(c.u32().ok()?),
            FormatsPart::Tracer { left } => {
                self.skipped = c.u64().ok()?;
                tracer(left - 1)
            }
            FormatsPart::Systems => {
                self.systems = c.u32().ok()?;
                self.next_system()
            }
            FormatsPart::System { left } => {
                self.system = String::from_utf8_lossy(held).into_owned();
                self.systems = left - 1;
                FormatsPart::Formats
            }
            FormatsPart::Formats => {
                self.formats = c.u32().ok()?;
                self.next_format()
            }
            FormatsPart::Size => match c.u64().ok()? {
                0 => self.next_format(),
                size => FormatsPart::Format { size },
            },
            FormatsPart::Format { size } => {
                self.skipped = size - held.len() as u64;
                if let Some((id, name)) = told(held) {
                    each(TracepointName { id, name: format!("{}:{name}", self.system) });
                }
                self.next_format()
            }
            FormatsPart::Magic | FormatsPart::Done => return None,
        })
    }

    fn next_system(&self) -> FormatsPart {
        match self.systems {
            0 => FormatsPart::Done,
            left => FormatsPart::System { left },
        }
    }

    fn next_format(&mut self) -> FormatsPart {
        match self.formats.checked_sub(1) {
            None => self.next_system(),
            Some(left) => {
                self.formats = left;
                FormatsPart::Size
            }
        }
    }
}

fn tracer(left: u32) -> FormatsPart {
    match left {
        0 => FormatsPart::Systems,
        left => FormatsPart::Tracer { left },
    }
}

/// The number and the name at the start of a format.
fn told(format: &[u8]) -> Option<(u64, String)> {
    let text = String::from_utf8_lossy(format);
    let mut lines = text.lines();
    let name = lines.next()?.strip_prefix("name: ")?;
    let id = lines.next()?.strip_prefix("ID: ")?;
    Some((id.trim().parse().ok()?, name.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::{FormatsPart, TracepointName, TracepointNames};
    use crate::bytes::{ByteOrder, ByteWriter};
    use proptest::prelude::*;

    fn format(name: &str, id: u64) -> String {
        let fields =
            "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n".repeat(9);
        format!("name: {name}\nID: {id}\nformat:\n{fields}\nprint fmt: \"%s\", REC->comm\n")
    }

    fn data(order: ByteOrder, systems: &[(&str, &[(&str, u64)])]) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing0.6\0".to_vec();
        let w = &mut ByteWriter::new(&mut out, order);
        w.u8(u8::from(order == ByteOrder::Big));
        w.u8(8);
        w.u32(4096);
        let sized = |w: &mut ByteWriter<'_>, text: &str| {
            w.u64(text.len() as u64);
            w.raw(text.as_bytes());
        };
        w.raw(b"header_page\0");
        sized(w, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n");
        w.raw(b"header_event\0");
        sized(w, "# compressed entry header\n\ttype_len    :    5 bits\n");
        w.u32(2);
        sized(w, &format("function", 1));
        sized(w, &format("funcgraph_entry", 2));
        w.u32(u32::try_from(systems.len()).unwrap());
        for (system, tracepoints) in systems {
            w.raw(system.as_bytes());
            w.u8(0);
            w.u32(u32::try_from(tracepoints.len()).unwrap());
            for (name, id) in *tracepoints {
                sized(w, &format(name, *id));
            }
        }
        // kallsyms, formats of printk, command names
        w.u32(7);
        w.raw(b"0 T a\n\0");
        w.u32(0);
        w.u64(0);
        out
    }

    const SYSTEMS: [(&str, &[(&str, u64)]); 3] = [
        ("sched", &[("sched_switch", 317), ("sched_waking", 319)]),
        ("empty", &[]),
        ("probe_untitled1", &[("main", 2010)]),
    ];

    fn read(bytes: &[u8], piece: usize) -> (Vec<TracepointName>, TracepointNames) {
        let (mut found, mut reader) = (Vec::new(), TracepointNames::default());
        for piece in bytes.chunks(piece) {
            reader.take(piece, |tracepoint| found.push(tracepoint));
        }
        (found, reader)
    }

    fn expected() -> Vec<TracepointName> {
        [("sched:sched_switch", 317), ("sched:sched_waking", 319), ("probe_untitled1:main", 2010)]
            .map(|(name, id)| TracepointName { id, name: name.to_owned() })
            .to_vec()
    }

    #[test]
    fn names_are_read_in_both_orders_and_pieces_of_any_size() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = data(order, &SYSTEMS);
            for piece in [1, 2, 7, 64, 1000, bytes.len()] {
                let (found, reader) = read(&bytes, piece);
                assert_eq!(found, expected(), "{order:?} {piece}");
                assert_eq!(reader.part, FormatsPart::Done);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_ends_it() {
        assert_eq!(read(b"\x17\x08\x44tracinG", 3).1.part, FormatsPart::Done);
        let mut endless = data(ByteOrder::Little, &[]);
        endless.truncate(10);
        endless.resize(10 + 300, b'7');
        assert_eq!(read(&endless, 100).1.part, FormatsPart::Done, "a version without an end");
        let claims =
            [&data(ByteOrder::Little, &[])[..20], b"header_page\0", &[0xff; 8], &[1; 5000]];
        let (found, reader) = read(&claims.concat(), 999);
        assert_eq!(found, []);
        assert!(reader.held.capacity() <= 4096, "{}", reader.held.capacity());
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            piece in 1usize..500,
        ) {
            let mut bytes = data(ByteOrder::Little, &SYSTEMS);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let (found, reader) = read(&bytes, piece);
            prop_assert_eq!(&found, &read(&bytes, bytes.len()).0);
            prop_assert!(reader.held.capacity() <= 4096);
        }
    }
}
