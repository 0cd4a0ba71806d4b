//! Words that others write while we read: a mapped array of the kernel's
//! programs, a file that several processes map.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};

/// A mapped `BPF_F_MMAPABLE` array, or a sealed memfd, as words.
#[derive(Debug)]
pub(crate) struct SharedWords {
    memory: MmapRaw,
    words: usize,
}

impl SharedWords {
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
