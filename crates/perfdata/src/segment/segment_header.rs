//! The first bytes of a segment.

/// Bytes of a header.
pub const HEADER: usize = 72;
pub(super) const MAGIC: [u8; 8] = *b"HMSEGMT\0";
const VERSION: u32 = 1;

/// Which segment it is, and what its times mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Of the boot in which it was begun
    /// (/proc/sys/kernel/random/boot_id): monotonic times of others do not
    /// compare.
    pub boot: [u8; 16],
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC when it was begun, nanoseconds.
    pub realtime_offset: i64,
    /// Segments of the recording before it, as its file is called.
    pub number: u64,
    /// Of the sampling that it is of, random: its target was found, or found
    /// again.
    pub stream: u64,
    /// Segments of that sampling before it.
    pub part: u64,
    /// When it was begun, CLOCK_MONOTONIC, nanoseconds.
    pub begun: u64,
}

/// Bytes that are no segment's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentHeaderError {
    #[error("no segment of a recording")]
    Magic,
    #[error("a segment of version {version}; this program reads version {VERSION}")]
    Version { version: u32 },
    #[error("the header's checksum is wrong")]
    Checksum,
}

impl SegmentHeader {
    /// As bytes.
    pub fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.boot);
        bytes[32..40].copy_from_slice(&self.realtime_offset.to_le_bytes());
        let words = [self.number, self.stream, self.part, self.begun];
        for (to, word) in bytes[40..].chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// From the front of a segment.
    ///
    /// # Errors
    /// [`SegmentHeaderError`]: none begins here.
    pub fn decode(bytes: &[u8]) -> Result<SegmentHeader, SegmentHeaderError> {
        let mut bytes: [u8; HEADER] = *bytes.first_chunk().ok_or(SegmentHeaderError::Magic)?;
        if bytes[..8] != MAGIC {
            return Err(SegmentHeaderError::Magic);
        }
        let [_, _, _, _, _, _, _, _, v0, v1, v2, v3, c0, c1, c2, c3, ..] = bytes;
        let version = u32::from_le_bytes([v0, v1, v2, v3]);
        if version != VERSION {
            return Err(SegmentHeaderError::Version { version });
        }
        bytes[12..16].fill(0);
        if crc32fast::hash(&bytes) != u32::from_le_bytes([c0, c1, c2, c3]) {
            return Err(SegmentHeaderError::Checksum);
        }
        let mut boot = [0; 16];
        boot.copy_from_slice(&bytes[16..32]);
        let word = |at: usize| {
            let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
            word.map_or(0, u64::from_le_bytes)
        };
        Ok(SegmentHeader {
            boot,
            realtime_offset: word(32).cast_signed(),
            number: word(40),
            stream: word(48),
            part: word(56),
            begun: word(64),
        })
    }
}
