//! Draining a ring buffer: records are lent in place, the tail is released
//! once.
//!
//! The ring's memory is behind `RingRegion`, so that the protocol runs on a
//! mapping of the kernel's and, in tests, on memory that a model of the
//! kernel fills.

use std::sync::atomic::{AtomicU64, Ordering};

use perfdata::{Misc, RecordHeader, RecordType};

#[cfg(test)]
mod tests;

/// A 64-bit word that two sides share; loom has its own.
pub(crate) trait SharedWord {
    /// Reads it.
    fn load(&self, order: Ordering) -> u64;
    /// Writes it.
    fn store(&self, value: u64, order: Ordering);
}

impl SharedWord for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }
}

#[cfg(feature = "interleavings")]
impl SharedWord for loom::sync::atomic::AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        loom::sync::atomic::AtomicU64::load(self, order)
    }
    fn store(&self, value: u64, order: Ordering) {
        loom::sync::atomic::AtomicU64::store(self, value, order);
    }
}

/// `data_head` and `data_tail` of a ring: free-running byte counts (trap 22).
#[derive(Debug)]
pub(crate) struct Ends<'a, W> {
    /// Where the kernel writes next.
    pub(crate) head: &'a W,
    /// Where we read next; the kernel never writes at or beyond tail + size.
    pub(crate) tail: &'a W,
}

impl<W: SharedWord> Ends<'_, W> {
    /// How far the kernel has written.
    ///
    /// ATOMICS: acquire pairs with the smp_wmb() before the store to
    /// data_head in perf_output_put_handle() (kernel/events/ring_buffer.c,
    /// pairs B and C of its comment): what lies before head is visible.
    #[inline]
    pub(crate) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// Gives everything before `tail` back to the kernel.
    ///
    /// ATOMICS: release keeps our reads before this store; pairs A and D of
    /// perf_output_put_handle(): __perf_output_begin() reads data_tail and
    /// by a control dependency writes over the space only after.
    #[inline]
    pub(crate) fn release(&self, tail: u64) {
        self.tail.store(tail, Ordering::Release);
    }
}

/// What lies between tail and head at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// From the tail to the head, or to the end of the memory.
    pub(crate) first: &'a [u8],
    /// The rest, from the start of the memory.
    pub(crate) second: &'a [u8],
    /// The head: where the next window starts.
    pub(crate) end: u64,
    /// Head and tail were more than the ring's size apart: nothing is lent.
    pub(crate) torn: bool,
}

/// The memory of one ring.
pub(crate) trait RingRegion {
    /// What can be read now.
    fn window(&self) -> Window<'_>;
    /// Gives back everything before `end`, the end of a window of this
    /// region. Exclusive, so that no window is lent any more.
    fn release(&mut self, end: u64);
}

/// One record in the ring, valid until the drain ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lent<'a> {
    /// Type, misc and size of the whole record.
    pub(crate) header: RecordHeader,
    /// The record's bytes, header included.
    pub(crate) first: &'a [u8],
    /// What is left of them where the record wraps; mostly empty.
    pub(crate) second: &'a [u8],
}

impl Lent<'_> {
    /// The word at an offset from the record's start; None: beyond its end.
    #[inline]
    pub(crate) fn word(&self, offset: usize) -> Option<u64> {
        let mut word = [0; 8];
        for (to, at) in word.iter_mut().zip(offset..) {
            let in_second = |at: usize| self.second.get(at.checked_sub(self.first.len())?);
            *to = *self.first.get(at).or_else(|| in_second(at))?;
        }
        Some(u64::from_ne_bytes(word))
    }
}

/// What one drain saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Drained {
    /// Records lent.
    pub(crate) records: u64,
    /// Whether bytes that are no records were dropped, up to the head.
    pub(crate) damaged: bool,
}

/// Lends every record between tail and head to `each`, then releases the
/// tail once; also when `each` panics. A record whose size is below 8 or
/// beyond the head makes all that follows unreadable: it is dropped.
pub(crate) fn drain<R: RingRegion>(region: &mut R, each: impl FnMut(Lent<'_>)) -> Drained {
    let mut guard = Release { end: None, region };
    let window = guard.region.window();
    guard.end = Some(window.end);
    walk(window, each)
}

/// Lends the same records, and leaves them in the ring.
pub(crate) fn look<R: RingRegion>(region: &R, each: impl FnMut(Lent<'_>)) {
    // What is wrong with them the drain will say.
    let _same_as_drained = walk(region.window(), each);
}

fn walk(window: Window<'_>, mut each: impl FnMut(Lent<'_>)) -> Drained {
    let mut drained = Drained { records: 0, damaged: window.torn };
    let (mut first, mut second) = (window.first, window.second);
    while !(first.is_empty() && second.is_empty()) {
        if first.is_empty() {
            (first, second) = (second, first);
        }
        let Some(header) = header(first, second) else {
            drained.damaged = true;
            break;
        };
        let size = usize::from(header.size);
        if size < RecordHeader::SIZE || size > first.len() + second.len() {
            drained.damaged = true;
            break;
        }
        let (head, first_left) = first.split_at(size.min(first.len()));
        let (rest, second_left) = second.split_at(size - head.len());
        each(Lent { header, first: head, second: rest });
        drained.records += 1;
        (first, second) = (first_left, second_left);
    }
    drained
}

struct Release<'r, R: RingRegion> {
    region: &'r mut R,
    end: Option<u64>,
}

impl<R: RingRegion> Drop for Release<'_, R> {
    fn drop(&mut self) {
        if let Some(end) = self.end {
            self.region.release(end);
        }
    }
}

/// The kernel writes sizes that are multiples of 8, so headers do not wrap;
/// a header that does is read all the same.
#[inline]
fn header(first: &[u8], second: &[u8]) -> Option<RecordHeader> {
    let mut bytes = [0; RecordHeader::SIZE];
    match first.first_chunk() {
        Some(chunk) => bytes = *chunk,
        None => {
            let rest = second.get(..bytes.len() - first.len())?;
            bytes[..first.len()].copy_from_slice(first);
            bytes[first.len()..].copy_from_slice(rest);
        }
    }
    let [a, b, c, d, e, f, g, h] = bytes;
    Some(RecordHeader {
        kind: RecordType(u32::from_ne_bytes([a, b, c, d])),
        misc: Misc(u16::from_ne_bytes([e, f])),
        size: u16::from_ne_bytes([g, h]),
    })
}
