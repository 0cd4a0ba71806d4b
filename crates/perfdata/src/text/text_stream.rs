//! Text records as a stream in pipe form, as if they were a recording.

use super::parser::{Parser, TextError, TextLine};
use super::record_writer::RecordWriter;
use crate::arch::Arch;
use crate::registers;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Bytes of a line at most: one with every column has some 2,000.
const LINE: u64 = 1 << 16;
/// Bytes of the stream that are made at once, about.
const PIECE: usize = 1 << 16;

/// Reads as the stream that text records would be. They do not say which event
/// they are of: all with the same columns are one, called `text_record`. Where
/// a line is wrong, reading fails behind all that stands before it.
#[derive(Debug)]
pub struct TextStream<R> {
    source: BufReader<R>,
    parser: Parser,
    writer: RecordWriter,
    line: Vec<u8>,
    /// The source has ended, or must not be read on.
    has_ended: bool,
    /// What is wrong with the line behind what was handed out.
    error: Option<TextError>,
    out: Vec<u8>,
    at: usize,
}

impl<R: Read> TextStream<R> {
    /// Whether a file that begins with these bytes, one suffices, may be text
    /// records: they start with a header line, or a remark.
    pub fn is_front(front: &[u8]) -> bool {
        front.starts_with(b"#")
    }

    /// Reads text records from their start.
    pub fn new(source: R) -> TextStream<R> {
        TextStream {
            source: BufReader::new(source),
            parser: Parser::new(Arch::here()),
            writer: RecordWriter::default(),
            line: Vec::new(),
            has_ended: false,
            error: None,
            out: Vec::new(),
            at: 0,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        self.out.clear();
        self.at = 0;
        while self.out.len() < PIECE && !self.has_ended {
            self.line.clear();
            self.source.by_ref().take(LINE).read_until(b'\n', &mut self.line)?;
            let result = match self.line.last() {
                None => Err(self.end()),
                Some(last) if *last != b'\n' && self.line.len() as u64 == LINE => {
                    Err(Some(TextError::Long { line: self.parser.lines() + 1, most: LINE }))
                }
                Some(_) => self.take_line().map_err(Some),
            };
            if let Err(error) = result {
                self.has_ended = true;
                let ended = self.writer.end(self.parser.lines(), &mut self.out);
                self.error = error.or(ended.err());
            }
        }
        Ok(())
    }

    fn end(&self) -> Option<TextError> {
        let line = self.parser.lines() + 1;
        (!self.parser.has_header()).then_some(TextError::NoHeader { line })
    }

    fn take_line(&mut self) -> Result<(), TextError> {
        if let Some(arch) = machine_of(&self.line) {
            self.parser.set_arch(arch);
        }
        let line = self.parser.lines() + 1;
        match self.parser.line(&self.line)? {
            TextLine::Comment => self.writer.remark(&self.line),
            TextLine::Header => self.writer.header(self.parser.arch(), line, &mut self.out)?,
            TextLine::Record(values) => self.writer.record(&values, line, &mut self.out)?,
        }
        Ok(())
    }
}

impl<R: Read> Read for TextStream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.out.len() && !self.has_ended {
            self.fill()?;
        }
        let rest = self.out.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        match self.error.take() {
            Some(error) if count == 0 && !buffer.is_empty() => {
                Err(io::Error::new(ErrorKind::InvalidData, error))
            }
            error => {
                self.error = error;
                Ok(count)
            }
        }
    }
}

/// The machine whose flags and registers a header line names; None: it is no
/// header line.
fn machine_of(line: &[u8]) -> Option<Arch> {
    let mut words = line.strip_prefix(b"#")?.split(u8::is_ascii_whitespace);
    match words.next()? {
        b"rflags" => Some(Arch::X86_64),
        b"eflags" => Some(Arch::X86),
        b"flags" => {
            let names: Vec<&str> =
                words.filter_map(|word| std::str::from_utf8(word).ok()).collect();
            let known = |arch: &Arch| {
                names.iter().filter(|name| registers::number(*arch, name).is_some()).count()
            };
            let others = Arch::ALL.into_iter().filter(|it| ![Arch::X86_64, Arch::X86].contains(it));
            // Of several that know as many names this machine's, or the last.
            others.max_by_key(|arch| (known(arch), *arch == Arch::here()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::SamplingRate;
    use crate::recording::{RecordingDecoder, RecordingSource, RecordingStep};
    use crate::sample::Sample;
    use crate::stream::StreamRecord;
    use crate::text::Columns;

    /// The stream of some text, and why it ends early.
    fn stream(text: &[u8]) -> (Vec<u8>, Option<String>) {
        let mut bytes = Vec::new();
        let end = TextStream::new(text).read_to_end(&mut bytes);
        (bytes, end.err().map(|error| error.to_string()))
    }

    fn samples(bytes: &[u8], mut each: impl FnMut(&str, &Columns, &Sample<'_>)) {
        let mut decoder = RecordingDecoder::new(RecordingSource::Pipe);
        let mut at = 0;
        while let Ok(RecordingStep::Record { consumed, stream, record, .. }) =
            decoder.step(&bytes[at..])
        {
            at += consumed;
            let StreamRecord::Sample(record) = record else { continue };
            let event = record.description(stream).unwrap();
            let sample = record.decode(stream).unwrap();
            let columns = Columns::of(&event.attr, stream.features().machine());
            each(&event.title(), &columns, &sample);
        }
        assert_eq!(at, bytes.len());
    }

    /// The lines that the samples of a stream make.
    fn again(bytes: &[u8]) -> String {
        let (mut out, mut last) = (Vec::new(), None);
        samples(bytes, |_, columns, sample| {
            if last.as_ref() != Some(columns) {
                columns.header(&mut out);
                last = Some(columns.clone());
            }
            columns.line(sample, &mut out);
        });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_the_same_after_a_way_through_a_stream() {
        let text = "\
#rflags linear_ip rax rsp addr weight data_src tid cpu time pid period weight2 weight3 misc
0000000000010246 0000000000401136 000000000000002a 00007ffc00000010 00007f21c0a01000 \
0000000300 0000000000000042 0000004243 00003 00000000005000000123 -000000001 0000010000 00012 \
00003 0000000000004002
---------------- ffffffff81000010 ---------------- ---------------- 0000000000000000 \
0000000000 0000000000000000 -000000001 00003 00000000005000000124 -000000001 0000010000 00000 \
00000 0000000000000001
#rflags linear_ip misc
---------------- 0000000000000005 0000000000000002
";
        let (bytes, error) = stream(text.as_bytes());
        assert_eq!((again(&bytes).as_str(), error), (text, None));
        let text = "#flags linear_ip x0 x30 sp transaction cgroup misc\n\
                ---------------- 0000000000401136 000000000000002a 0000000000000001 \
                0000000000000002 0000000000000003 0000000000000004 0000000000000002\n";
        let (bytes, error) = stream(text.as_bytes());
        assert_eq!((again(&bytes).as_str(), error), (text, None));
    }

    #[test]
    fn lines_of_the_original_are_read() {
        let text = b"# eips of a P4\n#eflags linear_ip eax ebx colour\n\n00000246 c01158f4 0x2A ffffffff blue\n";
        let (bytes, error) = stream(text);
        assert_eq!(error, None);
        let mut found = Vec::new();
        samples(&bytes, |name, _, sample| {
            let registers = sample.regs_intr.as_ref().unwrap();
            let values = [9, 0, 1, 2].map(|bit| registers.get(bit));
            found.push((name.to_owned(), sample.misc.0, sample.ip, values));
        });
        let values = [Some(0x246), Some(42), Some(0xffff_ffff), None];
        assert_eq!(found, [("text_record".to_owned(), 0, Some(0xc011_58f4), values)]);
    }

    /// Periods that were drawn differ: the first one is no interval of all.
    #[test]
    fn periods_of_records_are_their_own() {
        let rate = |text: &[u8]| {
            let (bytes, _) = stream(text);
            let mut decoder = RecordingDecoder::new(RecordingSource::Pipe);
            let mut at = 0;
            while let Ok(RecordingStep::Record { consumed, .. }) = decoder.step(&bytes[at..]) {
                at += consumed;
            }
            decoder.stream().events()[0].attr.sampling()
        };
        let own = rate(b"#rflags linear_ip period\n0 10 38\n0 14 7\n");
        assert_eq!(own, SamplingRate::Frequency(0));
        assert_eq!(rate(b"#rflags linear_ip\n0 10\n"), SamplingRate::Period(1));
    }

    #[test]
    fn what_is_emulated_stays_called_so() {
        let text = b"# emulated: 32K/8 L1D\n#rflags linear_ip misc\n0 10 2\n";
        let mut names = Vec::new();
        samples(&stream(text).0, |name, _, _| names.push(name.to_owned()));
        assert_eq!(names, ["text_record (emulated)"]);
    }

    #[test]
    fn a_wrong_line_ends_the_stream_behind_the_right_ones() {
        for (line, said) in [
            ("0 main 3", "line 3, column linear_ip: \"main\" is no hexadecimal number"),
            ("0 1", "line 3 has 2 values, the header line names 3 columns"),
            ("0 1 99999999999", "line 3, column cpu: 99999999999 is too large"),
            (
                "#flags linear_ip x0",
                "line 3: the header line names registers of aarch64, the one before it those of \
             x86_64; read both files for themselves",
            ),
        ] {
            let text = format!("#rflags linear_ip cpu\n0 10 1\n{line}\n0 20 2\n");
            let (bytes, error) = stream(text.as_bytes());
            let mut ips = Vec::new();
            samples(&bytes, |_, _, sample| ips.push(sample.ip));
            assert_eq!((error.as_deref(), ips), (Some(said), vec![Some(0x10)]), "{line}");
        }
        let long = [b"#rflags linear_ip\n".as_slice(), &vec![b'1'; 1 << 17]].concat();
        assert_eq!(stream(&long).1.as_deref(), Some("line 2 has more than 65536 bytes"));
        assert!(stream(b"# nothing\n").1.unwrap().starts_with("line 2: no header line before it"));
    }

    #[test]
    fn a_header_alone_is_an_event_without_records() {
        let (bytes, error) = stream(b"#rflags linear_ip rax misc\n");
        assert_eq!((again(&bytes).as_str(), error), ("", None));
        let mut decoder = RecordingDecoder::new(RecordingSource::Pipe);
        let mut at = 0;
        while let Ok(RecordingStep::Record { consumed, .. }) = decoder.step(&bytes[at..]) {
            at += consumed;
        }
        assert_eq!(decoder.stream().events().len(), 1);
    }
}
