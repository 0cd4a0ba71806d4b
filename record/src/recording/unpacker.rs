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
/// The longest record.
const RECORD: usize = 1 << 16;
/// Windows of 32 MiB are always taken: perf's levels up to 20.
const WINDOW_LOG: u32 = 25;
/// 128 MiB, that of perf's highest level (-z 22).
const WINDOW_LOG_MAX: u32 = 27;

/// Takes packed bytes, lends records.
pub(super) struct Unpacker {
    context: Option<DCtx<'static>>,
    window_log: u32,
    packed: Vec<u8>,
    /// Bytes of `packed` that zstd took.
    taken: usize,
    output: Vec<u8>,
    start: usize,
    end: usize,
    /// zstd may hold more than fitted.
    holds_more: bool,
    broken: bool,
    /// The record that came last, and where.
    origin: (RecordType, u64),
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
            start: 0,
            end: 0,
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
        if !self.broken {
            self.packed.extend_from_slice(data);
        }
        !self.broken
    }

    /// Whether something may come out.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.taken < self.packed.len()
            || self.holds_more
            || self.end - self.start >= RecordHeader::SIZE
    }

    /// Unpacks until a whole record is there; false when none is.
    ///
    /// # Errors
    /// What zstd says, or a record after which no other can be told. Nothing
    /// comes out any more then.
    pub(super) fn fill(&mut self, order: ByteOrder) -> Result<bool, &'static str> {
        loop {
            let output = &self.output[self.start..self.end];
            match RecordHeader::decode(&mut Cursor::new(output, order)) {
                Ok(header) if usize::from(header.size) < RecordHeader::SIZE => {
                    self.give_up();
                    return Err("a record in it says that it is shorter than its header");
                }
                Ok(header) if usize::from(header.size) <= output.len() => return Ok(true),
                _ => {}
            }
            if self.taken == self.packed.len() && !self.holds_more {
                return Ok(false);
            }
            if let Err(reason) = self.unpack() {
                self.give_up();
                return Err(reason);
            }
        }
    }

    /// Everything that came out and was not used, and the place to say so
    /// when it was.
    #[inline]
    pub(super) fn output(&mut self) -> (&[u8], &mut usize) {
        (&self.output[self.start..self.end], &mut self.start)
    }

    /// Where the last packed record is.
    pub(super) fn origin(&self) -> (RecordType, u64) {
        self.origin
    }

    /// Bytes of a record whose rest never came.
    pub(super) fn leftover(&self) -> usize {
        self.end - self.start
    }

    /// Nothing that follows can be understood.
    fn give_up(&mut self) {
        self.broken = true;
        self.holds_more = false;
        (self.start, self.end) = (0, 0);
        self.packed.clear();
        self.taken = 0;
        self.context = None;
    }

    fn unpack(&mut self) -> Result<(), &'static str> {
        self.output.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.output.resize(PIECE + RECORD, 0);
        let context = match &mut self.context {
            Some(context) => context,
            none => none.insert(new_context(self.window_log)?),
        };
        let mut input = InBuffer::around(&self.packed[self.taken..]);
        let room = &mut self.output[self.end..];
        let mut output = OutBuffer::around(room);
        let result = context.decompress_stream(&mut output, &mut input);
        let (took, gave) = (input.pos(), output.pos());
        result.map_err(zstd_safe::get_error_name)?;
        self.taken += took;
        self.end += gave;
        self.holds_more = self.end == self.output.len();
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
