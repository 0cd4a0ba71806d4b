//! One decoder for every form.

use super::file_header::FileHeader;
use super::form::{RecordingForm, RecordingSource};
use super::front::{Front, FrontStep};
use super::unpacker::Unpacker;
use crate::header::RecordType;
use crate::stream::{Magic, SampleRecord, StreamDecoder, StreamError, StreamRecord, StreamStep};

/// What perf says on stderr when it is done begins with this; `2>&1` puts it
/// behind the stream, of which it is no part.
const FAREWELL: &[u8] = b"[ perf r";

/// Bytes of what is unpacked that are searched for records, of all the
/// recording, beyond [`SEARCHED_OF_A_BYTE`] for each that was packed.
const SEARCHED: u64 = 4 << 20;
const SEARCHED_OF_A_BYTE: u64 = 4;

/// What [`RecordingDecoder::step`] found, or wants.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "matched at once, never kept: a box would cost more")]
pub enum RecordingStep<'a> {
    /// Call again with at least so many bytes from the same position; or
    /// [`RecordingDecoder::end`] and [`RecordingDecoder::finish`] when there are none.
    NeedMore(usize),
    /// Call again with bytes from this offset of the file on; only for
    /// [`RecordingSource::File`]. Forget all others: it may be before or after them,
    /// or among them.
    Seek(u64),
    Record {
        /// Bytes of the input it took; 0 for what stood elsewhere, or was
        /// packed. The next step wants what comes after them.
        consumed: usize,
        /// The record as it was written, its header included, unpacked; or
        /// what follows a record outside its size. Empty for what stands
        /// around the data of a file, and for bytes that were passed over.
        bytes: &'a [u8],
        /// What the recording said so far: events, features, counts.
        stream: &'a StreamDecoder,
        record: StreamRecord<'a>,
    },
    /// There is no more: [`RecordingDecoder::finish`] says how it ended.
    End,
}

#[derive(Debug)]
enum Place {
    Start,
    Pipe,
    Front(Box<Front>),
    Data,
    End,
}

#[derive(Clone, Copy, Debug, Default)]
struct Data {
    start: u64,
    /// Of the data, or of the file when it ends before.
    end: u64,
    /// Bytes that the file should have besides.
    missing: u64,
    /// The header does not say how many there are.
    unfinished: bool,
}

/// Reads one recording of any form. Input is the caller's, see
/// [`RecordingDecoder::step`].
#[derive(Debug)]
pub struct RecordingDecoder {
    source: RecordingSource,
    place: Place,
    form: RecordingForm,
    stream: StreamDecoder,
    unpacker: Unpacker,
    data: Data,
    /// What the last NeedMore asked for.
    wanted: usize,
    /// Bytes of the recording, when that is known.
    length: Option<u64>,
}

impl RecordingDecoder {
    /// A decoder at the start of a recording.
    pub fn new(source: RecordingSource) -> RecordingDecoder {
        let length = match source {
            RecordingSource::Pipe => None,
            RecordingSource::File { length } => Some(length),
        };
        let mut stream = StreamDecoder::unpacking();
        stream.allow_search_inside(SEARCHED);
        RecordingDecoder {
            source,
            place: Place::Start,
            form: RecordingForm::Unknown,
            stream,
            unpacker: Unpacker::new(length.unwrap_or(0)),
            data: Data::default(),
            wanted: 0,
            length,
        }
    }

    /// Looks at the front of `input`, which starts where the last record
    /// ended, or where [`RecordingStep::Seek`] said. Records take 65,535 bytes at
    /// most, features of a file 8 MiB.
    ///
    /// # Errors
    /// As of [`StreamDecoder::step`]; there is no going on
    /// after an error.
    #[inline]
    pub fn step<'a>(&'a mut self, input: &'a [u8]) -> Result<RecordingStep<'a>, StreamError> {
        if self.unpacker.is_active() {
            match self.unpacker.fill(self.stream.order()) {
                Ok(true) => return self.inside(),
                Ok(false) => {}
                Err(reason) => {
                    let (kind, offset) = self.unpacker.origin();
                    return Ok(self.bad(0, kind, StreamError::Zstd { kind, offset, reason }));
                }
            }
        }
        match self.place {
            Place::Pipe => self.record(input, self.left()),
            Place::Data => self.data(input, self.left()),
            Place::Start | Place::Front(_) | Place::End => self.around(input),
        }
    }

    /// The sample that `input`, as for [`RecordingDecoder::step`], begins with, as of
    /// [`StreamDecoder::sample`]; None where only a step
    /// can tell what comes.
    #[inline]
    pub fn sample<'a>(&mut self, input: &'a [u8]) -> Option<SampleRecord<'a>> {
        let within = match self.place {
            Place::Pipe => true,
            Place::Data => self.left() > u64::from(u16::MAX) && self.stream.following().is_none(),
            Place::Start | Place::Front(_) | Place::End => false,
        };
        if !within || self.unpacker.is_active() {
            return None;
        }
        self.stream.sample(input)
    }

    /// The source has ended, `leftover` bytes after the last record that was
    /// given. Whether there may be records in these after all: then
    /// [`RecordingDecoder::step`] goes on.
    pub fn end(&mut self, leftover: usize) -> bool {
        if self.length.is_some() || self.form != RecordingForm::Pipe {
            return false;
        }
        let length = self.stream.offset() + leftover as u64;
        self.length = Some(length);
        self.stream.ends_at(length);
        leftover > 0
    }

    /// Says whether the recording may end here, `leftover` bytes after the
    /// last record that was given.
    ///
    /// # Errors
    /// Where and how much of a record is missing, or that the recorder did
    /// not finish. Everything read before is good.
    pub fn finish(&self, leftover: usize) -> Result<(), StreamError> {
        match &self.place {
            Place::Start => match leftover {
                0 => return Err(StreamError::Empty),
                left => {
                    let wanted = self.wanted.max(left + 1);
                    return Err(StreamError::Truncated { left, offset: 0, wanted });
                }
            },
            Place::Pipe => self.stream.finish(leftover)?,
            Place::Front(_) | Place::Data | Place::End => self.finish_file()?,
        }
        let left = self.unpacker.leftover();
        match (self.stream.lost_inside(left), left) {
            (Some(error), _) => Err(error),
            (None, 0) => Ok(()),
            (None, left) => Err(StreamError::ZstdTruncated { left }),
        }
    }

    /// What the recording said so far.
    pub fn stream(&self) -> &StreamDecoder {
        &self.stream
    }

    /// How it is laid out.
    pub fn form(&self) -> RecordingForm {
        self.form
    }

    /// Bytes of records from here on, as far as that is known.
    #[inline]
    fn left(&self) -> u64 {
        let end = match self.place {
            Place::Data => self.data.end,
            _ => self.length.unwrap_or(u64::MAX),
        };
        end.saturating_sub(self.stream.offset())
    }

    fn finish_file(&self) -> Result<(), StreamError> {
        let offset = self.stream.offset();
        let left = self.data.end.saturating_sub(offset);
        if self.data.unfinished {
            return Err(StreamError::Unfinished { left: left + self.stream.passed() });
        }
        self.stream.finish(usize::try_from(left).unwrap_or(usize::MAX))?;
        match self.data.missing {
            0 => Ok(()),
            missing => Err(StreamError::DataTruncated { offset, missing }),
        }
    }

    /// A record that the unpacker has whole.
    fn inside(&mut self) -> Result<RecordingStep<'_>, StreamError> {
        let (kind, offset) = self.unpacker.origin();
        if self.stream.is_search_spent() {
            self.unpacker.give_up();
            let error = self.stream.stop_inside(StreamError::ZstdBefore { kind, offset });
            return Ok(self.bad(0, kind, error));
        }
        let (output, room) = self.unpacker.output();
        let (bytes, record) = match self.stream.step_inside(output)? {
            StreamStep::Record { consumed, record } => {
                room.take(consumed);
                let passed =
                    matches!(record, StreamRecord::Payload(_)) || self.stream.has_passed(&record);
                (if passed { &[] } else { &output[..consumed] }, record)
            }
            // Something is broken there, and looking for more wants more.
            StreamStep::NeedMore(wanted) => {
                room.want(wanted);
                (&[][..], StreamRecord::Payload(kind))
            }
        };
        Ok(RecordingStep::Record { consumed: 0, bytes, stream: &self.stream, record })
    }

    #[cold]
    fn bad(&mut self, consumed: usize, kind: RecordType, error: StreamError) -> RecordingStep<'_> {
        let record = self.stream.unreadable(kind, error);
        RecordingStep::Record { consumed, bytes: &[], stream: &self.stream, record }
    }

    #[inline]
    fn data<'a>(
        &'a mut self,
        input: &'a [u8],
        left: u64,
    ) -> Result<RecordingStep<'a>, StreamError> {
        if let Some(following) = self.stream.following() {
            self.stream.pass(following.min(left));
            if following > left {
                self.place = Place::End;
                return Ok(RecordingStep::End);
            }
            return Ok(RecordingStep::Seek(self.stream.offset()));
        }
        if left == 0 {
            self.place = Place::End;
            return Ok(RecordingStep::End);
        }
        let inside = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        self.record(&input[..inside], left)
    }

    #[inline]
    fn record<'a>(
        &'a mut self,
        input: &'a [u8],
        left: u64,
    ) -> Result<RecordingStep<'a>, StreamError> {
        let offset = self.stream.offset();
        if self.form == RecordingForm::Pipe
            && input.starts_with(FAREWELL)
            && self.stream.expects_record()
        {
            self.data.end = offset;
            self.place = Place::End;
            return Ok(RecordingStep::End);
        }
        match self.stream.step(input)? {
            StreamStep::Record { consumed, record: StreamRecord::Packed { kind, data } } => {
                self.stream.allow_search_inside(data.len() as u64 * SEARCHED_OF_A_BYTE);
                if !self.unpacker.give(kind, offset, data) {
                    let error = StreamError::ZstdBefore { kind, offset };
                    return Ok(self.bad(consumed, kind, error));
                }
                let record = StreamRecord::Skipped(kind);
                let bytes = &input[..consumed];
                Ok(RecordingStep::Record { consumed, bytes, stream: &self.stream, record })
            }
            StreamStep::Record { consumed, record } => {
                let bytes = if self.stream.has_passed(&record) { &[] } else { &input[..consumed] };
                Ok(RecordingStep::Record { consumed, bytes, stream: &self.stream, record })
            }
            StreamStep::NeedMore(wanted) if wanted as u64 > left => self.cut(input, left),
            StreamStep::NeedMore(wanted) => Ok(RecordingStep::NeedMore(wanted)),
        }
    }

    #[cold]
    fn cut<'a>(&'a mut self, input: &'a [u8], left: u64) -> Result<RecordingStep<'a>, StreamError> {
        let there = usize::try_from(left).unwrap_or(usize::MAX);
        if input.len() < there {
            return Ok(RecordingStep::NeedMore(there));
        }
        if there > 0 && self.stream.lose_cut(there) {
            return self.record(input, left);
        }
        if self.form == RecordingForm::File {
            self.place = Place::End;
            return Ok(RecordingStep::End);
        }
        // A pipe says the same when it ends.
        Ok(RecordingStep::NeedMore(there + 1))
    }

    #[cold]
    fn around<'a>(&'a mut self, input: &'a [u8]) -> Result<RecordingStep<'a>, StreamError> {
        match &mut self.place {
            Place::Front(front) => match front.step(&mut self.stream, input) {
                FrontStep::NeedMore(wanted) => Ok(RecordingStep::NeedMore(wanted)),
                FrontStep::Seek(offset) => Ok(RecordingStep::Seek(offset)),
                FrontStep::Record(record) => Ok(RecordingStep::Record {
                    consumed: 0,
                    bytes: &[],
                    stream: &self.stream,
                    record,
                }),
                FrontStep::Done => {
                    self.place = Place::Data;
                    self.stream.go_to(self.data.start, self.stream.order());
                    self.stream.ends_at(self.data.end);
                    Ok(RecordingStep::Seek(self.data.start))
                }
            },
            Place::Start => self.start(input),
            Place::End | Place::Pipe | Place::Data => Ok(RecordingStep::End),
        }
    }

    fn start<'a>(&'a mut self, input: &'a [u8]) -> Result<RecordingStep<'a>, StreamError> {
        let Some(magic) = Magic::find(input)? else { return Ok(self.need(Magic::SIZE)) };
        if magic.header_size < Magic::SMALLEST_FILE_HEADER {
            self.place = Place::Pipe;
            self.form = RecordingForm::Pipe;
            self.stream.ends_at(self.length.unwrap_or(u64::MAX));
            return self.record(input, self.left());
        }
        let RecordingSource::File { length } = self.source else {
            return Err(StreamError::FileForm { size: magic.header_size });
        };
        let wanted = FileHeader::wanted(magic.header_size)?;
        let Some(header) = input.get(..wanted) else { return Ok(self.need(wanted)) };
        let header = FileHeader::decode(header, magic.order, length)?;
        let Some(end) = header.data.end() else { return Ok(RecordingStep::End) };
        let unfinished = header.data.size == 0;
        let whole = if unfinished { length } else { end };
        self.data = Data {
            start: header.data.offset,
            end: whole.min(length),
            missing: whole.saturating_sub(length),
            unfinished,
        };
        self.form = RecordingForm::File;
        self.stream.go_to(0, magic.order);
        self.place = Place::Front(Box::new(Front::new(header, magic.order, length)));
        let record = StreamRecord::FileHeader;
        Ok(RecordingStep::Record { consumed: 0, bytes: &[], stream: &self.stream, record })
    }

    fn need<'a>(&mut self, bytes: usize) -> RecordingStep<'a> {
        self.wanted = bytes;
        RecordingStep::NeedMore(bytes)
    }
}

#[cfg(test)]
mod tests;
