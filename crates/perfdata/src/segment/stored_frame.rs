//! A piece of a segment: whole records, and when they were written.

/// Bytes before a frame's payload: length (u32), checksum (u32), time (u64),
/// all little-endian.
pub const BEFORE: usize = 16;
/// Payload bytes of a frame at most: a chunk of a session, and the ring that
/// was emptied into it.
pub const LONGEST: usize = 64 * 1024 * 1024;
/// The time of frames that describe what was there when the segment was
/// begun: events, machine, processes.
pub const HEAD: u64 = 0;

/// Whole records of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFrame<'a> {
    /// When they were handed to the writer, CLOCK_MONOTONIC, nanoseconds;
    /// [`HEAD`].
    pub time: u64,
    pub payload: &'a [u8],
}

/// Appends a frame; false: it is empty or too long, and nothing was appended.
pub fn encode(frame: &StoredFrame<'_>, out: &mut Vec<u8>) -> bool {
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
fn checksum(length: u32, frame: &StoredFrame<'_>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(&frame.time.to_le_bytes());
    hasher.update(frame.payload);
    hasher.finalize()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    short: u32,
    checksum: u32,
    time: u64,
}

impl Before {
    /// None: no frame is so long, or so short.
    pub(super) fn decode(bytes: [u8; BEFORE]) -> Option<Before> {
        let [l0, l1, l2, l3, c0, c1, c2, c3, time @ ..] = bytes;
        let short = u32::from_le_bytes([l0, l1, l2, l3]);
        let checksum = u32::from_le_bytes([c0, c1, c2, c3]);
        let before = Before { short, checksum, time: u64::from_le_bytes(time) };
        (1..=LONGEST).contains(&before.length()).then_some(before)
    }

    /// Bytes of the payload.
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.short).unwrap_or(usize::MAX)
    }

    /// The frame, if its checksum is right.
    pub(super) fn with<'a>(&self, payload: &'a [u8]) -> Option<StoredFrame<'a>> {
        let frame = StoredFrame { time: self.time, payload };
        (checksum(self.short, &frame) == self.checksum).then_some(frame)
    }
}
