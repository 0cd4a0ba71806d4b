//! What is known of a call of an allocator between its entry and its return.

/// Bytes of RAW, `3H` behind them.
pub const HEAD: u64 = 28 | 0x4833 << 32;

/// Set between the arrival at a site and what it means.
pub(super) const FRESH: u64 = 1 << 63;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct HeapCall {
    /// Which, as `perfdata::AllocatorCall` has it; and whether it is fresh.
    pub(super) call: u64,
    /// Bytes that are asked for.
    pub(super) size: u64,
    /// The block that was there before, or that is given back; where the
    /// address is to be written; 0: none.
    pub(super) old: u64,
    /// The session's clock at the entry, or before.
    pub(super) began: u64,
}

impl HeapCall {
    /// The thread has come to a site, which [`settle`](super::heap::settle) is to see once.
    pub(super) fn arrive(&mut self) {
        self.call |= FRESH;
    }

    pub(super) fn head(&self) -> u64 {
        HEAD | (self.call & 0xff) << 48
    }

    pub(super) fn words(&self) -> [u64; 3] {
        [self.size, self.old, self.began]
    }
}
