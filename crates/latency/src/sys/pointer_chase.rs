//! Lines each of which holds the address of the next one.

use super::MemoryRegion;
use super::counted_loop::counted_loop;

/// Loads of one turn of the loop.
const UNROLLED: u64 = 8;

/// A circle of loads in a region: each load's address is what the one before
/// has loaded.
#[derive(Debug)]
pub(crate) struct PointerChase<'r> {
    region: &'r mut MemoryRegion,
    /// Where the next load goes: the address of a word of the circle.
    at: usize,
}

impl PointerChase<'_> {
    /// A circle through words at these offsets in turn, and back to the first
    /// one. Offsets are rounded down to whole words; of those beyond the end
    /// of the region there are none.
    pub(crate) fn new(
        region: &mut MemoryRegion,
        offsets: impl IntoIterator<Item = usize>,
    ) -> PointerChase<'_> {
        let start = region.start();
        let last = region.bytes() - size_of::<usize>();
        let whole = |offset: usize| offset.min(last) & !(size_of::<usize>() - 1);
        let mut offsets = offsets.into_iter().map(whole);
        let first = offsets.next().unwrap_or(0);
        let mut before = first;
        for offset in offsets {
            region.put(before, start + offset);
            before = offset;
        }
        region.put(before, start + first);
        PointerChase { region, at: start + first }
    }

    /// So many loads, rounded up to whole turns of the loop, from where the
    /// last ones ended; gives how many.
    pub(crate) fn chase(&mut self, loads: u64) -> u64 {
        let turns = loads.div_ceil(UNROLLED).max(1);
        // SAFETY: `at` is a word of the circle, each of which holds the
        // address of another one in the region, which is readable and
        // borrowed; nothing is written.
        unsafe {
            counted_loop!(
                turns,
                x86_64: [".rept 8", "mov {at}, [{at}]", ".endr"],
                aarch64: [".rept 8", "ldr {at}, [{at}]", ".endr"],
                at = inout(reg) self.at,
                options(readonly, nostack),
            );
        }
        turns * UNROLLED
    }

    /// The same of `N` walkers at once, each so many loads, from these
    /// offsets on, which are of the circle; they are where they came to then.
    pub(crate) fn chase_together<const N: usize>(&self, walkers: &mut [usize; N], loads: u64) {
        for _ in 0..loads {
            for walker in walkers.iter_mut() {
                *walker = self.region.get(*walker).wrapping_sub(self.region.start());
            }
        }
    }
}
