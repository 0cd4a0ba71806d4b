//! Memory with pages of the size that was asked for, as far as the kernel
//! has them.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

/// A huge page: what a region of any kind is aligned to.
const HUGE: usize = 2 << 20;
const SMALL: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageSize {
    /// Of 4 KiB.
    Small,
    /// Of 2 MiB, where the kernel has any left.
    Huge,
}

/// Anonymous memory of this process alone, zeroed, gone when dropped.
#[derive(Debug)]
pub(crate) struct MemoryRegion {
    mapping: NonNull<c_void>,
    mapped: usize,
    start: NonNull<u8>,
    bytes: usize,
}

impl MemoryRegion {
    /// So many bytes, no page of them touched yet.
    ///
    /// # Errors
    /// No room.
    pub(crate) fn fresh(bytes: usize, pages: PageSize) -> io::Result<MemoryRegion> {
        let bytes = bytes.checked_next_multiple_of(HUGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapped = bytes.checked_add(HUGE).ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: without an address the kernel takes free ones only.
        let mapping =
            unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, protection, MapFlags::PRIVATE) }?;
        let Some(mapping) = NonNull::new(mapping) else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let before = mapping.as_ptr().align_offset(HUGE);
        // SAFETY: the mapping is a huge page longer than `bytes`, and the
        // next boundary is less than one away.
        let start = unsafe { mapping.cast::<u8>().add(before) };
        let region = MemoryRegion { mapping, mapped, start, bytes };
        let advice = match pages {
            PageSize::Small => Advice::LinuxNoHugepage,
            PageSize::Huge => Advice::LinuxHugepage,
        };
        // SAFETY: the range is within the mapping that was just made. A
        // kernel built without huge pages refuses, and has none: what pages
        // there are is looked up, not taken for granted.
        let _without = unsafe { madvise(start.as_ptr().cast(), bytes, advice) };
        Ok(region)
    }

    /// Touches each page, in the order of a shuffle: neighbours that were
    /// next to each other in physical memory, too, would share an entry of
    /// the TLBs that join them.
    pub(crate) fn touch(&mut self, random: &mut fastrand::Rng) {
        let mut pages: Vec<usize> = (0..self.bytes / SMALL).collect();
        random.shuffle(&mut pages);
        for page in pages {
            self.put(page * SMALL, 0);
        }
    }

    pub(crate) fn start(&self) -> usize {
        self.start.addr().get()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes an address at an offset; beyond the end it does nothing.
    pub(crate) fn put(&mut self, offset: usize, address: usize) {
        if offset.is_multiple_of(size_of::<usize>()) && offset < self.bytes {
            // SAFETY: `offset` is below `bytes`, of which there are that many.
            let place = unsafe { self.start.add(offset) };
            // SAFETY: the mapping is writable and ours alone, the place is
            // aligned and within it, as both are multiples of a word.
            unsafe { place.cast::<usize>().write_volatile(address) };
        }
    }

    /// The word at an offset; 0 beyond the end. Not left out by a compiler
    /// that sees no use of it.
    pub(crate) fn get(&self, offset: usize) -> usize {
        if !offset.is_multiple_of(size_of::<usize>()) || offset >= self.bytes {
            return 0;
        }
        // SAFETY: `offset` is below `bytes`, of which there are that many.
        let place = unsafe { self.start.add(offset) };
        // SAFETY: the mapping is readable and zeroed, the place is aligned
        // and within it, and who writes has a mutable borrow.
        unsafe { place.cast::<usize>().read_volatile() }
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows it any more.
        let _unmapped = unsafe { munmap(self.mapping.as_ptr(), self.mapped) };
    }
}

/// Bits of a mask of nodes: all that a kernel can have (its CONFIG_NODES_SHIFT
/// is 10 at most).
const NODES: u32 = 1024;

/// Pages of a region that are not touched yet come from that node alone.
///
/// # Errors
/// There is no such node, this process may not use it, or the kernel knows
/// none.
pub(crate) fn bind(region: &mut MemoryRegion, node: u32) -> io::Result<()> {
    let mut mask = [0_u64; NODES as usize / 64];
    let word = usize::try_from(node / 64).unwrap_or(usize::MAX);
    *mask.get_mut(word).ok_or(io::ErrorKind::InvalidInput)? |= 1 << (node % 64);
    // SAFETY: the range is a mapping of ours, `mask` has as many bits as is
    // said (the kernel takes one less), and no page is moved or freed.
    let bound = unsafe {
        libc::syscall(
            libc::SYS_mbind,
            region.start(),
            region.bytes(),
            libc::MPOL_BIND,
            mask.as_ptr(),
            u64::from(NODES) + 1,
            0,
        )
    };
    if bound == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
