//! Text records as a stream in pipe form, as if they were a recording.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use super::error::TextError;
use super::parser::{Parser, TextLine};
use super::record_writer::RecordWriter;
use crate::arch::Arch;
use crate::registers;

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

    /// What is wrong with an end here.
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
mod tests;
