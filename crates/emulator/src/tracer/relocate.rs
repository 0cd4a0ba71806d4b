//! Calls of the program that name memory of ours. Natively nothing is mapped
//! there, so ours goes elsewhere before such a call is made: the call finds
//! what it would find natively.

use std::ops::Range;

use super::buffers;
use super::engine::Engine;
use super::task::TaskError;
use crate::block;
use crate::sys::ptrace::TraceeRegisters;
use crate::sys::remote;

/// mmap(2): MAP_FIXED, MAP_FIXED_NOREPLACE.
const AT_ADDRESS: u64 = 0x10 | 0x10_0000;
/// mremap(2).
pub(super) const REMAP_FIXED: u64 = 2;
/// shmat(2).
const SHM_REMAP: u64 = 0o40_000;
/// shmctl(2).
const IPC_STAT: u64 = 2;
/// Where struct shmid64_ds has the size of the segment.
const SEGMENT_SIZE: usize = 48;

/// The calls that name memory of the program by its address and change it.
/// Those that only read it, or write what it holds, are not among them.
pub(crate) const MEMORY_CALLS: [i64; 14] = [
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_shmat,
    libc::SYS_shmdt,
    libc::SYS_remap_file_pages,
    libc::SYS_pkey_mprotect,
    libc::SYS_madvise,
    libc::SYS_process_madvise,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mseal,
    libc::SYS_brk,
];

impl Engine {
    /// Moves our memory out of the ranges that a call of [`MEMORY_CALLS`]
    /// names.
    pub(crate) fn relocate_for_call(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<(), TaskError> {
        for named in self.named_ranges(tid, guest)? {
            if self.is_ours(tid, &named)? {
                self.move_out_avoiding(tid, &named)?;
            }
        }
        Ok(())
    }

    fn named_ranges(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<Vec<Range<u64>>, TaskError> {
        let number = (guest.rax & 0xffff_ffff).cast_signed();
        let first = || range(guest.rdi, guest.rsi);
        let found: [Option<Range<u64>>; 2] = match number {
            libc::SYS_mmap if guest.r10 & AT_ADDRESS == 0 => [None, None],
            libc::SYS_mmap
            | libc::SYS_mprotect
            | libc::SYS_munmap
            | libc::SYS_remap_file_pages
            | libc::SYS_pkey_mprotect
            | libc::SYS_madvise
            | libc::SYS_mlock
            | libc::SYS_mlock2
            | libc::SYS_mseal => [first(), None],
            libc::SYS_mremap => {
                let to = (guest.r10 & REMAP_FIXED != 0).then(|| range(guest.r8, guest.rdx));
                // Nothing of a shared mapping makes another one of it.
                [range(guest.rdi, guest.rsi.max(1)), to.flatten()]
            }
            libc::SYS_shmat if guest.rdx & SHM_REMAP != 0 => {
                let size = self.segment_size(tid, guest.rdi)?;
                [size.and_then(|size| range(guest.rsi, size)), None]
            }
            libc::SYS_process_madvise => {
                let pieces = buffers::pieces(tid, guest.rsi, guest.rdx);
                return Ok(pieces.into_iter().map(|piece| pages(&piece)).collect());
            }
            _ => [None, None],
        };
        Ok(found.into_iter().flatten().collect())
    }

    /// Bytes of a segment of shared memory as the program sees it; None: it
    /// sees none.
    fn segment_size(&mut self, tid: i32, segment: u64) -> Result<Option<u64>, TaskError> {
        let (space, number) = self.block_of(tid)?;
        // At a call no instruction is under way that has vectors there.
        let to = space.address(space.block_offset(number) + block::VECTORS);
        let result =
            self.inject(tid, |calls| calls.call(libc::SYS_shmctl, &[segment, IPC_STAT, to]))?;
        let (space, number) = self.block_of(tid)?;
        Ok((result == 0).then(|| space.get(number, block::VECTORS + SEGMENT_SIZE)))
    }

    fn is_ours(&mut self, tid: i32, range: &Range<u64>) -> Result<bool, TaskError> {
        let ring = self.plan.ring.len() as u64;
        Ok(self.space_of(tid)?.overlaps(range.start, range.end, ring))
    }
}

/// The call of the 32-bit table that a thread is about to make by `int 0x80`,
/// as that of the 64-bit one would be made; None: another, or none that
/// changes memory.
pub(crate) fn narrow_call(tid: i32, guest: &TraceeRegisters) -> Option<TraceeRegisters> {
    let mut code = [0; 2];
    let read = remote::read(tid, guest.rip, &mut code);
    let is_call = read.is_ok_and(|read| read == code.len()) && code == [0xcd, 0x80];
    is_call.then(|| widened(guest)).flatten()
}

fn widened(guest: &TraceeRegisters) -> Option<TraceeRegisters> {
    // arch/x86/entry/syscalls/syscall_32.tbl.
    let number = match guest.rax & 0xffff_ffff {
        91 => libc::SYS_munmap,
        125 => libc::SYS_mprotect,
        150 => libc::SYS_mlock,
        163 => libc::SYS_mremap,
        192 => libc::SYS_mmap,
        219 => libc::SYS_madvise,
        257 => libc::SYS_remap_file_pages,
        376 => libc::SYS_mlock2,
        380 => libc::SYS_pkey_mprotect,
        397 => libc::SYS_shmat,
        462 => libc::SYS_mseal,
        _ => return None,
    };
    let [rdi, rsi, rdx, r10, r8] =
        [guest.rbx, guest.rcx, guest.rdx, guest.rsi, guest.rdi].map(|word| word & 0xffff_ffff);
    Some(TraceeRegisters { rax: number.cast_unsigned(), rdi, rsi, rdx, r10, r8, ..*guest })
}

/// The pages of a range; None where it is empty or wraps, which the kernel
/// refuses or does nothing for.
fn range(start: u64, length: u64) -> Option<Range<u64>> {
    let end = start.checked_add(length)?;
    (length != 0).then(|| pages(&(start..end)))
}

/// The whole pages of a range.
pub(super) fn pages(range: &Range<u64>) -> Range<u64> {
    use super::maps::PAGE;
    range.start & !(PAGE - 1)..range.end.checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_range_names_nothing() {
        assert_eq!(range(0x1000, 0), None);
        assert_eq!(range(0x1000, u64::MAX), None);
        assert_eq!(range(0x1fff, 2), Some(0x1000..0x3000));
        assert_eq!(range(u64::MAX - 1, 1), Some(!0xfff..u64::MAX));
    }
}
