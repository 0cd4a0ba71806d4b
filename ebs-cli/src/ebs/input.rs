//! A recording, read record by record from a file or stdin.

use crate::terminal::progress::ProgressReader;
use crate::terminal::said::say;
use anyhow::{Context, Result, anyhow};
use perfdata::recording::{RecordingDecoder, RecordingForm, RecordingSource, RecordingStep};
use perfdata::segment::{SegmentHeader, SegmentStream};
use perfdata::stream::{
    self, EventDescription, FeatureId, FeatureSection, StreamError, StreamRecord, StreamSample,
};
use perfdata::text::TextStream;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use symbolizer::CarriedFiles;

/// Bytes read at once; a record has 65,535 at most, what a file says before
/// its records may take more.
const BUFFER: usize = 1 << 20;
/// Files from this size on, in bytes, show how far they are read.
const LARGE: u64 = 64 << 20;

/// How a recording ended.
#[derive(Debug)]
#[must_use]
pub enum End {
    /// As it should.
    Whole,
    /// Not as it should, or with records that cannot be read; all others
    /// before that were handed out.
    Damaged(anyhow::Error),
}

impl End {
    /// Damage as the error that it is.
    ///
    /// # Errors
    ///
    /// The damage.
    pub fn into_result(self) -> Result<()> {
        match self {
            End::Whole => Ok(()),
            End::Damaged(error) => Err(error),
        }
    }
}

/// What bytes are read from.
enum Bytes {
    /// Front to back.
    Pipe(Box<dyn Read>),
    /// Anywhere; so many there are.
    File(Box<dyn ReadSeek>, u64),
}

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

impl Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Bytes::Pipe(source) => source.read(buffer),
            Bytes::File(file, _) => file.read(buffer),
        }
    }
}

/// Bytes of a recording and where they come from.
pub struct Input {
    source: Bytes,
    /// The file, when it is one, to be read besides.
    file: Option<File>,
    /// Where it is a segment of a standing session.
    segment: Option<SegmentHeader>,
    name: String,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the source up to the end of the buffer.
    position: u64,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Input {
    /// Opens a file, or stdin for `-`.
    ///
    /// # Errors
    ///
    /// No such file, no right to read it, a directory.
    pub fn open(path: &Path) -> Result<Input> {
        if path == Path::new("-") {
            let stdin = std::io::stdin().as_fd().try_clone_to_owned();
            return Input::of_file(File::from(stdin.context("cannot read stdin")?), "stdin");
        }
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| format!("cannot open {name}"))?;
        if path.join("data").is_file() {
            return Err(anyhow!(
                "{name} is a directory of recordings, as `perf record --threads` makes it, which \
                 is not read here: record without --threads. `ebs report {name}/data` reads what \
                 describes the events, and no samples"
            ));
        }
        Input::of_file(file, &name)
    }

    /// A regular file, from its start, is read in any order, anything else
    /// front to back.
    ///
    /// # Errors
    ///
    /// It cannot be read; a directory.
    pub fn of_file(mut file: File, name: &str) -> Result<Input> {
        let metadata = file.metadata().with_context(|| format!("cannot look at {name}"))?;
        if metadata.is_dir() {
            return Err(anyhow!("{name} is a directory; a recording is a file"));
        }
        if !metadata.is_file() || file.stream_position().is_ok_and(|position| position != 0) {
            return Input::piped(Box::new(file), name);
        }
        let mut front = [0; SegmentStream::<File>::TOLD_BY];
        let read = file.read_at(&mut front, 0).unwrap_or(0);
        let front = &front[..read];
        if SegmentStream::<File>::is_front(front) {
            return Input::of_segment(Vec::new(), Box::new(file), name);
        }
        if TextStream::<File>::is_front(front) {
            return Ok(Input::of_text(Box::new(file), name));
        }
        let length = metadata.len();
        let again = file.try_clone().with_context(|| format!("cannot open {name} twice"))?;
        let source: Box<dyn ReadSeek> = if length >= LARGE && std::io::stderr().is_terminal() {
            Box::new(ProgressReader::new(file, length))
        } else {
            Box::new(file)
        };
        Ok(Input { file: Some(again), ..Input::of(Bytes::File(source, length), name) })
    }

    /// Reads front to back. The file form cannot be read so: it is kept in a
    /// file without a name until then.
    ///
    /// # Errors
    ///
    /// Those of the source, or of that file.
    fn piped(mut source: Box<dyn Read>, name: &str) -> Result<Input> {
        let mut front = Vec::new();
        source
            .by_ref()
            .take(RecordingForm::TOLD_BY as u64)
            .read_to_end(&mut front)
            .with_context(|| format!("cannot read {name}"))?;
        if SegmentStream::<File>::is_front(&front) {
            return Input::of_segment(front, source, name);
        }
        let mut all = std::io::Cursor::new(front.clone()).chain(source);
        if TextStream::<File>::is_front(&front) {
            return Ok(Input::of_text(Box::new(all), name));
        }
        if RecordingForm::find(&front) != RecordingForm::File {
            return Ok(Input::new(Box::new(all), name));
        }
        let mut keep = || -> std::io::Result<File> {
            let mut file = tempfile::tempfile()?;
            std::io::copy(&mut all, &mut file)?;
            file.rewind()?;
            Ok(file)
        };
        let file = keep().with_context(|| {
            format!(
                "{name} is perf.data in file form, whose end is read first; keeping it in {}: \
                 give the file itself, or a TMPDIR with more room",
                std::env::temp_dir().display()
            )
        })?;
        Input::of_file(file, name)
    }

    /// A segment of a standing session, of which `front` was read already.
    fn of_segment(front: Vec<u8>, rest: Box<dyn Read>, name: &str) -> Result<Input> {
        let stream = SegmentStream::new(front, rest);
        let stream = stream.with_context(|| format!("cannot read {name}"))?;
        let segment = Some(*stream.header());
        Ok(Input { segment, ..Input::new(Box::new(stream), name) })
    }

    /// Text records.
    fn of_text(source: Box<dyn Read>, name: &str) -> Input {
        Input::new(Box::new(TextStream::new(source)), name)
    }

    /// Reads from anything, front to back; `name` is for messages.
    pub fn new(source: Box<dyn Read>, name: &str) -> Input {
        Input::of(Bytes::Pipe(source), name)
    }

    fn of(source: Bytes, name: &str) -> Input {
        let name = name.to_owned();
        let buffer = vec![0; BUFFER];
        let (file, segment) = (None, None);
        Input { source, file, segment, name, buffer, start: 0, end: 0, position: 0 }
    }

    /// A decoder for [`Input::read`].
    pub fn decoder(&self) -> RecordingDecoder {
        RecordingDecoder::new(match self.source {
            Bytes::Pipe(_) => RecordingSource::Pipe,
            Bytes::File(_, length) => RecordingSource::File { length },
        })
    }

    /// The file that is read, for what the decoder passes over: only to be
    /// read at offsets, as its position is that of [`Input::read`]. None of a
    /// pipe.
    pub fn file(&mut self) -> Option<File> {
        self.file.take()
    }

    /// The files that the recording carries, when it is a file that carries any
    /// that can be read; what is wrong with them is said.
    pub fn carried_files(&self) -> Option<CarriedFiles> {
        let file = self.file.as_ref()?;
        let section = self.carried_section(file)?;
        let (offset, size) = (section.offset, section.size);
        let opened = reopened(file).map_err(anyhow::Error::from);
        match opened.and_then(|file| Ok(CarriedFiles::open(file, offset, size)?)) {
            Ok(files) => Some(files),
            Err(error) => {
                let told = format!(
                    "{}: the files that it carries cannot be read ({error}): names come from where \
                     the files lie now",
                    self.name
                );
                say("ebs", &told);
                None
            }
        }
    }

    /// Reads what stands before the data.
    fn carried_section(&self, file: &File) -> Option<FeatureSection> {
        let mut again = Input::of_file(reopened(file).ok()?, &self.name).ok()?;
        let mut decoder = again.decoder();
        let mut found = None;
        // What is wrong with the recording is said when it is read.
        let _ = again.read_bytes(&mut decoder, |stream, _, bytes| {
            let sections = &stream.features().sections;
            found = sections.iter().find(|it| it.id == FeatureId::CARRIED_FILES).copied();
            match found.is_some() || !bytes.is_empty() {
                true => Err(anyhow!("all is known")),
                false => Ok(()),
            }
        });
        found
    }

    /// Which segment it is, of a standing session; None: it is none.
    pub fn segment(&self) -> Option<&SegmentHeader> {
        self.segment.as_ref()
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands every record to `each`, until the recording ends or `each`
    /// fails. The decoder is one of [`Input::decoder`].
    ///
    /// # Errors
    ///
    /// Those of `each`; errors of the recording itself are in [`End`].
    pub fn read(
        &mut self,
        decoder: &mut RecordingDecoder,
        mut each: impl FnMut(&stream::StreamDecoder, &StreamRecord<'_>) -> Result<()>,
    ) -> Result<End> {
        self.read_bytes(decoder, |stream, record, _| each(stream, record))
    }

    /// As [`Input::read`], and hands out the bytes of each record besides
    /// ([`RecordingStep::Record`]).
    ///
    /// # Errors
    ///
    /// As of [`Input::read`].
    pub fn read_bytes(
        &mut self,
        decoder: &mut RecordingDecoder,
        mut each: impl FnMut(&stream::StreamDecoder, &StreamRecord<'_>, &[u8]) -> Result<()>,
    ) -> Result<End> {
        loop {
            let input = &self.buffer[self.start..self.end];
            if let Some(StreamSample { size, event, misc, payload }) = decoder.sample(input) {
                self.start += size;
                let record = StreamRecord::Sample { event, misc, payload };
                each(decoder.stream(), &record, &input[..size])?;
                continue;
            }
            let more = match decoder.step(&self.buffer[self.start..self.end]) {
                Ok(RecordingStep::Record { consumed, bytes, stream, record }) => {
                    self.start += consumed;
                    each(stream, &record, bytes)?;
                    continue;
                }
                Ok(RecordingStep::NeedMore(wanted)) => self.fill(wanted),
                Ok(RecordingStep::Seek(offset)) => self.seek(offset).map(|()| true),
                Ok(RecordingStep::End) => Ok(false),
                Err(error) => return Ok(self.end_of(decoder, Err(error))),
            };
            match more {
                Ok(true) => {}
                Ok(false) if decoder.end(self.end - self.start) => {}
                Ok(false) => {
                    let rest = &self.buffer[self.start..self.end];
                    // The few bytes of a short file were not looked at so far.
                    let is_new = decoder.form() == RecordingForm::Unknown;
                    let other = if is_new { decoder.step(rest).err() } else { None };
                    let end = other.map_or_else(|| decoder.finish(rest.len()), Err);
                    return Ok(self.end_of(decoder, end));
                }
                Err(error) => {
                    let error = anyhow::Error::new(error);
                    return Ok(End::Damaged(error.context(format!("reading {}", self.name))));
                }
            }
        }
    }

    fn end_of(&self, decoder: &RecordingDecoder, end: Result<(), StreamError>) -> End {
        match (end, decoder.stream().tally().unreadable()) {
            // Cut between two records, a stream looks whole but for this.
            (Ok(()), None)
                if decoder.stream().events().iter().any(EventDescription::lacks_ledger) =>
            {
                End::Damaged(anyhow!(
                    "{}: the recording is incomplete: it ends without its recorder's ledger",
                    self.name
                ))
            }
            (Ok(()), None) => End::Whole,
            (Ok(()), Some(unreadable)) => End::Damaged(anyhow!("{}: {unreadable}", self.name)),
            (Err(error), None) => {
                End::Damaged(anyhow::Error::new(error).context(self.name.clone()))
            }
            (Err(error), Some(unreadable)) => {
                End::Damaged(anyhow!("{}: {error}; besides, {unreadable}", self.name))
            }
        }
    }

    /// Whether there are `wanted` bytes now; if not, the source has ended.
    fn fill(&mut self, wanted: usize) -> std::io::Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => {
                    self.end += count;
                    self.position += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Goes on at an offset of the file, which may be in the buffer.
    fn seek(&mut self, offset: u64) -> std::io::Result<()> {
        let held = self.position.checked_sub(offset).and_then(|held| usize::try_from(held).ok());
        if let Some(start) = held.and_then(|held| self.end.checked_sub(held)) {
            self.start = start;
            return Ok(());
        }
        (self.start, self.end) = (0, 0);
        self.position = offset;
        match &mut self.source {
            Bytes::File(file, _) => file.seek(SeekFrom::Start(offset)).map(|_| ()),
            Bytes::Pipe(_) => Err(ErrorKind::NotSeekable.into()),
        }
    }
}

/// The same file with a position of its own.
fn reopened(file: &File) -> std::io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests;
