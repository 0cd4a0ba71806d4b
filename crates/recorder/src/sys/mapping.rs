//! The mapped ring of one event: a control page, then 2^n data pages.

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use perf_event_open_sys::bindings::perf_event_mmap_page as Page;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

use crate::ring::{RingPositions, RingRegion, RingWindow};

/// A ring, mapped writable so that the kernel honours our
/// tail (trap 20). Fork does not pass it on (VM_DONTCOPY).
#[derive(Debug)]
pub(crate) struct RingMapping {
    memory: MmapRaw,
    /// First data byte, from the start of the mapping.
    data: usize,
    /// Data bytes: a power of two.
    size: usize,
    /// What we have released; the kernel only reads the page's data_tail.
    tail: u64,
}

impl RingMapping {
    /// Maps `pages` data pages (a power of two) of an event, or of memory
    /// that is laid out as its ring.
    pub(crate) fn new(ring: &impl AsFd, pages: u32) -> io::Result<RingMapping> {
        let page = rustix::param::page_size();
        let pages = usize::try_from(pages).map_err(io::Error::other)?;
        let size = pages.checked_mul(page).ok_or(rustix::io::Errno::INVAL)?;
        let length = size.checked_add(page).ok_or(rustix::io::Errno::INVAL)?;
        let memory = MmapOptions::new().len(length).map_raw(ring.as_fd().as_raw_fd())?;
        let mut mapping = RingMapping { memory, data: page, size, tail: 0 };
        let word = |offset| mapping.word(offset).load(Ordering::Relaxed);
        let (offset, told) =
            (word(offset_of!(Page, data_offset)), word(offset_of!(Page, data_size)));
        let tail = word(offset_of!(Page, data_tail));
        // Zero before Linux 4.1; then the layout is the one assumed above.
        if told != 0 {
            let offset = usize::try_from(offset).map_err(io::Error::other)?;
            let told = usize::try_from(told).map_err(io::Error::other)?;
            if !told.is_power_of_two() || offset.checked_add(told).is_none_or(|end| end > length) {
                return Err(io::Error::other(format!(
                    "the kernel says that the ring's data are {told} bytes at {offset}, beyond \
                     the {length} that were mapped"
                )));
            }
            (mapping.data, mapping.size) = (offset, told);
        }
        mapping.tail = tail;
        Ok(mapping)
    }

    /// A word of the control page at byte `offset`.
    fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset + 8 <= size_of::<Page>());
        let base = self.memory.as_mut_ptr();
        // SAFETY: the control page is at least as long as `Page`, which
        // holds `offset`.
        let word = unsafe { base.add(offset) };
        // SAFETY: mapped as long as `self`; pages are aligned and the
        // offsets of u64 fields are multiples of 8; the other side, the
        // kernel, reads and writes the word whole.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    fn positions(&self) -> RingPositions<'_, AtomicU64> {
        RingPositions {
            head: self.word(offset_of!(Page, data_head)),
            tail: self.word(offset_of!(Page, data_tail)),
        }
    }

    /// Bytes of records that it has room for.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// `length` data bytes from `offset`; the kernel must have written them
    /// and not own them again.
    fn bytes(&self, offset: usize, length: usize) -> &[u8] {
        debug_assert!(offset + length <= self.size);
        let base = self.memory.as_mut_ptr();
        // SAFETY: `new` checked that data + size lies within the mapping.
        let start = unsafe { base.add(self.data + offset) };
        // SAFETY: within the mapping; `window` asks only for bytes between
        // tail and head, which __perf_output_begin() does not touch until
        // `release` moves the tail, and that needs `self` exclusively.
        unsafe { std::slice::from_raw_parts(start, length) }
    }
}

impl RingRegion for RingMapping {
    fn window(&self) -> RingWindow<'_> {
        let end = self.positions().head();
        let filled = usize::try_from(end.wrapping_sub(self.tail)).unwrap_or(usize::MAX);
        if filled > self.size {
            return RingWindow { first: &[], second: &[], end, torn: true };
        }
        let mask = self.size as u64 - 1;
        let from = usize::try_from(self.tail & mask).unwrap_or(0);
        let straight = filled.min(self.size - from);
        RingWindow {
            first: self.bytes(from, straight),
            second: self.bytes(0, filled - straight),
            end,
            torn: false,
        }
    }

    fn release(&mut self, end: u64) {
        if end != self.tail {
            self.tail = end;
            self.positions().release(end);
        }
    }
}

/// A mapped `BPF_F_MMAPABLE` array, or a sealed memfd, as words.
#[derive(Debug)]
pub(crate) struct SharedWords {
    memory: MmapRaw,
    words: usize,
}

impl SharedWords {
    /// New memory of so many words, zero, for programs to map by its descriptor.
    pub(crate) fn create(name: &str, words: usize) -> io::Result<(OwnedFd, SharedWords)> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (words * size_of::<u64>()) as u64)?;
        // Who maps it cannot be cut off by somebody who makes it smaller.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let words = SharedWords::map(file.as_fd(), words)?;
        Ok((file, words))
    }

    /// Maps so many words, for writing too. A file must have as many, and be
    /// sealed against shrinking.
    ///
    /// # Errors
    /// EINVAL: the array is shorter; ENOMEM; EPERM: it is frozen.
    pub(crate) fn map(array: BorrowedFd<'_>, words: usize) -> io::Result<SharedWords> {
        let bytes = words.checked_mul(size_of::<u64>()).ok_or(rustix::io::Errno::INVAL)?;
        let length = bytes.next_multiple_of(rustix::param::page_size());
        let memory = MmapOptions::new().len(length).map_raw(array.as_raw_fd())?;
        Ok(SharedWords { memory, words })
    }

    /// All of them. Only atomics: programs of the kernel write at any time.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let start = self.memory.as_mut_ptr().cast();
        // SAFETY: mapped readable and writable for as long as `self`, page
        // aligned, `words` words long, zeros at first; the other writers are
        // programs of the kernel and processes that store words whole.
        unsafe { std::slice::from_raw_parts(start, self.words) }
    }
}
