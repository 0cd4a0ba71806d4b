//! Where the model has objects that lie otherwise than in the program, and how
//! large pages are.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use super::{Setup, put};
use crate::geometry::Geometry;
use crate::model::{LARGE, LINE, Shape};
use crate::runtime::guest::header::Header;
use crate::runtime::guest::moved_object::{self, MovedObject, MovedPiece};
use crate::settings::{BEYOND, LARGE_PAGE, LayoutChange, ObjectLayout, RowOrder};

/// Log2 of the size of a large page.
const LARGE_SHIFT: u64 = LARGE_PAGE.trailing_zeros() as u64;
/// Room that an object has behind all programs.
const ROOM: u64 = 1 << 43;
/// Bits of an address that every level's sets, and large pages, go by.
const KEPT: u64 = (1 << 30) - 1;
const _: () = assert!(ObjectLayout::MOST == moved_object::MOST);
const _: () = assert!(RowOrder::MOST == moved_object::PIECES);

/// An object, and its pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct MovedLayout {
    object: MovedObject,
    /// They are large whatever the program has.
    is_large: bool,
}

impl MovedLayout {
    /// The range of its bytes in the model, those of a part elsewhere aside.
    fn range(&self, shift: u64) -> [u64; 3] {
        let MovedObject { start, end, stride, base, pitch, .. } = self.object;
        let rows = (end - start).div_ceil(stride);
        [base, base.saturating_add(rows.saturating_mul(pitch)), shift]
    }
}

impl Setup {
    /// Has the model see some objects in another layout.
    #[must_use]
    pub fn with_layouts(mut self, layouts: &[ObjectLayout], geometry: &Geometry) -> Setup {
        let numbered = (0..).zip(layouts.iter().take(ObjectLayout::MOST));
        let moved = numbered.map(|(number, layout)| MovedLayout {
            object: moved(layout, number, geometry),
            is_large: layout.has_large_pages(),
        });
        self.layouts = moved.collect();
        if !self.layouts.is_empty() {
            // The quick way asks for no layouts.
            self.shape.quick = 0;
        }
        self
    }

    pub(super) fn put_layouts(&self, words: &[AtomicU64]) {
        let at = offset_of!(Header, moved);
        let of_all = self.layouts.iter().flat_map(|layout| layout.object.words());
        for (number, word) in of_all.enumerate() {
            put(words, at + 8 * number, word);
        }
        let count = u64::try_from(self.layouts.len()).unwrap_or(0);
        put(words, offset_of!(Header, moves), count);
        if count > 0 {
            self.large_pages(words, &[]);
        }
    }

    /// Tells a space which ranges have pages that are not of 4 KiB: begin, end
    /// and log2 of the size of each, in their order. A thread that is in the
    /// runtime meanwhile may take a page for one of 4 KiB. False when there
    /// are too many: the last ones are left out.
    pub fn large_pages(&self, space: &[AtomicU64], ranges: &[[u64; 3]]) -> bool {
        let shape = offset_of!(Header, shape);
        put(space, shape + offset_of!(Shape, larges), 0);
        let used = ranges.len().min(LARGE - self.layouts.len());
        // They are behind all that the program has.
        let moved = self.layouts.iter().filter_map(|layout| {
            let here = |range: &&[u64; 3]| (range[0]..range[1]).contains(&layout.object.start);
            match layout.is_large {
                true => Some(layout.range(LARGE_SHIFT)),
                false => ranges.iter().find(here).map(|range| layout.range(range[2])),
            }
        });
        let all: Vec<[u64; 3]> = ranges.iter().take(used).copied().chain(moved).collect();
        for (at, &word) in all.iter().flatten().enumerate() {
            put(space, shape + offset_of!(Shape, large) + 8 * at, word);
        }
        put(space, shape + offset_of!(Shape, larges), u64::try_from(all.len()).unwrap_or(0));
        used == ranges.len()
    }
}

/// Where an object's bytes are for the model, when it is the `number`th of a run.
fn moved(layout: &ObjectLayout, number: u64, geometry: &Geometry) -> MovedObject {
    let region = BEYOND + number * ROOM;
    let base = region + (layout.start & KEPT);
    let whole = MovedObject {
        start: layout.start,
        end: layout.start.saturating_add(layout.size),
        stride: layout.size,
        base,
        pitch: layout.size,
        ..MovedObject::NONE
    };
    match layout.change {
        LayoutChange::Rows { stride, more } => {
            MovedObject { stride, pitch: stride.saturating_add(more), ..whole }
        }
        LayoutChange::Align(to) => MovedObject { base: base.next_multiple_of(to), ..whole },
        LayoutChange::Colour { stride } => {
            let colours = colours(geometry);
            let pitch = stride.saturating_add(colours.saturating_mul(LINE));
            MovedObject { stride, pitch, colours, shift: LINE, ..whole }
        }
        LayoutChange::Split { stride, from, to } => {
            let pitch = stride - (to - from);
            let rows = layout.size.div_ceil(stride);
            let hot_base = (base + rows * pitch).next_multiple_of(LINE);
            MovedObject { stride, pitch, hot: from, cold: to, hot_base, ..whole }
        }
        LayoutChange::LargePages => {
            MovedObject { base: base.next_multiple_of(LARGE_PAGE), ..whole }
        }
        LayoutChange::Order(order) => {
            let RowOrder { stride, pitch, .. } = order;
            let mut pieces = MovedObject::NONE.pieces;
            for (piece, told) in pieces.iter_mut().zip(order.told()) {
                *piece = MovedPiece { from: told.from, to: told.to, at: told.at };
            }
            let rows = layout.size.div_ceil(stride);
            let hot_base = (base + rows * pitch).next_multiple_of(LINE);
            MovedObject { stride, pitch, hot_base, in_pieces: 1, pieces, ..whole }
        }
        LayoutChange::Apart(stride) => {
            let base = base.next_multiple_of(LINE);
            MovedObject { stride, base, pitch: stride.next_multiple_of(LINE), ..whole }
        }
    }
}

/// Sets of the first data cache.
fn colours(geometry: &Geometry) -> u64 {
    geometry.l1d.map_or(1, |cache| (cache.bytes / LINE / cache.ways.max(1)).max(1))
}

#[cfg(test)]
mod tests;
