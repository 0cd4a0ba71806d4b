//! Memory that the tracer and the target have in common.

use std::io;
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};

/// A memfd and the tracer's mapping of the whole of it. Sparse: pages
/// exist once written.
#[derive(Debug)]
pub(crate) struct SharedMemory {
    file: OwnedFd,
    map: MmapRaw,
}

impl SharedMemory {
    /// A new one of `bytes` bytes, zero.
    pub(crate) fn new(name: &str, bytes: usize) -> io::Result<SharedMemory> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create(name, flags)?;
        ftruncate(&file, bytes as u64)?;
        // The target has it, too: cut short, our mapping would be SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let map = MmapOptions::new().len(bytes).map_raw(file.as_raw_fd())?;
        Ok(SharedMemory { file, map })
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset.checked_add(bytes).is_some_and(|end| end <= self.map.len()),
            "offset {offset:#x} lies outside the {:#x} bytes of shared memory",
            self.map.len()
        );
        // SAFETY: within the mapping, as checked.
        unsafe { self.map.as_mut_ptr().add(offset) }
    }

    /// A word that both sides read and write whole.
    pub(crate) fn word(&self, offset: usize) -> &AtomicU64 {
        &self.words(offset, 8)[0]
    }

    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) {
        let to = self.at(offset, bytes.len());
        // SAFETY: both ranges are valid and of two allocations.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    pub(crate) fn words(&self, offset: usize, bytes: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(8), "offset {offset:#x} of words");
        let start = self.at(offset, bytes).cast::<AtomicU64>();
        // SAFETY: within the mapping, aligned, mapped as long as `self`;
        // words in shared memory are only used as atomics.
        unsafe { std::slice::from_raw_parts(start, bytes / 8) }
    }

    /// Bytes of which the target writes none while this is used: code, or
    /// the state of threads that do not run.
    /// It must be asked for once only: what is given is exclusive.
    pub(crate) fn part(self: &Arc<SharedMemory>, offset: usize, bytes: usize) -> SharedMemoryRange {
        self.at(offset, bytes);
        SharedMemoryRange { memory: Arc::clone(self), offset, bytes }
    }

    /// Gives a range back to the kernel: it is zero again.
    pub(crate) fn clear(&self, offset: usize, bytes: usize) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.file, flags, offset as u64, bytes as u64)?;
        Ok(())
    }
}

/// A range of [`SharedMemory`] that only its holder writes.
#[derive(Debug)]
pub(crate) struct SharedMemoryRange {
    memory: Arc<SharedMemory>,
    offset: usize,
    bytes: usize,
}

impl AsMut<[u8]> for SharedMemoryRange {
    fn as_mut(&mut self) -> &mut [u8] {
        let start = self.memory.at(self.offset, self.bytes);
        // SAFETY: within the mapping; exclusive on this side as parts do not
        // overlap, on the target's as it only executes them.
        unsafe { std::slice::from_raw_parts_mut(start, self.bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_the_file_cannot_cut_it() {
        let memory = SharedMemory::new("hardmeter test", 1 << 16).unwrap();
        for bytes in [0, 4096, 1 << 20] {
            assert!(ftruncate(memory.file(), bytes).is_err(), "{bytes}");
        }
        assert!(fcntl_add_seals(memory.file(), SealFlags::WRITE).is_err());
        // What it may do is to write, also zeroes.
        memory.word(8).store(7, std::sync::atomic::Ordering::Relaxed);
        memory.clear(0, 4096).unwrap();
        assert_eq!(memory.word(8).load(std::sync::atomic::Ordering::Relaxed), 0);
    }
}
