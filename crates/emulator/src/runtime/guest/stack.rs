//! The top of a thread's stack, as samples hold it.

use super::header::SampleFormat;
use super::ring::Ring;

/// What copies memory of the process that may not be there.
pub trait MemoryReader {
    /// Copies as much as there is from an address on to these places, one after the other:
    /// address and bytes of each. Gives how many bytes.
    fn copy(&self, from: u64, to: [[u64; 2]; 2]) -> u64;
}

/// Writes PERF_SAMPLE_STACK_USER as perf_output_sample_ustack() (kernel/events/core.c) does:
/// the size of the copy, the copy, how much of it is real. The rest is 0, so that runs that
/// are equal have equal records. Nothing is copied from 0. Gives how many bytes were written, from `offset` of the
/// record on.
#[inline(always)]
pub(super) fn put(
    ring: &Ring<'_>,
    format: &SampleFormat,
    offset: u64,
    top: u64,
    memory: &impl MemoryReader,
) -> u64 {
    let bytes = format.stack;
    ring.put(offset, bytes);
    if bytes == 0 {
        return 8;
    }
    let copied = match top {
        0 => 0,
        _ => memory.copy(top, ring.places(offset + 8, bytes)).min(bytes) & !7,
    };
    let mut rest = copied;
    while rest < bytes {
        ring.put(offset + 8 + rest, 0);
        rest += 8;
    }
    ring.put(offset + 8 + bytes, copied);
    size(bytes)
}

/// Bytes of the whole field.
pub fn size(bytes: u64) -> u64 {
    if bytes == 0 { 8 } else { bytes + 16 }
}
