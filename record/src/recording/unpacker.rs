//! Records out of a zstd stream that is cut into COMPRESSED records.
//!
//! All of them are one frame that never ends: the recorder flushes it at the
//! end of each record (zstd_compress_stream_to_records(),
//! tools/perf/util/zstd.c). What comes out is cut anywhere, too.

use crate::bytes::{ByteOrder, Cursor};
use crate::header::{RecordHeader, RecordType};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// Bytes that come out at once, beside what is left of a record.
const PIECE: usize = 1 << 17;
/// The longest record, and what is wanted around it to find it.
const RECORD: usize = (1 << 16) + 64;
/// Windows of 32 MiB are always taken: perf's levels up to 20.
const WINDOW_LOG: u32 = 25;
/// 128 MiB, that of perf's highest level (-z 22).
const WINDOW_LOG_MAX: u32 = 27;

/// What a frame starts with: recorders begin one at the start of a record.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Takes packed bytes, lends records.
pub(super) struct Unpacker {
    context: Option<DCtx<'static>>,
    window_log: u32,
    packed: Vec<u8>,
    /// Bytes of `packed` that zstd took.
    taken: usize,
    output: Vec<u8>,
    room: Room,
    /// zstd may hold more than fitted.
    holds_more: bool,
    broken: bool,
    /// The record that came last, and where.
    origin: (RecordType, u64),
}

/// Which part of the output is there and not used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    start: usize,
    end: usize,
    /// Bytes that the next step wants.
    wanted: usize,
}

impl Room {
    const EMPTY: Room = Room { start: 0, end: 0, wanted: RecordHeader::SIZE };

    /// So many bytes were used.
    pub(super) fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.wanted = RecordHeader::SIZE;
    }

    /// So many bytes are wanted before any is used.
    pub(super) fn want(&mut self, bytes: usize) {
        self.wanted = bytes;
    }

    fn left(&self) -> usize {
        self.end - self.start
    }
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Unpacker {
    /// Holds nothing, and takes no memory until it does. What is packed says
    /// how much that is: not more is given than 32 MiB beyond the length of
    /// the recording, when that is known.
    pub(super) fn new(length: u64) -> Unpacker {
        let given = length.saturating_add(1 << WINDOW_LOG);
        Unpacker {
            context: None,
            window_log: given.ilog2().min(WINDOW_LOG_MAX),
            packed: Vec::new(),
            taken: 0,
            output: Vec::new(),
            room: Room::EMPTY,
            holds_more: false,
            broken: false,
            origin: (RecordType::COMPRESSED, 0),
        }
    }

    /// Takes the packed bytes of the record at an offset; all before must
    /// have come out. False when something before could not be unpacked.
    pub(super) fn give(&mut self, kind: RecordType, offset: u64, data: &[u8]) -> bool {
        self.origin = (kind, offset);
        self.packed.clear();
        self.taken = 0;
        if self.broken && data.starts_with(&FRAME) {
            self.broken = false;
        }
        if !self.broken {
            self.packed.extend_from_slice(data);
        }
        !self.broken
    }

    /// Whether something may come out.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.taken < self.packed.len() || self.holds_more || self.room.left() >= self.room.wanted
    }

    /// Unpacks until a whole record is there, or what was wanted; false when
    /// there is not so much.
    ///
    /// # Errors
    /// What zstd says. What follows cannot be unpacked then.
    pub(super) fn fill(&mut self, order: ByteOrder) -> Result<bool, &'static str> {
        loop {
            let output = &self.output[self.room.start..self.room.end];
            let size = match RecordHeader::decode(&mut Cursor::new(output, order)) {
                Ok(header) if self.room.wanted == RecordHeader::SIZE => usize::from(header.size),
                _ => 0,
            };
            if output.len() >= size.max(self.room.wanted) {
                return Ok(true);
            }
            if self.taken == self.packed.len() && !self.holds_more {
                self.room.wanted = size.max(self.room.wanted);
                return Ok(false);
            }
            if let Err(reason) = self.unpack() {
                self.give_up();
                return Err(reason);
            }
        }
    }

    /// Everything that came out and was not used, and the place to say what
    /// was done with it.
    #[inline]
    pub(super) fn output(&mut self) -> (&[u8], &mut Room) {
        (&self.output[self.room.start..self.room.end], &mut self.room)
    }

    /// Where the last packed record is.
    pub(super) fn origin(&self) -> (RecordType, u64) {
        self.origin
    }

    /// Bytes of a record whose rest never came.
    pub(super) fn leftover(&self) -> usize {
        self.room.left()
    }

    /// Nothing that follows can be understood, up to the next frame.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
        self.holds_more = false;
        self.room = Room::EMPTY;
        self.packed.clear();
        self.taken = 0;
        self.context = None;
    }

    fn unpack(&mut self) -> Result<(), &'static str> {
        self.output.copy_within(self.room.start..self.room.end, 0);
        self.room.end -= self.room.start;
        self.room.start = 0;
        self.output.resize(PIECE + RECORD, 0);
        let context = match &mut self.context {
            Some(context) => context,
            none => none.insert(new_context(self.window_log)?),
        };
        let mut input = InBuffer::around(&self.packed[self.taken..]);
        let room = &mut self.output[self.room.end..];
        let mut output = OutBuffer::around(room);
        let result = context.decompress_stream(&mut output, &mut input);
        let (took, gave) = (input.pos(), output.pos());
        result.map_err(zstd_safe::get_error_name)?;
        self.taken += took;
        self.room.end += gave;
        self.holds_more = self.room.end == self.output.len();
        if took == 0 && gave == 0 {
            return Err("it makes no progress");
        }
        Ok(())
    }
}

fn new_context(window_log: u32) -> Result<DCtx<'static>, &'static str> {
    let mut context = DCtx::try_create().ok_or("no memory for zstd")?;
    let set = context.set_parameter(DParameter::WindowLogMax(window_log));
    set.map_err(zstd_safe::get_error_name)?;
    Ok(context)
}
