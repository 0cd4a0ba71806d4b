//! Keeps the model's page sizes as the program's mappings have them.
//!
//! They are looked at when a thread is taken hold of, and after each call
//! that can change them. A transparent large page comes with the first access
//! to it, which the model sees before the kernel does: blocks that are empty
//! and may have one are taken for large.

use std::ops::Range;

use super::engine::{AddressSpace, Engine};
use super::smaps::{self, BLOCK, TransparentHugePages};
use super::task::TaskError;
use crate::model::MAX_HUGE_PAGES;
use crate::sys::ptrace::TraceeRegisters;

/// mmap(2): MAP_HUGETLB, MAP_ANONYMOUS.
const HUGETLB: u64 = 0x4_0000;
const ANONYMOUS: u64 = 0x20;
/// madvise(2).
const MADV_HUGEPAGE: u64 = 14;

impl Engine {
    fn has_pages(&self) -> bool {
        self.plan.setup.has_tlb()
    }

    pub(crate) fn follows_heap(&self) -> bool {
        self.plan.settings.data_mappings
            || self.has_pages() && self.plan.transparent == TransparentHugePages::Always
    }

    /// A mapping was made at `start` by the call in `guest`.
    pub(crate) fn pages_mapped(
        &mut self,
        tid: i32,
        start: u64,
        guest: &TraceeRegisters,
    ) -> Result<(), TaskError> {
        let (length, flags) = (guest.rsi, guest.r10);
        // A file's, on hugetlbfs.
        let aligned = start.is_multiple_of(BLOCK) && length.is_multiple_of(BLOCK);
        let named = flags & HUGETLB != 0 || flags & ANONYMOUS == 0 && aligned;
        self.pages_changed(tid, start..start.saturating_add(length), named)
    }

    /// The program has given advice on a range: `guest` is as at the call.
    pub(crate) fn pages_advised(
        &mut self,
        tid: i32,
        guest: &TraceeRegisters,
    ) -> Result<(), TaskError> {
        if guest.rdx == MADV_HUGEPAGE {
            self.memory_of(tid)?.page_sizes.asked = true;
        }
        self.pages_changed(tid, guest.rdi..guest.rdi.saturating_add(guest.rsi), false)
    }

    /// The heap ends at an address now. Where it ended before; None: that was
    /// not known.
    pub(crate) fn heap_moved(&mut self, tid: i32, end: u64) -> Result<Option<u64>, TaskError> {
        let before = std::mem::replace(&mut self.memory_of(tid)?.page_sizes.heap, end);
        if before == 0 {
            return Ok(None);
        }
        self.pages_changed(tid, before.min(end)..before.max(end), false)?;
        Ok(Some(before))
    }

    /// Mappings of a range are not what they were. `named`: it has pages of
    /// its own size, perhaps.
    pub(crate) fn pages_changed(
        &mut self,
        tid: i32,
        range: Range<u64>,
        named: bool,
    ) -> Result<(), TaskError> {
        let sizes = &self.memory_of(tid)?.page_sizes;
        let had = sizes.ranges.iter().any(|large| large[0] < range.end && range.start < large[1]);
        let asked = match self.plan.transparent {
            TransparentHugePages::Always => true,
            TransparentHugePages::Madvise => self.memory_of(tid)?.page_sizes.asked,
            TransparentHugePages::Never => false,
        };
        let block = range.start.checked_next_multiple_of(BLOCK);
        let may =
            block.and_then(|block| block.checked_add(BLOCK)).is_some_and(|end| end <= range.end);
        if had || named || may && asked { self.look_at_pages(tid) } else { Ok(()) }
    }

    /// Reads the sizes of all pages, and tells the model if they changed.
    pub(crate) fn look_at_pages(&mut self, tid: i32) -> Result<(), TaskError> {
        if !self.has_pages() {
            return Ok(());
        }
        let mut ranges = smaps::huge_page_ranges(tid).map_err(|_| TaskError::Gone)?;
        if ranges.len() > MAX_HUGE_PAGES {
            // The largest ones matter most.
            ranges.sort_unstable_by_key(|range| std::cmp::Reverse(range[1] - range[0]));
            ranges.truncate(MAX_HUGE_PAGES);
            ranges.sort_unstable();
        }
        let sizes = &mut self.memory_of(tid)?.page_sizes;
        sizes.asked |= !ranges.is_empty();
        if sizes.ranges != ranges {
            sizes.ranges = ranges;
            self.update_page_sizes(tid)?;
        }
        Ok(())
    }

    pub(crate) fn update_page_sizes(&mut self, tid: i32) -> Result<(), TaskError> {
        let memory = self.task(tid)?.memory;
        let of = self.memories.get(&memory).ok_or(TaskError::Gone)?;
        if let (Some(space), Some(slot)) = (self.spaces.get(&of.space), of.slot) {
            self.plan.setup.huge_page_ranges(space.slot_words(slot), &of.page_sizes.ranges);
        }
        Ok(())
    }

    fn memory_of(&mut self, tid: i32) -> Result<&mut AddressSpace, TaskError> {
        let memory = self.task(tid)?.memory;
        self.memories.get_mut(&memory).ok_or(TaskError::Gone)
    }
}
