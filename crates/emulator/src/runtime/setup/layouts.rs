//! Where the model has objects that lie otherwise than in the program, and how
//! large pages are.

use std::mem::offset_of;
use std::sync::atomic::AtomicU64;

use super::{RuntimeSetup, put};
use crate::geometry::Geometry;
use crate::model::{LINE, MAX_HUGE_PAGES, Shape};
use crate::runtime::guest::header::Header;
use crate::runtime::guest::moved_object::{self, MovedObject, MovedPiece};
use crate::settings::{BEYOND, HUGE_PAGE, LayoutChange, ObjectLayout, RowOrder};

/// Log2 of the size of a large page.
const HUGE_PAGE_SHIFT: u64 = HUGE_PAGE.trailing_zeros() as u64;
/// Room that an object has behind all programs.
const ROOM: u64 = 1 << 43;
/// Bits of an address that every level's sets, and large pages, go by.
const KEPT: u64 = (1 << 30) - 1;
const _: () = assert!(ObjectLayout::MAX_OBJECTS == moved_object::MAX_OBJECTS);
const _: () = assert!(RowOrder::MAX_PIECES == moved_object::PIECES);

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

impl RuntimeSetup {
    #[must_use]
    pub fn with_layouts(mut self, layouts: &[ObjectLayout], geometry: &Geometry) -> RuntimeSetup {
        let numbered = (0..).zip(layouts.iter().take(ObjectLayout::MAX_OBJECTS));
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
            self.huge_page_ranges(words, &[]);
        }
    }

    /// Tells a space which ranges have pages that are not of 4 KiB: begin, end
    /// and log2 of the size of each, in their order. A thread that is in the
    /// runtime meanwhile may take a page for one of 4 KiB. False when there
    /// are too many: the last ones are left out.
    pub fn huge_page_ranges(&self, space: &[AtomicU64], ranges: &[[u64; 3]]) -> bool {
        let shape = offset_of!(Header, shape);
        put(space, shape + offset_of!(Shape, huge_pages), 0);
        let used = ranges.len().min(MAX_HUGE_PAGES - self.layouts.len());
        // They are behind all that the program has.
        let moved = self.layouts.iter().filter_map(|layout| {
            let here = |range: &&[u64; 3]| (range[0]..range[1]).contains(&layout.object.start);
            match layout.is_large {
                true => Some(layout.range(HUGE_PAGE_SHIFT)),
                false => ranges.iter().find(here).map(|range| layout.range(range[2])),
            }
        });
        let all: Vec<[u64; 3]> = ranges.iter().take(used).copied().chain(moved).collect();
        for (at, &word) in all.iter().flatten().enumerate() {
            put(space, shape + offset_of!(Shape, large) + 8 * at, word);
        }
        put(space, shape + offset_of!(Shape, huge_pages), u64::try_from(all.len()).unwrap_or(0));
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
        LayoutChange::LargePages => MovedObject { base: base.next_multiple_of(HUGE_PAGE), ..whole },
        LayoutChange::Order(order) => {
            let RowOrder { stride, pitch, .. } = order;
            let mut pieces = MovedObject::NONE.pieces;
            for (piece, row_piece) in pieces.iter_mut().zip(order.pieces()) {
                *piece = MovedPiece { from: row_piece.from, to: row_piece.to, at: row_piece.at };
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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn layout(text: &str) -> ObjectLayout {
        text.parse().unwrap()
    }

    /// Where the model has some bytes of an object, from where its first one is.
    fn offsets(text: &str, bytes: &[u64]) -> Vec<i64> {
        let layout = layout(text);
        let object = moved(&layout, 0, &Geometry::default());
        let first = object.place(layout.start).unwrap().cast_signed();
        let place = |at: &u64| object.place(layout.start + at).unwrap().cast_signed() - first;
        bytes.iter().map(place).collect()
    }

    #[test]
    fn bytes_are_where_the_changed_program_would_have_them() {
        let rows = offsets("rows=2048+64@0x4bb000+512k", &[0, 2047, 2048, 4096 + 8]);
        assert_eq!(rows, [0, 2047, 2112, 2 * 2112 + 8]);
        // 64 sets: a way is 4 KiB.
        let colours = offsets("colour=8192@0x4bb000+1m", &[0, 8192, 8192 * 65 + 8]);
        assert_eq!(colours, [0, 8192 + 4096 + 64, 65 * (8192 + 4096) + 64 + 8]);
        // The part is behind the rest of all rows: 100 times 56 bytes.
        let split = offsets("split=64:8..16@0x40000000+6400", &[0, 7, 16, 64, 8, 15, 64 + 8]);
        assert_eq!(split, [0, 7, 8, 56, 5632, 5632 + 7, 5632 + 8]);
        assert_eq!(offsets("apart=8@0x40000010+16", &[0, 7, 8, 15]), [0, 7, 64, 71]);
        // Rows of 24 bytes, of which 8..16 are in no piece, behind two of 28.
        let order =
            offsets("order=24:16..24/4/0..8/8@0x40000000+48", &[16, 0, 7, 24 + 16, 8, 24 + 15]);
        let first = order[0];
        let from_row: Vec<i64> = order.iter().map(|at| at - first).collect();
        assert_eq!(from_row, [0, 12, 19, 28, 64 + 8, 64 + 24 + 15]);
        let begins = |text: &str| {
            let layout = layout(text);
            moved(&layout, 3, &Geometry::default()).place(layout.start).unwrap()
        };
        assert_eq!(begins("rows=8+8@0x4bb018+512k") % (1 << 30), 0x4b_b018, "as it was");
        assert_eq!(begins("align=64@0x4bb018+512k") % (1 << 30), 0x4b_b040);
        assert_eq!(begins("pages=2m@0x4bb018+512k") % (1 << 30), 0x60_0000);
        let object = moved(&layout("align=64@0x4bb018+512k"), 0, &Geometry::default());
        assert_eq!(object.place(0x4b_b017), None);
        assert_eq!(object.place(0x4b_b018 + (512 << 10)), None);
    }

    fn change() -> impl Strategy<Value = LayoutChange> {
        let stride = 1_u64..300;
        prop_oneof![
            (stride.clone(), 1_u64..100)
                .prop_map(|(stride, more)| LayoutChange::Rows { stride, more }),
            (0_u32..12).prop_map(|power| LayoutChange::Align(1 << power)),
            stride.clone().prop_map(|stride| LayoutChange::Colour { stride }),
            (2_u64..300, any::<(u64, u64)>()).prop_map(|(stride, (from, length))| {
                let from = from % stride;
                let to = from + 1 + length % (stride - from);
                let to = if from == 0 { to.min(stride - 1) } else { to };
                LayoutChange::Split { stride, from, to }
            }),
            Just(LayoutChange::LargePages),
            stride.clone().prop_map(LayoutChange::Apart),
            (stride, 1_u64..70, 1_u64..70).prop_map(|(stride, cut, more)| {
                let cut = cut.min(stride - 1);
                let text = match cut {
                    0 => format!("order={stride}:0..{stride}/{more}"),
                    _ => format!("order={stride}:{cut}..{stride}/{more}/0..{cut}"),
                };
                text.parse().unwrap()
            }),
        ]
    }

    proptest! {
        /// No two bytes of objects are in one place, none in a program's, and what
        /// is shown is read.
        #[test]
        fn each_byte_has_a_place_of_its_own(
            changes in prop::collection::vec((change(), 0_u64..1 << 40, 300_u64..2000), 1..4),
        ) {
            let mut taken = HashMap::new();
            for (number, &(change, start, size)) in (0..).zip(&changes) {
                let layout = ObjectLayout { start, size, change };
                prop_assert_eq!(layout.to_string().parse(), Ok(layout));
                let object = moved(&layout, number, &Geometry::default());
                for at in 0..size {
                    let place = object.place(start + at).unwrap();
                    prop_assert!((1 << 47..1 << 48).contains(&place), "{:#x}", place);
                    prop_assert_eq!(taken.insert(place, (number, at)), None);
                }
            }
        }
    }
}
