//! Text records, written while the session runs.

use super::Destination;
use crate::ebs::script::{ScriptLines, Sifter, TextPrinter};
use perfdata::stream::{StreamDecoder, StreamStep};
use std::io;

/// Bytes written at once: a line is far shorter.
const PIECE: usize = 1 << 16;

/// Turns the session's stream into lines as soon as their order is sure.
#[derive(Debug)]
pub(super) struct TextRecords {
    decoder: StreamDecoder,
    lines: ScriptLines<TextPrinter>,
    destination: Destination,
    written: u64,
    failed: bool,
}

impl TextRecords {
    pub(super) fn new(destination: Destination) -> TextRecords {
        TextRecords {
            decoder: StreamDecoder::new(),
            lines: ScriptLines::new(
                TextPrinter::default(),
                Some(Sifter::new(None)),
                symbolizer::SymbolizerOptions::default(),
            ),
            destination,
            written: 0,
            failed: false,
        }
    }

    /// Takes whole records of the stream.
    ///
    /// # Errors
    ///
    /// The destination takes no more, or the bytes are no stream.
    pub(super) fn stream(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.decoder.step(bytes).map_err(io::Error::other)? {
                StreamStep::Record { consumed, record } => {
                    bytes = &bytes[consumed..];
                    self.lines.record(&self.decoder, &record).map_err(io::Error::other)?;
                    while self.lines.print(&self.decoder) {}
                }
                StreamStep::NeedMore(_) => {
                    return Err(io::Error::other("the session cut a record in two"));
                }
            }
        }
        self.write()
    }

    /// Writes the lines that still waited for others.
    ///
    /// # Errors
    ///
    /// The destination takes no more, or records could not be read.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.lines.finish();
        while self.lines.print(&self.decoder) {}
        self.lines.end(&self.decoder);
        self.write()?;
        let unreadable = self.decoder.tally().unreadable();
        unreadable.map_or(Ok(()), |bad| Err(io::Error::other(bad.to_string())))
    }

    pub(super) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// Lines that were written: all others are lost.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Records that the event sampled and does not mean, or perhaps not.
    pub(super) fn left_out(&self) -> u64 {
        self.lines.sifter().map_or(0, Sifter::left_out)
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.lines.sifter().map(Sifter::notes).unwrap_or_default()
    }

    /// In pieces, so that a disk that fills up keeps what fits.
    fn write(&mut self) -> io::Result<()> {
        let mut rest = self.lines.text.as_slice();
        while !self.failed && !rest.is_empty() {
            let (piece, after) = rest.split_at(piece(rest));
            let (taken, result) = self.destination.write_counted(piece);
            self.written += records(&piece[..taken]);
            if result.is_err() {
                self.failed = true;
                self.lines.text.clear();
                return result;
            }
            rest = after;
        }
        self.lines.text.clear();
        Ok(())
    }
}

/// Bytes of the whole lines at the front of `text` that are written at once.
fn piece(text: &[u8]) -> usize {
    let front = &text[..text.len().min(PIECE)];
    front.iter().rposition(|byte| *byte == b'\n').map_or(text.len(), |last| last + 1)
}

/// Whole lines but headers.
fn records(piece: &[u8]) -> u64 {
    let lines = piece.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| line.ends_with(b"\n") && !line.starts_with(b"#")).map(|_| 1).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::sample::OutputPlace;
    use perfdata::stream::write;
    use perfdata::{Attr, ByteOrder, Sample, SampleLayout, SampleType, Time};

    const ORDER: ByteOrder = ByteOrder::Little;

    /// A stream of one event, 1, up to its first record.
    fn begun() -> (SampleLayout, Vec<u8>) {
        let sample_type = SampleType::IP | SampleType::TIME;
        let attr = Attr { size: 136, sample_type, ..Attr::default() };
        let layout = SampleLayout::new(&attr, ORDER).expect("bits are known");
        let mut bytes = Vec::new();
        write::file_header(ORDER, &mut bytes);
        write::attr(&attr, &[1], ORDER, &mut bytes).expect("fits");
        (layout, bytes)
    }

    fn stream(samples: u64) -> Vec<u8> {
        let (layout, mut bytes) = begun();
        for number in 0..samples {
            // Youngest first: lines must come oldest first.
            let time = Some(Time(samples - number));
            let sample = Sample { ip: Some(number), time, ..Sample::default() };
            layout.encode(&sample, &mut bytes).expect("fields fit");
        }
        write::finished_round(ORDER, &mut bytes);
        bytes
    }

    #[test]
    fn lines_come_in_order_of_time_under_a_header() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("records");
        let destination = Destination::create(&OutputPlace::File(path.clone()), &mut || false)
            .expect("can be made");
        let mut records = TextRecords::new(destination);
        records.stream(&stream(3)).expect("there is room");
        records.close().expect("there is room");
        assert_eq!(records.written(), 3);
        let text = std::fs::read_to_string(path).expect("is text");
        let ips: Vec<&str> =
            text.lines().filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(ips, ["linear_ip", "0000000000000002", "0000000000000001", "0000000000000000"]);
        assert!(text.starts_with('#'), "{text}");
    }

    /// Records of two events, by turns: the second has periods as well when
    /// `unlike`.
    fn by_turns(unlike: bool) -> Vec<u8> {
        let order = ByteOrder::Little;
        let usual = SampleType::IDENTIFIER | SampleType::IP | SampleType::TIME;
        let more = if unlike { SampleType::PERIOD } else { SampleType::empty() };
        let mut bytes = Vec::new();
        write::file_header(order, &mut bytes);
        let mut layouts = Vec::new();
        for (id, sample_type) in [(1, usual), (2, usual | more)] {
            let attr = Attr { size: 136, sample_type, config: id, ..Attr::default() };
            write::attr(&attr, &[id], order, &mut bytes).expect("fits");
            layouts.push(SampleLayout::new(&attr, order).expect("bits are known"));
        }
        for number in 0..6 {
            let (id, time) = (1 + number % 2, Some(Time(number)));
            let period = (unlike && id == 2).then_some(9);
            let sample = Sample {
                identifier: Some(id),
                ip: Some(number),
                time,
                period,
                ..Sample::default()
            };
            let layout = &layouts[usize::from(id == 2)];
            layout.encode(&sample, &mut bytes).expect("fields fit");
        }
        bytes
    }

    #[test]
    fn a_header_comes_when_columns_change() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("records");
        for (unlike, headers) in [(false, 1), (true, 6)] {
            let destination = Destination::create(&OutputPlace::File(path.clone()), &mut || false)
                .expect("can be made");
            let mut records = TextRecords::new(destination);
            records.stream(&by_turns(unlike)).expect("there is room");
            records.close().expect("there is room");
            assert_eq!(records.written(), 6);
            let text = std::fs::read_to_string(&path).expect("is text");
            assert_eq!(
                text.lines().filter(|line| line.starts_with('#')).count(),
                headers,
                "{text}"
            );
        }
    }

    /// What the event samples besides what it means is no loss.
    #[test]
    fn lines_are_of_records_that_the_event_means() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("records");
        let destination = Destination::create(&OutputPlace::File(path.clone()), &mut || false)
            .expect("can be made");
        let mut records = TextRecords::new(destination);
        let (layout, mut bytes) = begun();
        write::event_unit(1, "source=ibs;filter=mode:user", ORDER, &mut bytes).expect("fits");
        // The privilege level of each record: two users', one kernel's, one
        // that does not say.
        for (ip, misc) in [2, 1, 2, 0].into_iter().enumerate() {
            let sample = Sample {
                misc: perfdata::Misc(misc),
                ip: Some(ip as u64),
                time: Some(Time(0)),
                ..Sample::default()
            };
            layout.encode(&sample, &mut bytes).expect("fields fit");
        }
        records.stream(&bytes).expect("there is room");
        records.close().expect("there is room");
        assert_eq!((records.written(), records.left_out()), (2, 2));
        assert_eq!(
            records.notes(),
            [
                "2 of 4 records are of mode:user; the others are left out",
                "1 of those left out could not be decided: records that do not say whether the \
                 user or the kernel ran",
            ]
        );
        let text = std::fs::read_to_string(path).expect("is text");
        assert_eq!(text.lines().count(), 3, "{text}");
    }

    #[test]
    fn a_filter_that_is_not_known_ends_the_session() {
        let place = OutputPlace::File("/dev/null".into());
        let mut records =
            TextRecords::new(Destination::create(&place, &mut || false).expect("Linux has it"));
        let mut bytes = stream(1);
        let samples = bytes.split_off(bytes.len() - 8 - 24);
        write::event_unit(1, "filter=ibs:warp", ByteOrder::Little, &mut bytes).expect("fits");
        bytes.extend_from_slice(&samples);
        let error = records.stream(&bytes).expect_err("cannot be followed").to_string();
        assert!(error.contains("`ibs:warp`"), "{error}");
    }

    #[test]
    fn lines_that_find_no_room_are_not_counted() {
        let place = OutputPlace::File("/dev/full".into());
        let mut records =
            TextRecords::new(Destination::create(&place, &mut || false).expect("Linux has it"));
        records.stream(&stream(3)).expect("nothing is written yet");
        assert!(records.close().is_err());
        assert_eq!(records.written(), 0);
    }

    #[test]
    fn pieces_end_with_lines() {
        assert_eq!(piece(b"one\ntwo\n"), 8);
        let mut long = vec![b'a'; PIECE - 4];
        long.extend_from_slice(b"\nbbbbbbbb\n");
        assert_eq!(piece(&long), PIECE - 3);
        assert_eq!(piece(&vec![b'a'; 2 * PIECE]), 2 * PIECE, "no line ends in the first piece");
        assert_eq!(records(b"#rflags\n1\n2\n"), 2);
        assert_eq!(records(b"#rflags\n1\n2"), 1, "the reader did not take its end");
    }

    #[test]
    fn no_record_is_a_header_alone() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let path = directory.path().join("records");
        let destination = Destination::create(&OutputPlace::File(path.clone()), &mut || false)
            .expect("can be made");
        let mut records = TextRecords::new(destination);
        records.stream(&stream(0)).expect("there is room");
        records.close().expect("there is room");
        let text = std::fs::read_to_string(path).expect("is text");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}
