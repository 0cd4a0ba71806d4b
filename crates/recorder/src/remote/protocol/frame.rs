//! The unit of transfer: a header of 8 bytes and a payload.

/// Bytes of a frame's header: payload length (u32), kind (u8), flags (u8),
/// version (u16), all little-endian.
pub const FRAME_HEADER: usize = 8;
/// Payload bytes that a client may send in one frame.
pub const MAX_CLIENT_PAYLOAD: u32 = 64 * 1024;
/// Payload bytes that a daemon may send in one frame.
pub const MAX_DAEMON_PAYLOAD: u32 = 1024 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameKind {
    /// A control message: one JSON object.
    Control,
    /// Bytes of a session's stream: whole records of perf.data in pipe form.
    Data,
}

impl FrameKind {
    fn byte(self) -> u8 {
        match self {
            FrameKind::Control => 1,
            FrameKind::Data => 2,
        }
    }

    fn of(byte: u8) -> Option<FrameKind> {
        [FrameKind::Control, FrameKind::Data].into_iter().find(|kind| kind.byte() == byte)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolFrame<'a> {
    pub kind: FrameKind,
    /// The version its sender speaks; 0 is none.
    pub version: u16,
    pub payload: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// No whole frame yet: at least so many bytes in all are needed.
    NeedMore(usize),
    /// A frame, and the bytes that it takes.
    Frame(ProtocolFrame<'a>, usize),
}

/// Bytes that are no frame. The connection cannot go on: where the next
/// frame begins is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("a frame of {length} bytes; at most {most} are allowed")]
    TooLong { length: u32, most: u32 },
    #[error("a frame without a payload")]
    Empty,
    #[error("a frame of kind {kind}; known are 1 (control) and 2 (data)")]
    Kind { kind: u8 },
    /// Flags are for later versions.
    #[error("a frame with flags {flags:#04x}; none are known")]
    Flags { flags: u8 },
}

/// Looks at the front of `input` for a frame of at most `most` bytes. The
/// header is checked before the payload is waited for.
///
/// # Errors
/// [`FrameError`]: no frame begins here.
pub fn parse(input: &[u8], most: u32) -> Result<Parsed<'_>, FrameError> {
    let Some((header, rest)) = input.split_first_chunk::<FRAME_HEADER>() else {
        return Ok(Parsed::NeedMore(FRAME_HEADER));
    };
    let [a, b, c, d, kind, flags, low, high] = *header;
    let length = u32::from_le_bytes([a, b, c, d]);
    if length > most {
        return Err(FrameError::TooLong { length, most });
    }
    if length == 0 {
        return Err(FrameError::Empty);
    }
    let kind = FrameKind::of(kind).ok_or(FrameError::Kind { kind })?;
    if flags != 0 {
        return Err(FrameError::Flags { flags });
    }
    // At most `most`: it fits.
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let Some(payload) = rest.get(..length) else {
        return Ok(Parsed::NeedMore(FRAME_HEADER.saturating_add(length)));
    };
    let version = u16::from_le_bytes([low, high]);
    Ok(Parsed::Frame(ProtocolFrame { kind, version, payload }, FRAME_HEADER + length))
}

/// The header of a frame with so many bytes of payload.
///
/// # Errors
/// A payload that is empty, or longer than any side may send.
pub fn frame(kind: FrameKind, length: usize) -> Result<[u8; FRAME_HEADER], FrameError> {
    let most = MAX_DAEMON_PAYLOAD;
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    match length {
        0 => return Err(FrameError::Empty),
        _ if length > most => return Err(FrameError::TooLong { length, most }),
        _ => {}
    }
    let [a, b, c, d] = length.to_le_bytes();
    let [low, high] = super::VERSION.to_le_bytes();
    Ok([a, b, c, d, kind.byte(), 0, low, high])
}

/// The newest that is spoken, and the one that frames are marked with.
pub const VERSION: u16 = 3;
pub const OLDEST: u16 = 3;

/// The newest version that both sides speak, given the other side's oldest
/// and newest; None: there is none.
pub fn common(oldest: u16, newest: u16) -> Option<u16> {
    let version = newest.min(VERSION);
    (version >= oldest.max(OLDEST) && oldest <= newest).then_some(version)
}
