//! What was recorded, as one stream again: of segments the part that is
//! wanted, one behind the other.

use std::io::{BufReader, Read};
use std::sync::Arc;
use std::time::Duration;

use perfdata::RecordType;
use perfdata::segment::{HEAD, PackedSegment, SegmentHeader, SegmentReadError, SegmentReader};
use perfdata::stream::{note, write};
use recorder::sys::event::NATIVE_ORDER;

use super::recorded_stream::{events, is_sampled};
use crate::store::{Clock, Directory, SegmentState, header};
use crate::worker::chunk::{Chunk, FILE_HEADER, aggregated_samples, lost_count, record_type};

#[derive(Debug)]
pub(super) struct ReadableSegments {
    pub(super) directory: Directory,
    /// Segments, oldest first.
    pub(super) numbers: Vec<u64>,
    /// Bytes of the last one, where that is still written.
    pub(super) open: Option<u64>,
}

#[derive(Debug)]
pub(super) struct History {
    pub(super) readable: ReadableSegments,
    /// From so long ago on; None: all.
    pub(super) since: Option<Duration>,
    /// Live records come behind it.
    pub(super) goes_on: bool,
    pub(super) clock: Arc<dyn Clock>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HistoryAccount {
    pub(super) samples: u64,
    pub(super) side: u64,
    /// Samples that its LOST records tell.
    pub(super) lost: u64,
    /// For the user: where something is missing that could not be counted.
    pub(super) gaps: Vec<String>,
    pub(super) damage: Vec<String>,
}

#[derive(Debug, Default)]
struct Section {
    stream: u64,
    is_described: bool,
    /// An id of each of its events.
    ids: Vec<u64>,
    samples: u64,
    /// Not all of it was handed on.
    is_part: bool,
    has_ledger: bool,
}

type AnyReader = SegmentReader<Box<dyn Read>>;

impl History {
    /// Hands on the stream, without its file's header; `send` says whether
    /// somebody wants more.
    pub(super) fn run(&self, send: &mut dyn FnMut(Vec<u8>) -> bool) -> HistoryAccount {
        let mut account = HistoryAccount::default();
        let mut section: Option<Section> = None;
        for (number, header) in self.wanted_segments(&mut account) {
            let mut reader = match self.open(number) {
                Ok(reader) => reader,
                Err(error) => {
                    account.damage.push(format!("segment {number} cannot be read: {error}"));
                    continue;
                }
            };
            let is_new = section.as_ref().is_none_or(|section| section.stream != header.stream);
            if is_new {
                if !finish(section.take(), &mut *send) {
                    return account;
                }
                let is_part = header.part > 0;
                section = Some(Section { stream: header.stream, is_part, ..Section::default() });
            }
            let Some(section) = &mut section else { continue };
            if !self.send_segment(&mut reader, section, &mut account, send) {
                return account;
            }
            if reader.is_damaged() {
                let at = reader.good();
                account.damage.push(format!("segment {number} is damaged from byte {at} on"));
            }
        }
        if !self.goes_on {
            finish(section, send);
        }
        account
    }

    /// Segments that may have what is wanted, oldest first.
    fn wanted_segments(&self, account: &mut HistoryAccount) -> Vec<(u64, SegmentHeader)> {
        let mut all: Vec<(u64, SegmentHeader)> = Vec::new();
        for &number in &self.readable.numbers {
            match self.header(number) {
                Ok(header) if header.number == number => all.push((number, header)),
                Ok(header) => account.damage.push(format!(
                    "segment {number} is left out: it is a copy of {}",
                    header.number
                )),
                Err(error) => account.damage.push(format!("segment {number} is left out: {error}")),
            }
        }
        // One ends where the next begins.
        let is_over = |(_, next): &(u64, SegmentHeader)| self.is_old(next, next.begun);
        let begin = all.iter().skip(1).take_while(|next| is_over(next)).count();
        all.drain(..begin);
        all
    }

    fn header(&self, number: u64) -> Result<SegmentHeader, SegmentReadError> {
        let (file, state) = open_segment(&self.readable.directory, number)?;
        header(file, state)
    }

    fn is_old(&self, header: &SegmentHeader, time: u64) -> bool {
        let age = Duration::from_nanos(self.clock.age(header, time));
        self.since.is_some_and(|since| age > since)
    }

    fn open(&self, number: u64) -> Result<AnyReader, SegmentReadError> {
        let is_last = self.readable.numbers.last() == Some(&number);
        let most = self.readable.open.filter(|_| is_last).unwrap_or(u64::MAX);
        let (file, state) = open_segment(&self.readable.directory, number)?;
        let file = BufReader::new(file);
        let input: Box<dyn Read> = match state {
            SegmentState::Packed => Box::new(PackedSegment::new(file)),
            _ => Box::new(file),
        };
        SegmentReader::new(Box::new(input.take(most)))
    }

    /// False: the reader has gone.
    fn send_segment(
        &self,
        reader: &mut AnyReader,
        section: &mut Section,
        account: &mut HistoryAccount,
        send: &mut dyn FnMut(Vec<u8>) -> bool,
    ) -> bool {
        let header = *reader.header();
        let mut is_first = true;
        loop {
            let frame = match reader.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return true,
                Err(error) => {
                    account.damage.push(format!("segment {}: {error}", header.number));
                    return true;
                }
            };
            let announces = std::mem::take(&mut is_first);
            let bytes = if announces {
                if std::mem::replace(&mut section.is_described, true) {
                    continue;
                }
                let events = events(frame.payload);
                let sampled = events.iter().filter(|event| is_sampled(event));
                section.ids = sampled.filter_map(|event| event.ids.first().copied()).collect();
                frame.payload.get(FILE_HEADER..).unwrap_or_default().to_vec()
            } else {
                let is_old = frame.time != HEAD && self.is_old(&header, frame.time);
                section.filter(&Chunk::new(frame.payload), is_old, account)
            };
            if !bytes.is_empty() && !send(bytes) {
                return false;
            }
        }
    }
}

impl Section {
    fn filter(&mut self, chunk: &Chunk<'_>, is_old: bool, account: &mut HistoryAccount) -> Vec<u8> {
        let mut out = Vec::with_capacity(chunk.bytes.len());
        for record in chunk.records() {
            match record_type(record) {
                // Before what is wanted, who was there is all that matters.
                RecordType::SAMPLE | RecordType::LOST | RecordType::LOST_SAMPLES if is_old => {
                    self.is_part = true;
                    continue;
                }
                RecordType::SAMPLE => self.samples += 1,
                RecordType::EVENT_UPDATE if aggregated_samples(record).is_some() => {
                    if is_old {
                        self.is_part = true;
                        continue;
                    }
                    self.samples += aggregated_samples(record).unwrap_or(0);
                }
                RecordType::LOST => account.lost += lost_count(record),
                RecordType::EVENT_UPDATE => {
                    let text = String::from_utf8_lossy(record.get(24..).unwrap_or_default());
                    let text = text.trim_end_matches('\0');
                    if note::value(text, "delivered").is_some() {
                        // The account of the whole is none of a part.
                        self.has_ledger |= !self.is_part;
                        if self.is_part {
                            continue;
                        }
                    }
                    if let Some(seconds) = note::value(text, "recovery.seconds") {
                        account.gaps.push(format!(
                            "the daemon was killed: {seconds} s are missing, up to where it was \
                             started again"
                        ));
                    }
                }
                _ => {}
            }
            out.extend_from_slice(record);
        }
        if !is_old {
            account.samples += chunk.samples;
        }
        account.side += chunk.side;
        out
    }
}

/// Ends a section that lacks its account with one of what was handed on:
/// readers know by it that it is whole.
fn finish(section: Option<Section>, send: &mut dyn FnMut(Vec<u8>) -> bool) -> bool {
    let Some(section) = section.filter(|section| !section.has_ledger) else { return true };
    let mut out = Vec::new();
    for (at, id) in section.ids.iter().enumerate() {
        let delivered = if at == 0 { section.samples } else { 0 };
        // It is short enough.
        let _fits =
            write::event_unit(*id, &format!("delivered={delivered}"), NATIVE_ORDER, &mut out);
    }
    out.is_empty() || send(out)
}

/// Its state changes while it is looked for: packed at last.
fn open_segment(
    directory: &Directory,
    number: u64,
) -> std::io::Result<(std::fs::File, SegmentState)> {
    let mut last = Err(std::io::ErrorKind::NotFound.into());
    for state in [SegmentState::Open, SegmentState::Closed, SegmentState::Packed] {
        match directory.open(number, state) {
            Ok(file) => return Ok((file, state)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => last = Err(error),
        }
    }
    last
}
