//! A sample as it stands in a stream.

use super::{EventDescription, StreamDecoder};
use crate::header::{Misc, RecordHeader};
use crate::sample::Sample;
use crate::units::Time;

/// A sample, not decoded: that takes the layout of its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRecord<'a> {
    /// Index into [`StreamDecoder::events`].
    pub event: usize,
    /// Misc of its header.
    pub misc: Misc,
    /// Bytes after its header.
    pub payload: &'a [u8],
}

impl<'a> SampleRecord<'a> {
    /// Bytes of the record, its header among them.
    #[inline]
    pub fn size(&self) -> usize {
        RecordHeader::SIZE + self.payload.len()
    }

    /// What the stream said of its event.
    #[inline]
    pub fn description<'d>(&self, decoder: &'d StreamDecoder) -> Option<&'d EventDescription> {
        decoder.events().get(self.event)
    }

    /// When it was taken, if its event tells.
    #[inline]
    pub fn time(&self, decoder: &StreamDecoder) -> Option<Time> {
        self.description(decoder)?.layout.peek_time(self.payload)
    }

    /// Its fields; None where they do not follow the layout of its event.
    pub fn decode(&self, decoder: &StreamDecoder) -> Option<Sample<'a>> {
        self.description(decoder)?.layout.decode(self.misc, self.payload).ok()
    }
}
