//! The accesses of instructions that make many of them.

use super::thread::ThreadContext;
use crate::block::{AccessKind, AccessSite, NARROW};
use crate::model::LINE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementAccess {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) write: bool,
    /// Elements of a string instruction that are done before it.
    pub(super) number: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ElementIter {
    kind: u8,
    /// Bytes of an element.
    size: u64,
    /// From one element of a string to the next.
    step: u64,
    /// Cuts addresses of a string.
    mask: u64,
    /// Elements in all, or up to the end of a part.
    count: u64,
    /// The next element times 2, plus 1 when it was read and is to be written.
    at: u64,
    /// Whether elements that stay within the lines of the one before are
    /// known to hit.
    batches: bool,
    description: u64,
}

const MOVE: u8 = AccessKind::Move as u8;
const FILL: u8 = AccessKind::Fill as u8;
const SCAN: u8 = AccessKind::Scan as u8;
const SCATTER: u8 = AccessKind::Scatter as u8;
const MASKED_LOAD: u8 = AccessKind::MaskedLoad as u8;
const MASKED_STORE: u8 = AccessKind::MaskedStore as u8;

pub(super) const RCX: usize = 1;
const RSI: usize = 6;
const RDI: usize = 7;
const DIRECTION: u64 = 1 << 10;
/// Bytes that are within reach or out of it together, whatever the pages.
const PAGE: u64 = 4096;

impl ElementIter {
    /// Goes on where PROGRESS says.
    pub(super) fn new(context: &ThreadContext<'_>, site: &AccessSite) -> ElementIter {
        let string = matches!(site.kind, MOVE | FILL | SCAN);
        let size = u64::from(site.size);
        let mask = if site.marks & NARROW != 0 { 0xffff_ffff } else { u64::MAX };
        let down = context.thread.flags & DIRECTION != 0;
        let description = u64::from(site.elements);
        let count = match site.kind {
            MOVE | FILL | SCAN => context.thread.registers.get(RCX).map_or(0, |rcx| rcx & mask),
            // One access from the first element to the last one.
            MASKED_LOAD | MASKED_STORE => 1,
            _ => description & 127,
        };
        let shape = &context.header.shape;
        let batches = string
            && shape.forward == 0
            && shape.l1d.ways > 1
            && (shape.dtlb.ways > 1 || !shape.dtlb.exists());
        ElementIter {
            kind: site.kind,
            size,
            step: if down { size.wrapping_neg() } else { size },
            mask,
            count,
            at: context.thread.runtime.progress,
            batches,
            description,
        }
    }

    pub(super) fn is_string(&self) -> bool {
        matches!(self.kind, MOVE | FILL | SCAN)
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn until(&mut self, number: u64) {
        self.count = number;
    }

    /// Elements of strings that lie in the same pages as the first one, which
    /// may lie in two by itself; and whether the one before the first began
    /// in another page.
    pub(super) fn in_pages(&self, context: &ThreadContext<'_>) -> (u64, bool) {
        let (mut elements, mut enters) = (self.count, false);
        let used = match self.kind {
            MOVE => [RSI, RDI],
            FILL => [RDI, RDI],
            _ => [RSI, RSI],
        };
        for register in used {
            let base = context.thread.registers.get(register).copied().unwrap_or(0);
            let address = base & self.mask;
            elements = elements.min(self.stays::<PAGE>(address));
            enters |= (address ^ address.wrapping_sub(self.step)) >= PAGE;
        }
        (elements, enters)
    }

    pub(super) fn writes(&self) -> bool {
        matches!(self.kind, FILL | SCATTER | MASKED_STORE)
    }

    pub(super) fn progress(&self) -> u64 {
        self.at
    }

    #[inline(always)]
    pub(super) fn next(&mut self, context: &ThreadContext<'_>) -> Option<ElementAccess> {
        match self.kind {
            MOVE | FILL | SCAN => self.string(context),
            MASKED_LOAD | MASKED_STORE => self.masked(context),
            _ => self.gathered(context),
        }
    }

    #[inline(always)]
    fn string(&mut self, context: &ThreadContext<'_>) -> Option<ElementAccess> {
        let number = self.at >> 1;
        if number >= self.count {
            return None;
        }
        let of = |register: usize| {
            let base = context.thread.registers.get(register).copied().unwrap_or(0);
            base.wrapping_add(number.wrapping_mul(self.step)) & self.mask
        };
        let write = self.kind == FILL || self.kind == MOVE && self.at & 1 != 0;
        let address = of(if write { RDI } else { RSI });
        if self.kind == MOVE && !write {
            self.at += 1;
            return Some(ElementAccess { address, size: self.size, write, number });
        }
        let mut whole = 1;
        if self.batches {
            whole = self.stays::<LINE>(address);
            if self.kind == MOVE {
                whole = whole.min(self.stays::<LINE>(of(RSI)));
            }
        }
        self.at = number.saturating_add(whole.max(1)) << 1;
        Some(ElementAccess { address, size: self.size, write, number })
    }

    /// Elements from this one on that lie in one block of so many bytes with
    /// it, and wholly; 1 when it does not itself.
    #[inline(always)]
    fn stays<const BLOCK: u64>(&self, address: u64) -> u64 {
        let place = address & (BLOCK - 1);
        let bytes = if self.step == self.size { BLOCK - place } else { place + self.size };
        // Sizes are powers of two.
        let within = place + self.size <= BLOCK;
        if within { bytes >> self.size.trailing_zeros() } else { 1 }
    }

    fn chosen(&self, context: &ThreadContext<'_>, number: u64) -> bool {
        let [_, mask, _] = &context.thread.vectors;
        if self.description >> 12 & 1 != 0 {
            return mask.first().is_some_and(|bits| bits >> (number & 63) & 1 != 0);
        }
        lane(mask, number, self.size) >> ((8 * self.size).wrapping_sub(1) & 63) & 1 != 0
    }

    fn gathered(&mut self, context: &ThreadContext<'_>) -> Option<ElementAccess> {
        while self.at >> 1 < self.count {
            let number = self.at >> 1;
            self.at += 2;
            if !self.chosen(context, number) {
                continue;
            }
            let size = 1 << (self.description >> 8 & 3);
            let [index, ..] = &context.thread.vectors;
            let unsigned = lane(index, number, size);
            let unused = 64_u64.saturating_sub(8 * size);
            let signed = (unsigned << (unused & 63)).cast_signed() >> (unused & 63);
            let scaled = signed.cast_unsigned() << (self.description >> 10 & 3);
            let address = context.thread.address.wrapping_add(scaled);
            let write = self.kind == SCATTER;
            return Some(ElementAccess { address, size: self.size, write, number: 0 });
        }
        None
    }

    fn masked(&mut self, context: &ThreadContext<'_>) -> Option<ElementAccess> {
        if self.at != 0 {
            return None;
        }
        self.at = 2;
        let elements = self.description & 127;
        let mut chosen = (0..elements).filter(|&number| self.chosen(context, number));
        let first = chosen.next()?;
        // Packed elements: as many as the mask has, one behind the other.
        if self.description >> 13 & 1 != 0 {
            let more = chosen.fold(0, |count, _| count + 1);
            let size = (1 + more) * self.size;
            let write = self.kind == MASKED_STORE;
            return Some(ElementAccess { address: context.thread.address, size, write, number: 0 });
        }
        let last = chosen.next_back().unwrap_or(first);
        Some(ElementAccess {
            address: context.thread.address.wrapping_add(first * self.size),
            size: (last + 1 - first) * self.size,
            write: self.kind == MASKED_STORE,
            number: 0,
        })
    }
}

/// An element of a vector register, by its number and size in bytes.
fn lane(vector: &[u64; 8], number: u64, size: u64) -> u64 {
    let bit = number.wrapping_mul(size).wrapping_mul(8);
    let word = usize::try_from(bit / 64).ok().and_then(|at| vector.get(at)).copied().unwrap_or(0);
    let kept = if size >= 8 { u64::MAX } else { (1 << (8 * size)) - 1 };
    word >> (bit & 63) & kept
}
