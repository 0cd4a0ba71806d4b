//! Closed segments as zstd: a skippable frame with the segment's header,
//! which so can be read alone, then the whole segment packed. `zstd -d`
//! gives the segment.

use std::io::{self, Read, Write};

use zstd_safe::{CCtx, CParameter, DCtx, InBuffer, OutBuffer};

use super::segment_header::{HEADER, SegmentHeader};
use super::segment_reader::SegmentReadError;

/// RFC 8878, 3.1.2: of the sixteen magic numbers of skippable frames the
/// first.
pub(super) const SKIPPABLE: u32 = 0x184D_2A50;
/// Bytes of the skippable frame.
const BEFORE: usize = 8 + HEADER;
/// Of compression: what a service in production has time for.
const LEVEL: i32 = 3;
/// Bytes that are read or written at once.
const PIECE: usize = 128 * 1024;

fn wrong(code: usize) -> io::Error {
    io::Error::other(format!("zstd: {}", zstd_safe::get_error_name(code)))
}

/// Packs a whole segment.
///
/// # Errors
/// It cannot be read or written, or is shorter than a header.
pub fn pack(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut first = [0; HEADER];
    from.read_exact(&mut first)?;
    let length = u32::try_from(HEADER).map_err(io::Error::other)?;
    to.write_all(&[SKIPPABLE.to_le_bytes(), length.to_le_bytes()].concat())?;
    to.write_all(&first)?;
    let mut context = CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(LEVEL)).map_err(wrong)?;
    context.set_parameter(CParameter::ChecksumFlag(true)).map_err(wrong)?;
    let mut all = (&first[..]).chain(from);
    let (mut piece, mut packed) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let read = all.read(&mut piece)?;
        let mut input = InBuffer::around(&piece[..read]);
        loop {
            let mut output = OutBuffer::around(packed.as_mut_slice());
            let left = match read {
                0 => context.end_stream(&mut output).map_err(wrong)?,
                _ => context.compress_stream(&mut output, &mut input).map(|_| 0).map_err(wrong)?,
            };
            to.write_all(output.as_slice())?;
            let done = if read == 0 { left == 0 } else { input.pos() == read };
            if done {
                break;
            }
        }
        if read == 0 {
            return Ok(());
        }
    }
}

/// A packed segment as its bytes before packing.
pub struct PackedSegment<R> {
    input: R,
    context: DCtx<'static>,
    piece: Vec<u8>,
    at: usize,
    filled: usize,
    /// What was read ends where a frame of zstd does.
    is_whole: bool,
}

impl<R: Read> PackedSegment<R> {
    /// Its header, read without unpacking anything.
    ///
    /// # Errors
    /// It is none, or cannot be read.
    pub fn header(mut input: R) -> Result<SegmentHeader, SegmentReadError> {
        let mut front = [0; BEFORE];
        input.read_exact(&mut front)?;
        Ok(SegmentHeader::decode(&front[8..])?)
    }

    /// Reads from its beginning.
    pub fn new(input: R) -> PackedSegment<R> {
        let piece = vec![0; PIECE];
        PackedSegment { input, context: DCtx::create(), piece, at: 0, filled: 0, is_whole: true }
    }
}

impl<R: Read> Read for PackedSegment<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.at == self.filled {
                self.filled = self.input.read(&mut self.piece)?;
                self.at = 0;
            }
            let ended = self.filled == 0;
            let mut input = InBuffer::around(&self.piece[self.at..self.filled]);
            let mut output = OutBuffer::around(&mut *buffer);
            let hint = self.context.decompress_stream(&mut output, &mut input).map_err(wrong)?;
            self.at += input.pos();
            let written = output.pos();
            if input.pos() > 0 || written > 0 {
                self.is_whole = hint == 0;
            }
            if ended && written == 0 && !self.is_whole {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the packed segment is cut off",
                ));
            }
            if written > 0 || ended {
                return Ok(written);
            }
        }
    }
}

impl<R> std::fmt::Debug for PackedSegment<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackedSegment").finish_non_exhaustive()
    }
}
