//! How addr2line reads debug info: within bounds, and without the code that a
//! linker left out.

use super::sections::SectionReader;
use gimli::{Error, Reader, ReaderOffsetId, Result, RunTimeEndian};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Bytes of a name or a path that are read: a hostile file could let a million
/// files share a name of a megabyte.
const LONGEST: usize = 16 * 1024;
/// Bytes of stack that a lookup may take: addr2line reads calls inlined into
/// each other by recursion, which a damaged file can have one of in each byte.
const MOST_STACK: usize = 1 << 20;

/// What may still be read. It is shared by the readers of a file, of which one
/// reads at a time.
#[derive(Debug, Default)]
pub(crate) struct ReadGuard {
    /// Numbers, and sixteenth parts of strings.
    left: AtomicU64,
    /// The lowest address that the stack may reach.
    floor: AtomicUsize,
    /// Where the file's code begins; what lies before is of code that a linker
    /// left out.
    first: AtomicU64,
}

impl ReadGuard {
    /// Lets so much be read until the next call.
    pub(crate) fn fill(&self, numbers: u64) {
        self.left.store(numbers, Relaxed);
        self.floor.store(0, Relaxed);
        self.first.store(0, Relaxed);
    }

    /// Lets so much more be read.
    pub(crate) fn grow(&self, numbers: u64) {
        let left = self.left.load(Relaxed);
        // What is spent stays so.
        let numbers = if left == 0 { 0 } else { numbers };
        self.left.store(left.saturating_add(numbers), Relaxed);
    }

    /// Begins a lookup. `first`: where the file's code begins. While units are
    /// found it must be 0, as their addresses count from a base that may be 0.
    pub(crate) fn enter(&self, first: u64) {
        self.floor.store(stack_address().saturating_sub(MOST_STACK), Relaxed);
        self.first.store(first, Relaxed);
    }

    /// All was read that may be: answers since then are of no use.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.load(Relaxed) == 0
    }

    #[inline]
    fn count(&self, numbers: u64) -> Result<()> {
        let left = self.left.load(Relaxed).saturating_sub(numbers);
        self.left.store(left, Relaxed);
        match left {
            0 => Err(Error::Io),
            _ => Ok(()),
        }
    }
}

#[inline]
fn stack_address() -> usize {
    let here = 0u8;
    (&raw const here).addr()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardedReader<'a> {
    slice: SectionReader<'a>,
    guard: &'a ReadGuard,
}

impl<'a> GuardedReader<'a> {
    pub(crate) fn new(slice: SectionReader<'a>, guard: &'a ReadGuard) -> GuardedReader<'a> {
        GuardedReader { slice, guard }
    }

    pub(crate) fn bytes(self) -> &'a [u8] {
        let bytes = self.slice.slice();
        &bytes[..bytes.len().min(LONGEST)]
    }
}

impl Reader for GuardedReader<'_> {
    type Endian = RunTimeEndian;
    type Offset = usize;

    #[inline]
    fn read_u8(&mut self) -> Result<u8> {
        self.guard.count(1)?;
        self.slice.read_u8()
    }

    #[inline]
    fn read_uleb128(&mut self) -> Result<u64> {
        self.guard.count(1)?;
        if stack_address() < self.guard.floor.load(Relaxed) {
            return Err(Error::Io);
        }
        self.slice.read_uleb128()
    }

    #[inline]
    fn read_address(&mut self, size: u8) -> Result<u64> {
        self.guard.count(1)?;
        let address = self.slice.read_address(size)?;
        // What addr2line takes for a tombstone is -1.
        Ok(if address < self.guard.first.load(Relaxed) { u64::MAX } else { address })
    }

    #[inline]
    fn find(&self, byte: u8) -> Result<usize> {
        let found = Reader::find(&self.slice, byte)?;
        self.guard.count(1 + found as u64 / 16)?;
        Ok(found)
    }

    fn to_string_lossy(&self) -> Result<Cow<'_, str>> {
        Ok(String::from_utf8_lossy(self.bytes()))
    }

    #[inline]
    fn split(&mut self, length: usize) -> Result<Self> {
        Ok(GuardedReader { slice: self.slice.split(length)?, guard: self.guard })
    }

    #[inline]
    fn endian(&self) -> RunTimeEndian {
        self.slice.endian()
    }

    #[inline]
    fn len(&self) -> usize {
        self.slice.len()
    }

    #[inline]
    fn empty(&mut self) {
        self.slice.empty();
    }

    #[inline]
    fn truncate(&mut self, length: usize) -> Result<()> {
        self.slice.truncate(length)
    }

    #[inline]
    fn offset_from(&self, base: &Self) -> usize {
        self.slice.offset_from(base.slice)
    }

    #[inline]
    fn offset_id(&self) -> ReaderOffsetId {
        self.slice.offset_id()
    }

    #[inline]
    fn lookup_offset_id(&self, id: ReaderOffsetId) -> Option<usize> {
        self.slice.lookup_offset_id(id)
    }

    #[inline]
    fn skip(&mut self, length: usize) -> Result<()> {
        self.slice.skip(length)
    }

    #[inline]
    fn read_slice(&mut self, bytes: &mut [u8]) -> Result<()> {
        Reader::read_slice(&mut self.slice, bytes)
    }

    fn to_slice(&self) -> Result<Cow<'_, [u8]>> {
        self.slice.to_slice()
    }

    fn to_string(&self) -> Result<Cow<'_, str>> {
        Reader::to_string(&self.slice)
    }
}
