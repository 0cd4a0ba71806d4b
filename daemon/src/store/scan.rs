//! Reading a segment back, up to where a crash cut it.

use super::frame::{BEFORE, Frame, decode};
use super::header::{HEADER, Header, HeaderError};

/// A walk over the frames of a segment.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a> {
    header: Header,
    bytes: &'a [u8],
    at: usize,
}

/// Begins to read a segment.
///
/// # Errors
/// [`HeaderError`]: it is none.
pub fn scan(bytes: &[u8]) -> Result<Scan<'_>, HeaderError> {
    Ok(Scan { header: Header::decode(bytes)?, bytes, at: HEADER })
}

impl Scan<'_> {
    /// Which segment it is.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes up to which all frames are whole; what is behind them, once
    /// there is no next frame, is to be cut off.
    pub fn good(&self) -> usize {
        self.at
    }

    /// Whether something follows that is no whole frame.
    pub fn is_damaged(&self) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| !rest.is_empty() && decode(rest).is_none())
    }
}

impl<'a> Iterator for Scan<'a> {
    type Item = Frame<'a>;

    fn next(&mut self) -> Option<Frame<'a>> {
        let frame = decode(self.bytes.get(self.at..)?)?;
        self.at += BEFORE + frame.payload.len();
        Some(frame)
    }
}
