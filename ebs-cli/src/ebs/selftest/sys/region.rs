//! Memory whose pages are small, and touched when we say.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

/// Anonymous memory of this process alone, zeroed, gone when dropped. No
/// huge pages: each page of 4 KiB is one fault and one entry of a TLB.
#[derive(Debug)]
pub(in crate::ebs::selftest) struct Region {
    base: NonNull<c_void>,
    bytes: usize,
}

impl Region {
    /// So many bytes somewhere, no page of them touched yet.
    ///
    /// # Errors
    /// No room.
    pub(in crate::ebs::selftest) fn fresh(bytes: usize) -> io::Result<Region> {
        Region::map(None, bytes)
    }

    /// The same at that address.
    ///
    /// # Errors
    /// Something is there, or no room.
    pub(in crate::ebs::selftest) fn at(address: usize, bytes: usize) -> io::Result<Region> {
        Region::map(Some(address), bytes)
    }

    /// The same with each page touched.
    ///
    /// # Errors
    /// No room.
    pub(in crate::ebs::selftest) fn touched(bytes: usize) -> io::Result<Region> {
        let mut region = Region::fresh(bytes)?;
        region.bytes_mut().chunks_mut(4096).for_each(|page| {
            if let Some(first) = page.first_mut() {
                *first = 1;
            }
        });
        Ok(region)
    }

    fn map(address: Option<usize>, bytes: usize) -> io::Result<Region> {
        let (hint, flags) = match address {
            Some(address) => (address, MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE),
            None => (0, MapFlags::PRIVATE),
        };
        let hint = std::ptr::without_provenance_mut(hint);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: without FIXED the kernel takes free addresses only, and so
        // it does with FIXED_NOREPLACE: no memory in use is mapped over.
        let base = unsafe { mmap_anonymous(hint, bytes, protection, flags) }?;
        let Some(base) = NonNull::new(base) else { return Err(io::ErrorKind::OutOfMemory.into()) };
        let region = Region { base, bytes };
        // Kernels before 4.14 do not know the flag and take the address as a
        // hint.
        if address.is_some_and(|address| address != region.base.addr().get()) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // SAFETY: the range is the mapping that was just made. A kernel built
        // without huge pages refuses, and has none.
        let _without = unsafe { madvise(base.as_ptr(), bytes, Advice::LinuxNoHugepage) };
        Ok(region)
    }

    pub(in crate::ebs::selftest) fn start(&self) -> u64 {
        self.base.addr().get() as u64
    }

    pub(in crate::ebs::selftest) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub(in crate::ebs::selftest) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is readable, writable, zeroed and as long as
        // this, and nobody else has its address while we are borrowed.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr().cast(), self.bytes) }
    }

    /// Writes a word of 8 bytes at an offset; beyond the end it does nothing.
    pub(in crate::ebs::selftest) fn put(&mut self, offset: u64, word: u64) {
        let Ok(offset) = usize::try_from(offset) else { return };
        if let Some(place) = self.bytes_mut().get_mut(offset..offset.saturating_add(8)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing borrows it any more.
        let _unmapped = unsafe { munmap(self.base.as_ptr(), self.bytes) };
    }
}
