//! Segments as they are written: begun, filled, closed, packed, thrown away.
//! A disk that is full or fails stops nothing but this.

mod packer;
mod store_location;

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use perfdata::segment::{HEAD, SegmentHeader, StoredFrame, encode};
use rustix::fs::fdatasync;

use super::history::ReadableSegments;
use super::recorded_stream::RecordedStream;
use super::role::StandingSpec;
use crate::control::{SharedCounts, StandingState, StandingStatus};
use crate::store::{
    Clock, Directory, ListedSegment, Recovered, RetentionLimits, SegmentState, expired, header,
    recover,
};
use crate::worker::chunk::{Chunk, SampleGap};
use packer::Packer;
pub(super) use store_location::{DiskCall, StoreLocation, Subdirectory};

/// The free space is looked at each time so many bytes were written.
const FREE_SPACE_CHECK_BYTES: u64 = 1024 * 1024;
/// A disk that failed is tried again after that.
const RETRY: Duration = Duration::from_secs(1);
/// A step of the clock that is worth a new segment, nanoseconds.
const STEP: u64 = 1_000_000_000;

#[derive(Debug)]
struct OpenSegment {
    file: File,
    header: SegmentHeader,
    bytes: u64,
    /// Bytes when the free space was last looked at.
    checked_bytes: u64,
    last: u64,
    is_dirty: bool,
}

#[derive(Debug)]
pub(super) struct Spool {
    location: Box<dyn StoreLocation>,
    directory: Option<Directory>,
    limits: RetentionLimits,
    clock: Arc<dyn Clock>,
    status: Arc<SharedCounts<StandingStatus>>,
    packer: Packer,
    closed: Vec<ClosedSegment>,
    open: Option<OpenSegment>,
    next: u64,
    /// The sampling that is written, and its segments so far.
    part: (u64, u64),
    /// When to try again, monotonic, nanoseconds.
    retry: Option<u64>,
    gap: SampleGap,
    /// Said at the beginning of the next segment.
    notes: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct ClosedSegment {
    number: u64,
    state: SegmentState,
    bytes: u64,
    /// None: it cannot be read.
    header: Option<SegmentHeader>,
    /// When its last record was written; None: before this process began.
    ended: Option<u64>,
}

impl Spool {
    pub(super) fn new(
        role: &StandingSpec,
        location: Box<dyn StoreLocation>,
        clock: Arc<dyn Clock>,
        status: Arc<SharedCounts<StandingStatus>>,
    ) -> Spool {
        Spool {
            location,
            directory: None,
            limits: role.kept.clone(),
            clock,
            status,
            packer: Packer::default(),
            closed: Vec::new(),
            open: None,
            next: 0,
            part: (0, 0),
            retry: None,
            gap: SampleGap::default(),
            notes: Vec::new(),
        }
    }

    /// Writes a chunk, or counts it as lost.
    pub(super) fn append(&mut self, chunk: &Chunk<'_>, context: &RecordedStream) {
        match self.try_append(chunk, context) {
            Ok(true) => {
                self.status.lock().stored.written += chunk.samples;
                return;
            }
            Ok(false) => {}
            Err(error) => self.fail(&error),
        }
        context.add_missed(chunk, &mut self.gap);
        self.status.lock().stored.unwritten += chunk.samples;
    }

    /// Tells what could not be written, though nothing comes to be written:
    /// the next chunk may be far away.
    pub(super) fn write_gap(&mut self, context: &RecordedStream) {
        if !self.gap.is_empty()
            && let Err(error) = self.is_ready(context)
        {
            self.fail(&error);
        }
    }

    /// Begins a segment where none is open; false: the disk is left alone for
    /// a while.
    fn is_ready(&mut self, context: &RecordedStream) -> io::Result<bool> {
        if self.open.is_none() {
            let now = self.clock.monotonic();
            if self.retry.is_some_and(|retry| now < retry) {
                return Ok(false);
            }
            self.begin_segment(context)?;
        }
        Ok(true)
    }

    /// False: the disk is left alone for a while.
    fn try_append(&mut self, chunk: &Chunk<'_>, context: &RecordedStream) -> io::Result<bool> {
        if !self.is_ready(context)? {
            return Ok(false);
        }
        self.write(self.clock.monotonic().max(1), chunk.bytes)?;
        if self.open.as_ref().is_some_and(|open| open.bytes >= self.limits.segment_bytes()) {
            self.close();
        }
        Ok(true)
    }

    fn fail(&mut self, error: &io::Error) {
        if self.retry.is_none() {
            tracing::warn!(%error, "the recording pauses, sampling goes on");
        }
        let retry = u64::try_from(RETRY.as_nanos()).unwrap_or(u64::MAX);
        self.retry = Some(self.clock.monotonic().saturating_add(retry));
        self.status.lock().state = StandingState::Unwritten;
        self.close();
    }

    fn begin_segment(&mut self, context: &RecordedStream) -> io::Result<()> {
        if self.directory.as_ref().is_none_or(Directory::is_removed) {
            self.open_directory()?;
        }
        self.remove_expired();
        self.check_free_space()?;
        let stream = context.stream;
        let part = if self.part.0 == stream { self.part.1 } else { 0 };
        let header = SegmentHeader {
            boot: self.clock.boot(),
            realtime_offset: self.clock.offset(),
            number: self.next,
            stream,
            part,
            begun: self.clock.monotonic(),
        };
        let Some(directory) = &self.directory else { return Ok(()) };
        let mut file = directory.create(self.next, SegmentState::Open)?;
        self.next += 1;
        self.location.fault(DiskCall::Write)?;
        let first = header.encode();
        let written = file.write_all(&first);
        let bytes = first.len() as u64;
        self.open = Some(OpenSegment {
            file,
            header,
            bytes,
            checked_bytes: bytes,
            last: header.begun,
            is_dirty: true,
        });
        written?;
        let mut result = Ok(());
        context.describe(&mut |piece| {
            if result.is_ok() {
                result = self.write(HEAD, piece);
            }
        });
        result?;
        let now = self.clock.monotonic().max(1);
        for note in std::mem::take(&mut self.notes) {
            self.write(now, &context.note(&note))?;
        }
        if !self.gap.is_empty() {
            // Kept until it is on disk.
            let mut gap = self.gap.clone();
            self.write(now, &gap.take_lost_records(&context.trailer))?;
            self.gap = gap;
        }
        self.part = (stream, part + 1);
        if self.retry.take().is_some() {
            tracing::info!("the recording goes on");
        }
        self.status.lock().state = StandingState::Running;
        Ok(())
    }

    fn open_directory(&mut self) -> io::Result<()> {
        let directory = self.location.open()?;
        directory.lock()?;
        let Recovered { next, gap } = recover(&directory, &*self.clock)?;
        self.next = self.next.max(next);
        if let Some(gap) = gap {
            let seconds = Duration::from_nanos(gap.nanoseconds).as_secs_f64();
            self.notes.push(format!(
                "lost.recovery=unknown;recovery.seconds={seconds:.3};recovery.bytes={}",
                gap.bytes
            ));
        }
        self.closed = directory
            .list()?
            .into_iter()
            .filter(|listed| matches!(listed.state, SegmentState::Closed | SegmentState::Packed))
            .map(|listed| closed(&directory, listed))
            .collect();
        for unpacked in self.closed.iter().filter(|closed| closed.state == SegmentState::Closed) {
            self.packer.pack(directory.try_clone()?, unpacked.number);
        }
        self.directory = Some(directory);
        Ok(())
    }

    /// One frame, whole or not at all.
    fn write(&mut self, time: u64, payload: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(payload.len() + 16);
        if !encode(&StoredFrame { time, payload }, &mut bytes) {
            return Ok(());
        }
        let due = |open: &OpenSegment| {
            open.bytes + bytes.len() as u64 - open.checked_bytes >= FREE_SPACE_CHECK_BYTES
        };
        if self.open.as_ref().is_some_and(due) {
            self.check_free_space()?;
        }
        let fault = self.location.fault(DiskCall::Write);
        let Some(open) = &mut self.open else { return Err(io::Error::other("no segment")) };
        let written = fault.and_then(|()| open.file.write_all(&bytes));
        if let Err(error) = written {
            // Where even that fails, the reader sees that the frame is cut.
            let _cut = open.file.set_len(open.bytes).and_then(|()| {
                io::Seek::seek(&mut open.file, io::SeekFrom::Start(open.bytes)).map(|_| ())
            });
            return Err(error);
        }
        open.bytes += bytes.len() as u64;
        open.last = open.last.max(time);
        open.is_dirty = true;
        Ok(())
    }

    fn check_free_space(&mut self) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let free = directory.free()?;
        if let Some(open) = &mut self.open {
            open.checked_bytes = open.bytes;
        }
        if free < self.limits.free {
            return Err(io::Error::other(format!(
                "{free} bytes are free where {} are to be kept free",
                self.limits.free
            )));
        }
        Ok(())
    }

    pub(super) fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let Some(directory) = &self.directory else { return };
        let number = open.header.number;
        let closed = self
            .location
            .fault(DiskCall::Sync)
            .and_then(|()| Ok(fdatasync(&open.file)?))
            .and_then(|()| directory.rename(number, SegmentState::Open, SegmentState::Closed));
        if let Err(error) = closed {
            tracing::warn!(number, %error, "a segment could not be closed as it should");
        }
        let OpenSegment { header, bytes, last, .. } = open;
        let (header, ended) = (Some(header), Some(last));
        self.closed.push(ClosedSegment {
            number,
            state: SegmentState::Closed,
            bytes,
            header,
            ended,
        });
        if let Ok(directory) = directory.try_clone() {
            self.packer.pack(directory, number);
        }
        self.count_bytes();
    }

    /// To be called each second: what was written is on disk after it.
    pub(super) fn tick(&mut self) {
        if self.directory.is_none() && self.retry.is_none() {
            // Counts what was recorded before while the target is not there,
            // too. A failure is reported when there is something to write.
            let _then = self.open_directory();
        }
        for (number, bytes) in self.packer.done() {
            match self.closed.iter_mut().find(|closed| closed.number == number) {
                Some(closed) => (closed.state, closed.bytes) = (SegmentState::Packed, bytes),
                // Thrown away while it was packed.
                None => {
                    let directory = self.directory.as_ref();
                    let _gone = directory.map(|it| it.remove(number, SegmentState::Packed));
                }
            }
        }
        if self.directory.as_ref().is_some_and(Directory::is_removed) {
            tracing::warn!("the recording's directory was removed; another is made");
            (self.open, self.directory, self.part) = (None, None, (0, 0));
            self.closed.clear();
        }
        if let Err(error) = self.sync() {
            self.fail(&error);
        }
        let stale = self.open.as_ref().is_some_and(|open| {
            let age = Duration::from_nanos(self.clock.age(&open.header, open.header.begun));
            let step = open.header.realtime_offset.abs_diff(self.clock.offset());
            if step > STEP {
                let seconds = Duration::from_nanos(step).as_secs_f64();
                tracing::info!(seconds, "the clock was set");
            }
            age > self.limits.segment_age() || step > STEP
        });
        if stale {
            self.close();
        }
        self.remove_expired();
        self.count_bytes();
    }

    fn sync(&mut self) -> io::Result<()> {
        let Some(open) = self.open.as_mut().filter(|open| open.is_dirty) else { return Ok(()) };
        self.location.fault(DiskCall::Sync)?;
        fdatasync(&open.file)?;
        open.is_dirty = false;
        Ok(())
    }

    fn remove_expired(&mut self) {
        let Some(directory) = &self.directory else { return };
        let headers = self.closed.iter().skip(1).map(|closed| closed.header);
        let after = headers.chain([self.open.as_ref().map(|open| open.header)]);
        // Of those that were there before: no later than the next begins.
        let segments: Vec<_> = self
            .closed
            .iter()
            .zip(after)
            .map(|(closed, after)| {
                let own = closed.header.zip(closed.ended);
                let last = own.or(after.map(|after| (after, after.begun)));
                let age = last.map(|(header, time)| self.clock.age(&header, time));
                (closed.bytes, age.map(Duration::from_nanos))
            })
            .collect();
        let writing = self.open.as_ref().map_or(0, |open| open.bytes);
        let gone = expired(&segments, writing, &self.limits);
        for closed in self.closed.drain(..gone) {
            for state in [SegmentState::Closed, SegmentState::Packed] {
                match directory.remove(closed.number, state) {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => tracing::warn!(number = closed.number, %error, "cannot remove"),
                }
            }
        }
    }

    fn count_bytes(&self) {
        let open = self.open.as_ref().map_or(0, |open| open.bytes);
        let bytes = self.closed.iter().fold(open, |sum, closed| sum + closed.bytes);
        self.status.lock().stored.bytes = bytes;
    }

    /// What there is to read now.
    pub(super) fn readable(&mut self) -> io::Result<ReadableSegments> {
        if self.directory.as_ref().is_none_or(Directory::is_removed) {
            self.open_directory()?;
        }
        let Some(directory) = &self.directory else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mut numbers: Vec<u64> = self.closed.iter().map(|closed| closed.number).collect();
        let open = self.open.as_ref();
        numbers.extend(open.map(|open| open.header.number));
        let (directory, open) = (directory.try_clone()?, open.map(|open| open.bytes));
        Ok(ReadableSegments { directory, numbers, open })
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }
}

fn closed(directory: &Directory, listed: ListedSegment) -> ClosedSegment {
    let ListedSegment { number, state, bytes } = listed;
    let header = directory.open(number, state).ok().and_then(|file| header(file, state).ok());
    // A copy under another name is none of this recording's.
    let header = header.filter(|header| header.number == number);
    ClosedSegment { number, state, bytes, header, ended: None }
}

#[cfg(test)]
mod tests;
