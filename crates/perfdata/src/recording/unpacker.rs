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
const WINDOW: u64 = 32 << 20;
/// 128 MiB, that of perf's highest level (-z 22).
const WINDOW_LOG_MAX: u32 = 27;
/// Bytes that come out in all, beyond [`MOST_OF_A_BYTE`] for each that was packed.
const FREE: u64 = 128 << 20;
/// Bytes that come out of each that was packed, of all of them: zstd makes up to
/// 32,768 of one. Recordings have 3 to 30; 64 KiB of the same stack, copied
/// again and again, some 600.
const MOST_OF_A_BYTE: u64 = 1024;
/// What a frame starts with: recorders begin one at the start of a record.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Takes packed bytes, lends records.
pub(super) struct Unpacker {
    context: Option<DCtx<'static>>,
    /// Bytes of a window that may be filled.
    given: u64,
    /// The next packed byte is the first of a frame.
    at_frame: bool,
    /// Bytes of the frame's window, and those that came out of the frame: so
    /// much of the window is filled.
    window: u64,
    filled: u64,
    packed: Vec<u8>,
    /// Bytes of `packed` that zstd took.
    taken: usize,
    output: Vec<u8>,
    room: Room,
    /// zstd may hold more than fitted.
    holds_more: bool,
    broken: bool,
    /// Packed bytes that were given, and bytes that came out of them.
    packed_in_all: u64,
    unpacked_in_all: u64,
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

    pub(super) fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.wanted = RecordHeader::SIZE;
    }

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
    /// the recording, when that is known. A window takes memory as it is
    /// filled, so that large ones of short recordings do no harm.
    pub(super) fn new(length: u64) -> Unpacker {
        Unpacker {
            context: None,
            given: length.saturating_add(WINDOW),
            at_frame: true,
            window: 0,
            filled: 0,
            packed: Vec::new(),
            taken: 0,
            output: Vec::new(),
            room: Room::EMPTY,
            holds_more: false,
            broken: false,
            packed_in_all: 0,
            unpacked_in_all: 0,
            origin: (RecordType::COMPRESSED, 0),
        }
    }

    /// Takes the packed bytes of the record at an offset; all before must
    /// have come out. False when something before could not be unpacked.
    pub(super) fn give(&mut self, kind: RecordType, offset: u64, data: &[u8]) -> bool {
        self.origin = (kind, offset);
        self.packed_in_all = self.packed_in_all.saturating_add(data.len() as u64);
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
        self.at_frame = true;
    }

    fn unpack(&mut self) -> Result<(), &'static str> {
        let most = FREE.saturating_add(self.packed_in_all.saturating_mul(MOST_OF_A_BYTE));
        if self.unpacked_in_all >= most {
            return Err("it unpacks to more than 128 MiB and 1,024 bytes for each that is packed");
        }
        // Many short packed bytes of one record must not move it each time.
        if self.room.start > 0 {
            self.output.copy_within(self.room.start..self.room.end, 0);
            self.room.end -= self.room.start;
            self.room.start = 0;
        }
        self.output.resize(PIECE + RECORD, 0);
        let context = match &mut self.context {
            Some(context) => context,
            none => none.insert(new_context()?),
        };
        if self.at_frame {
            self.window = window(self.packed.get(self.taken..).unwrap_or_default());
            self.filled = 0;
        }
        if self.window.min(self.filled) > self.given {
            return Err("its window takes too much memory for a recording of this length");
        }
        let mut input = InBuffer::around(&self.packed[self.taken..]);
        let room = &mut self.output[self.room.end..];
        let mut output = OutBuffer::around(room);
        let result = context.decompress_stream(&mut output, &mut input);
        let (took, gave) = (input.pos(), output.pos());
        let hint = result.map_err(zstd_safe::get_error_name)?;
        self.holds_more = self.room.end + gave == self.output.len();
        if took == 0 && gave == 0 {
            // The output was full, and nothing more was held.
            return match self.taken == self.packed.len() {
                true => Ok(()),
                false => Err("it makes no progress"),
            };
        }
        self.at_frame = hint == 0;
        self.taken += took;
        self.filled += gave as u64;
        self.unpacked_in_all += gave as u64;
        self.room.end += gave;
        Ok(())
    }
}

fn new_context() -> Result<DCtx<'static>, &'static str> {
    let mut context = DCtx::try_create().ok_or("no memory for zstd")?;
    let set = context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX));
    set.map_err(zstd_safe::get_error_name)?;
    Ok(context)
}

/// Bytes of a frame's window, as its header says (RFC 8878, 3.1.1.1.2);
/// without one, all that it may be.
fn window(frame: &[u8]) -> u64 {
    const SINGLE_SEGMENT: u8 = 1 << 5;
    match frame.get(4..6) {
        Some(&[descriptor, window]) if descriptor & SINGLE_SEGMENT == 0 => {
            let base = 1 << (10 + u32::from(window >> 3));
            base + base / 8 * u64::from(window & 7)
        }
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zstd_safe::{CCtx, CParameter, OutBuffer as Out};

    /// So many bytes of records of 64 KiB, in one frame of the largest window.
    fn packed(bytes: usize) -> Vec<u8> {
        let mut record = vec![0; 65_528];
        record[0] = 68;
        record[6..8].copy_from_slice(&65_528u16.to_le_bytes());
        let mut context = CCtx::create();
        context.set_parameter(CParameter::WindowLog(WINDOW_LOG_MAX)).unwrap();
        let mut packed = vec![0; 1 << 20];
        let mut out = Out::around(packed.as_mut_slice());
        for _ in 0..bytes / record.len() {
            let mut input = InBuffer::around(&record);
            context.compress_stream(&mut out, &mut input).unwrap();
        }
        context.flush_stream(&mut out).unwrap();
        let length = out.pos();
        packed.truncate(length);
        packed
    }

    #[test]
    fn what_fills_the_output_to_the_last_byte_is_whole() {
        let mut all = Vec::new();
        for size in [65_528, 65_528, 65_528, PIECE + RECORD - 3 * 65_528] {
            let start = all.len();
            all.resize(start + size, 0);
            all[start] = 68;
            all[start + 6..][..2].copy_from_slice(&u16::try_from(size).unwrap().to_le_bytes());
        }
        let mut packed = vec![0; 1 << 16];
        let length = zstd_safe::compress(packed.as_mut_slice(), &all, 1).unwrap();
        let mut unpacker = Unpacker::new(1 << 20);
        assert!(unpacker.give(RecordType::COMPRESSED, 0, &packed[..length]));
        for size in [65_528, 65_528, 65_528, PIECE + RECORD - 3 * 65_528] {
            assert_eq!(unpacker.fill(ByteOrder::Little), Ok(true));
            unpacker.output().1.take(size);
        }
        assert_eq!(unpacker.fill(ByteOrder::Little), Ok(false));
    }

    /// Many frames of many bytes each, which no limit of one frame meets.
    #[test]
    fn few_bytes_become_only_so_many() {
        let zeros = vec![0; 8 << 20];
        let mut frame = vec![0; 1 << 12];
        let length = zstd_safe::compress(frame.as_mut_slice(), &zeros, 19).unwrap();
        let mut unpacker = Unpacker::new(1 << 20);
        let (mut given, mut out, mut refused) = (0_u64, 0_u64, 0);
        for _ in 0..40 {
            given += length as u64;
            assert!(unpacker.give(RecordType::COMPRESSED, 0, &frame[..length]));
            loop {
                match unpacker.fill(ByteOrder::Little) {
                    Ok(true) => {
                        let held = unpacker.output().0.len();
                        out += held as u64;
                        unpacker.output().1.take(held);
                    }
                    Ok(false) => break,
                    Err(reason) => {
                        assert!(reason.contains("128 MiB"), "{reason}");
                        refused += 1;
                        break;
                    }
                }
            }
        }
        assert!(refused > 20, "{refused}");
        let most = FREE + given * MOST_OF_A_BYTE + (PIECE + RECORD) as u64;
        assert!((FREE..most).contains(&out), "{out} of {given}");
    }

    #[test]
    fn each_frame_has_its_own_window() {
        let mut context = CCtx::create();
        context.set_parameter(CParameter::WindowLog(10)).unwrap();
        let mut small = vec![0; 1 << 12];
        let mut out = Out::around(small.as_mut_slice());
        context.compress_stream(&mut out, &mut InBuffer::around(&[])).unwrap();
        context.end_stream(&mut out).unwrap();
        let length = out.pos();
        assert!(window(&small) <= 1 << 10, "of no bytes at all");
        let frames = [&small[..length], &packed(40 << 20)].concat();
        assert!(unpack(&frames, 0).1.is_err(), "the second one's is filled beyond 32 MiB");
        assert_eq!(unpack(&frames, 16 << 20).1, Ok(false));
    }

    /// Bytes that come out, and what zstd says.
    fn unpack(packed: &[u8], length: u64) -> (usize, Result<bool, &'static str>) {
        let mut unpacker = Unpacker::new(length);
        assert!(unpacker.give(RecordType::COMPRESSED, 0, packed));
        let mut out = 0;
        loop {
            match unpacker.fill(ByteOrder::Little) {
                Ok(true) => {
                    out += 65_528;
                    unpacker.output().1.take(65_528);
                }
                end => return (out, end),
            }
        }
    }

    #[test]
    fn large_windows_are_taken_as_far_as_they_are_filled() {
        let short = packed(20 << 20);
        assert_eq!(window(&short), 128 << 20);
        assert_eq!(unpack(&short, 0), ((20 << 20) / 65_528 * 65_528, Ok(false)));
        let long = packed(40 << 20);
        let (out, end) = unpack(&long, 0);
        assert!(end.is_err_and(|reason| reason.contains("too much memory")));
        assert!((32 << 20..36 << 20).contains(&out), "{out}");
        assert_eq!(unpack(&long, 16 << 20).1, Ok(false));
    }
}
