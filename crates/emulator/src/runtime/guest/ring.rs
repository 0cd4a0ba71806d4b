//! The ring that all threads of a session and the tracer write to: laid
//! out as the kernel's, with a few words of ours in page 0.

use core::sync::atomic::{AtomicU64, Ordering};

/// Offset of `data_head` in page 0.
pub const HEAD: usize = 1024;
/// Offset of `data_tail`.
pub const TAIL: usize = 1032;
/// Thread id of who writes, 0 for nobody: taken by compare-and-swap.
pub const LOCK: usize = 2048;
/// The session's clock, nanoseconds: moved by whoever writes a record.
pub const TIME: usize = 2056;
pub const SAMPLES: usize = 2064;
/// Samples after which the count is reached; u64::MAX: never.
pub const LIMIT: usize = 2072;
/// Bytes of page 0: data begin there.
pub const PAGE: usize = 4096;

#[derive(Clone, Copy, Debug)]
pub struct Ring<'a> {
    page: &'a [AtomicU64],
    data: &'a [AtomicU64],
}

impl<'a> Ring<'a> {
    /// The words of page 0 and of the data pages, whose number is a power of
    /// two; None for other memory.
    pub fn new(words: &'a [AtomicU64]) -> Option<Ring<'a>> {
        let (page, data) = words.split_at_checked(PAGE / 8)?;
        data.len().is_power_of_two().then_some(Ring { page, data })
    }

    #[inline]
    pub fn word(&self, offset: usize) -> Option<&'a AtomicU64> {
        self.page.get(offset / 8)
    }

    #[inline]
    pub fn lock(&self, tid: u64) {
        let Some(lock) = self.word(LOCK) else { return };
        while lock.compare_exchange_weak(0, tid, Ordering::Acquire, Ordering::Relaxed).is_err() {
            core::hint::spin_loop();
        }
    }

    pub fn try_lock(&self, tid: u64) -> bool {
        let taken = |lock: &AtomicU64| {
            lock.compare_exchange(0, tid, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        self.word(LOCK).is_some_and(taken)
    }

    #[inline]
    pub fn unlock(&self) {
        if let Some(lock) = self.word(LOCK) {
            lock.store(0, Ordering::Release);
        }
    }

    /// Whether a record of so many bytes has room now. For the lock's holder.
    #[inline]
    pub fn fits(&self, bytes: u64) -> bool {
        let (Some(head), Some(tail)) = (self.word(HEAD), self.word(TAIL)) else { return false };
        let used = head.load(Ordering::Relaxed).wrapping_sub(tail.load(Ordering::Acquire));
        let size = u64::try_from(self.data.len()).unwrap_or(0) * 8;
        used.saturating_add(bytes) <= size
    }

    /// Writes one word of a record that begins at the head, `offset` bytes
    /// into it. For the lock's holder, after [`Ring::fits`].
    #[inline]
    pub fn put(&self, offset: u64, word: u64) {
        let Some(head) = self.word(HEAD) else { return };
        let at = head.load(Ordering::Relaxed).wrapping_add(offset) / 8;
        let mask = u64::try_from(self.data.len()).unwrap_or(0).wrapping_sub(1);
        if let Some(place) = usize::try_from(at & mask).ok().and_then(|at| self.data.get(at)) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// Where so many bytes of a record, from `offset` on, lie in memory: the address and bytes
    /// of each of two pieces, the second of which is at the begin of the data. For the lock's
    /// holder, after [`Ring::fits`]; all are multiples of 8.
    #[inline]
    pub fn places(&self, offset: u64, bytes: u64) -> [[u64; 2]; 2] {
        let size = u64::try_from(self.data.len()).unwrap_or(0) * 8;
        let head = self.word(HEAD).map_or(0, |head| head.load(Ordering::Relaxed));
        let begin = u64::try_from(self.data.as_ptr().addr()).unwrap_or(0);
        let at = head.wrapping_add(offset) & size.wrapping_sub(1);
        let first = bytes.min(size.saturating_sub(at));
        [[begin + at, first], [begin, (bytes - first).min(size)]]
    }

    /// Hands the record over to the reader. For the lock's holder.
    #[inline]
    pub fn publish(&self, bytes: u64) {
        if let Some(head) = self.word(HEAD) {
            let now = head.load(Ordering::Relaxed).wrapping_add(bytes);
            head.store(now, Ordering::Release);
        }
    }

    /// Moves the session's clock and tells it.
    #[inline]
    pub fn advance(&self, nanoseconds: u64) -> u64 {
        let Some(time) = self.word(TIME) else { return 0 };
        let now = time.load(Ordering::Relaxed).wrapping_add(nanoseconds);
        time.store(now, Ordering::Relaxed);
        now
    }
}
