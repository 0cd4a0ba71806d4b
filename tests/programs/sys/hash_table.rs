//! A hash table as hashbrown's, of typed.rs: its blocks hold two things.

use std::alloc::{Layout, alloc_zeroed};
use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};

use super::Pair;

/// Marks, and before them in the same block an entry for each, as hash tables have them.
pub(super) struct Table {
    pub(super) marks: *mut u8,
    pub(super) count: usize,
}

impl Table {
    pub(super) fn new(count: usize) -> Table {
        let (entry, mark) = (size_of::<Pair<u64>>(), size_of::<u8>());
        let layout = Layout::from_size_align(count * (entry + mark), 16).unwrap();
        // SAFETY: it has a size.
        let block = unsafe { alloc_zeroed(layout) };
        Table { marks: block.wrapping_add(count * entry), count }
    }

    pub(super) fn entry(&self, at: usize) -> *mut Pair<u64> {
        self.marks.cast::<Pair<u64>>().wrapping_sub(at + 1)
    }
}

#[inline(never)]
pub(super) fn fill(table: &Table) {
    for at in 0..table.count {
        // SAFETY: as many as there are.
        unsafe { *table.entry(at) = Pair { first: at as u64, second: 3 } };
    }
    // SAFETY: one for each.
    unsafe { table.marks.write_bytes(1, table.count) };
}

#[inline(never)]
pub(super) fn marked(table: &Table) -> u64 {
    let mut sum = 0;
    for group in (0..table.count).step_by(16) {
        // SAFETY: as many as there are, a whole number of groups; each x86-64 has SSE2.
        let mut left = unsafe {
            let marks = _mm_loadu_si128(table.marks.add(group).cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(marks, _mm_set1_epi8(1)))
        };
        while left != 0 {
            let entry = table.entry(group + left.trailing_zeros() as usize);
            // SAFETY: as above.
            sum += unsafe { (*entry).first + (*entry).second };
            left &= left - 1;
        }
    }
    sum
}
