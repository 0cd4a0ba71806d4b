//! A piece of a segment: whole records, and when they were written.

/// Bytes before a frame's payload: length (u32), checksum (u32), time (u64),
/// all little-endian.
pub(super) const BEFORE: usize = 16;
/// Payload bytes of a frame at most: a chunk of a session, and the ring that
/// was emptied into it.
pub const LONGEST: usize = 64 * 1024 * 1024;

/// Whole records of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When they were handed to the writer, CLOCK_MONOTONIC, nanoseconds.
    pub time: u64,
    /// The records.
    pub payload: &'a [u8],
}

/// Appends a frame; false: it is empty or too long, and nothing was appended.
pub fn encode(frame: &Frame<'_>, out: &mut Vec<u8>) -> bool {
    let length = frame.payload.len();
    let Ok(short) = u32::try_from(length) else { return false };
    if length == 0 || length > LONGEST {
        return false;
    }
    out.extend(short.to_le_bytes());
    out.extend(checksum(short, frame).to_le_bytes());
    out.extend(frame.time.to_le_bytes());
    out.extend(frame.payload);
    true
}

/// Of length, time and payload: a frame of zeros is none.
fn checksum(length: u32, frame: &Frame<'_>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(&frame.time.to_le_bytes());
    hasher.update(frame.payload);
    hasher.finalize()
}

/// The frame at the front of `bytes`; None: there is no whole one, or its
/// checksum is wrong.
pub(super) fn decode(bytes: &[u8]) -> Option<Frame<'_>> {
    let (before, rest) = bytes.split_first_chunk::<BEFORE>()?;
    let [l0, l1, l2, l3, c0, c1, c2, c3, time @ ..] = *before;
    let short = u32::from_le_bytes([l0, l1, l2, l3]);
    let length = usize::try_from(short).ok().filter(|length| (1..=LONGEST).contains(length))?;
    let frame = Frame { time: u64::from_le_bytes(time), payload: rest.get(..length)? };
    (checksum(short, &frame) == u32::from_le_bytes([c0, c1, c2, c3])).then_some(frame)
}
