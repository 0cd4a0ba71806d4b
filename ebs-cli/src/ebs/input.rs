//! A recording, read record by record from a file or stdin.

use crate::terminal::progress::ProgressReader;
use crate::terminal::say;
use anyhow::{Context, Result, anyhow};
use perfdata::recording::{RecordingDecoder, RecordingForm, RecordingSource, RecordingStep};
use perfdata::segment::{SegmentHeader, SegmentStream};
use perfdata::stream::{
    self, EventDescription, FeatureId, FeatureSection, StreamError, StreamRecord,
};
use perfdata::text::TextStream;
use std::fs::File;
use std::io::{ErrorKind, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use symbolizer::EmbeddedFiles;

/// Bytes read at once; a record has 65,535 at most, what a file says before
/// its records may take more.
const BUFFER: usize = 1 << 20;
/// Files from this size on, in bytes, show how far they are read.
const LARGE: u64 = 64 << 20;

/// Whether a file is a recording; what
/// cannot be read is neither.
pub(super) fn is_recording(path: &Path) -> bool {
    if path == Path::new("-") {
        return true;
    }
    let front = || -> std::io::Result<Vec<u8>> {
        let mut front = Vec::new();
        // A pipe can be read once: nothing but a recording is read from one.
        let file = File::open(path)?;
        match file.metadata()?.is_file() {
            true => file.take(RecordingForm::TOLD_BY as u64).read_to_end(&mut front)?,
            false => 0,
        };
        Ok(front)
    };
    front().is_ok_and(|front| RecordingForm::find(&front) != RecordingForm::Unknown)
}

#[derive(Debug)]
#[must_use]
pub enum End {
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
    pub fn carried_files(&self) -> Option<EmbeddedFiles> {
        let file = self.file.as_ref()?;
        let section = self.carried_section(file)?;
        let (offset, size) = (section.offset, section.size);
        let opened = reopened(file).map_err(anyhow::Error::from);
        match opened.and_then(|file| Ok(EmbeddedFiles::open(file, offset, size)?)) {
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

    fn carried_section(&self, file: &File) -> Option<FeatureSection> {
        let mut again = Input::of_file(reopened(file).ok()?, &self.name).ok()?;
        let mut decoder = again.decoder();
        let mut found = None;
        // What is wrong with the recording is said when it is read.
        let _ = again.read_bytes(&mut decoder, |stream, _, bytes| {
            let sections = &stream.features().sections;
            found = sections.iter().find(|it| it.id == FeatureId::EMBEDDED_FILES).copied();
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
            if let Some(sample) = decoder.sample(input) {
                self.start += sample.size();
                let bytes = &input[..sample.size()];
                each(decoder.stream(), &StreamRecord::Sample(sample), bytes)?;
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
mod tests {
    //! Recordings whole, cut off, empty and foreign.

    use super::{End, Input};
    use perfdata::ByteOrder;
    use perfdata::recording::{RecordingDecoder, RecordingSource};
    use perfdata::stream::{StreamRecord, write};
    use std::io::Read;
    use std::path::Path;

    /// Gives one byte at a time, as a slow pipe may.
    struct Drop(std::io::Cursor<Vec<u8>>);

    impl Read for Drop {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(&mut buffer[..1])
        }
    }

    fn stream() -> Vec<u8> {
        let mut bytes = Vec::new();
        write::file_header(ByteOrder::Little, &mut bytes);
        for _ in 0..3 {
            write::finished_round(ByteOrder::Little, &mut bytes);
        }
        bytes
    }

    fn rounds(source: Box<dyn Read>) -> (usize, Result<(), String>) {
        let mut rounds = 0;
        let end = Input::new(source, "it").read(
            &mut RecordingDecoder::new(RecordingSource::Pipe),
            |_, record| {
                rounds += usize::from(*record == StreamRecord::FinishedRound);
                Ok(())
            },
        );
        let end = end.expect("counting cannot fail");
        (rounds, end.into_result().map_err(|error| format!("{error:#}")))
    }

    #[test]
    fn every_record_is_handed_out() {
        assert_eq!(rounds(Box::new(std::io::Cursor::new(stream()))), (3, Ok(())));
        assert_eq!(rounds(Box::new(Drop(std::io::Cursor::new(stream())))), (3, Ok(())));
    }

    #[test]
    fn what_was_read_before_the_cut_is_handed_out() {
        let mut cut = stream();
        cut.truncate(cut.len() - 3);
        let (rounds, end) = rounds(Box::new(std::io::Cursor::new(cut)));
        assert_eq!(rounds, 2);
        let said = end.expect_err("it is cut");
        assert!(said.starts_with("it: truncated: 5 bytes of a record at offset 32"), "{said}");
    }

    #[test]
    fn records_that_cannot_be_read_are_damage_after_all_others() {
        let mut holed = stream();
        // A feature without an id.
        holed.splice(16..16, [80, 0, 0, 0, 0, 0, 8, 0]);
        let unreadable = "1 record could not be read and was left out: HEADER_FEATURE at offset 16: \
                      needs 8 bytes at offset 0, 0 are left";
        let (found, end) = rounds(Box::new(std::io::Cursor::new(holed.clone())));
        assert_eq!((found, end), (3, Err(format!("it: {unreadable}"))));
        holed.pop();
        let (found, end) = rounds(Box::new(std::io::Cursor::new(holed)));
        let said = end.expect_err("it is cut, too");
        assert_eq!(found, 2);
        assert!(said.starts_with("it: truncated: 7 bytes"), "{said}");
        assert!(said.ends_with(&format!("; besides, {unreadable}")), "{said}");
    }

    #[test]
    fn foreign_input_is_named() {
        let said = |bytes: &[u8]| {
            let (_, end) = rounds(Box::new(std::io::Cursor::new(bytes.to_vec())));
            end.expect_err("is foreign")
        };
        assert!(said(b"").starts_with("it: the recording is empty"), "{}", said(b""));
        assert!(said(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0").contains("\\x7fELF"));
        let gzip = said(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\0\0\0\0\0\0");
        assert!(gzip.contains(r#"starts with "\x1f\x8b\x08\x00"#), "escaped once: {gzip}");
        assert!(said(b"one,two,three,four\n").contains("not a perf.data stream"));
        let short = said(b"hello");
        assert!(short.contains("starts with \"hello\", not with PERFILE2"), "{short}");
        assert!(said(b"PERF").contains("truncated: 4 bytes"), "{}", said(b"PERF"));
    }

    /// The end of a file is read first, which a pipe cannot do.
    #[test]
    fn the_file_form_is_read_through_a_pipe() {
        let path = "../crates/perfdata/tests/fixtures/group_desc-4.14.file.data";
        let samples = |mut input: Input| {
            let (mut decoder, mut samples) = (input.decoder(), 0);
            let end = input.read(&mut decoder, |_, record| {
                samples += usize::from(matches!(record, StreamRecord::Sample(_)));
                Ok(())
            });
            end.expect("counting cannot fail").into_result().expect("is whole");
            samples
        };
        assert_eq!(samples(Input::open(Path::new(path)).expect("is there")), 13);
        let bytes = std::fs::read(path).expect("is there");
        let slow = Box::new(Drop(std::io::Cursor::new(bytes)));
        assert_eq!(samples(Input::piped(slow, "it").expect("can be kept")), 13);
    }

    #[test]
    fn directories_are_told_from_recordings() {
        let folder = tempfile::tempdir().expect("a place for files");
        let said = |path: &Path| format!("{:#}", Input::open(path).expect_err("no recording"));
        assert!(said(folder.path()).ends_with("is a directory; a recording is a file"));
        std::fs::write(folder.path().join("data"), b"PERFILE2").expect("a file");
        assert!(said(folder.path()).contains("record without --threads"));
        assert!(said(&folder.path().join("none")).starts_with("cannot open"));
    }

    #[test]
    fn errors_of_the_reader_stop_it() {
        let mut input = Input::new(Box::new(std::io::Cursor::new(stream())), "it");
        let mut seen = 0;
        let result = input.read(&mut RecordingDecoder::new(RecordingSource::Pipe), |_, _| {
            seen += 1;
            anyhow::bail!("enough")
        });
        assert_eq!(result.map(|_: End| ()).expect_err("fails").to_string(), "enough");
        assert_eq!(seen, 1);
    }
}
