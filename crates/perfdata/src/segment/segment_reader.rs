//! Reading a segment back, up to where a crash cut it.

use std::io::{self, Read};

use super::segment_header::{HEADER, SegmentHeader, SegmentHeaderError};
use super::stored_frame::{BEFORE, Before, StoredFrame};

/// Why a file cannot be read as a segment.
#[derive(Debug, thiserror::Error)]
pub enum SegmentReadError {
    #[error(transparent)]
    SegmentHeader(#[from] SegmentHeaderError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A walk over the frames of a segment.
#[derive(Debug)]
pub struct SegmentReader<R> {
    header: SegmentHeader,
    input: R,
    good: u64,
    is_damaged: bool,
    payload: Vec<u8>,
}

impl<R: Read> SegmentReader<R> {
    /// Begins to read a segment.
    ///
    /// # Errors
    /// It is none, or cannot be read.
    pub fn new(mut input: R) -> Result<SegmentReader<R>, SegmentReadError> {
        let mut bytes = Vec::with_capacity(HEADER);
        input.by_ref().take(HEADER as u64).read_to_end(&mut bytes)?;
        let header = SegmentHeader::decode(&bytes)?;
        let good = HEADER as u64;
        Ok(SegmentReader { header, input, good, is_damaged: false, payload: Vec::new() })
    }

    /// Which segment it is.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Bytes up to which all frames are whole; what is behind them, once
    /// there is no next frame, is to be cut off.
    pub fn good(&self) -> u64 {
        self.good
    }

    /// Whether something follows that is no whole frame, once there is no
    /// next one.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// The next frame; None: there is no other whole one.
    ///
    /// # Errors
    /// As read(2).
    pub fn next_frame(&mut self) -> io::Result<Option<StoredFrame<'_>>> {
        if self.is_damaged {
            return Ok(None);
        }
        self.payload.clear();
        self.input.by_ref().take(BEFORE as u64).read_to_end(&mut self.payload)?;
        if self.payload.is_empty() {
            return Ok(None);
        }
        let before = self.payload.as_slice().try_into().ok().and_then(Before::decode);
        let Some(before) = before else {
            self.is_damaged = true;
            return Ok(None);
        };
        self.payload.clear();
        // Memory grows with the bytes that there are, not with what is said.
        let length = before.length();
        self.input.by_ref().take(length as u64).read_to_end(&mut self.payload)?;
        if self.payload.len() < length || before.with(&self.payload).is_none() {
            self.is_damaged = true;
            return Ok(None);
        }
        self.good += (BEFORE + length) as u64;
        Ok(before.with(&self.payload))
    }
}
