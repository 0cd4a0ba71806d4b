//! What the model is to see otherwise than the program has it.

mod parse;
mod row_order;

pub use parse::ObjectLayoutError;
pub use row_order::RowOrder;
use std::fmt;

pub(crate) const HUGE_PAGE: u64 = 2 << 20;
/// Behind the last address that a program has.
pub(crate) const BEYOND: u64 = 1 << 47;

/// An object of the program that lies otherwise in the model. The program runs
/// as it is, and samples have its own addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    pub start: u64,
    /// Its bytes; at least 1, and not more than 1 TiB.
    pub size: u64,
    pub change: LayoutChange,
}

/// One way to lay an object out anew. Sizes are in bytes, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a run has eight of them at most")]
pub enum LayoutChange {
    /// Each row is longer.
    Rows {
        /// Bytes of one.
        stride: u64,
        /// Bytes more.
        more: u64,
    },
    /// It begins at a multiple.
    Align(u64),
    /// Rows are a multiple of the first data cache's way apart, and each begins a
    /// line behind the one before, as many as there are sets: then from the
    /// start again.
    Colour {
        /// Bytes from one to the next.
        stride: u64,
    },
    /// A part of each row is in an array of its own.
    Split {
        /// Bytes of a row.
        stride: u64,
        /// First byte of the part in a row.
        from: u64,
        /// Behind its last one; not beyond the row.
        to: u64,
    },
    /// It begins at a multiple of 2 MiB, and its pages are so large.
    LargePages,
    /// Parts of so many bytes have lines of their own.
    Apart(u64),
    Order(RowOrder),
}

impl ObjectLayout {
    /// Objects that one run can have so.
    pub const MAX_OBJECTS: usize = 8;

    /// Of layouts of one run the first two that are about the same bytes, which have
    /// one place alone.
    #[must_use]
    pub fn overlapping(layouts: &[ObjectLayout]) -> Option<[ObjectLayout; 2]> {
        let end = |layout: &ObjectLayout| layout.start.saturating_add(layout.size);
        layouts.iter().enumerate().find_map(|(number, one)| {
            let before = layouts.iter().take(number);
            let same = |other: &&ObjectLayout| other.start < end(one) && one.start < end(other);
            Some([*before.into_iter().find(same)?, *one])
        })
    }

    /// Whether the pages that the model has for it are of 2 MiB whatever the
    /// program's are.
    pub(crate) fn has_large_pages(&self) -> bool {
        self.change == LayoutChange::LargePages
    }
}

impl fmt::Display for LayoutChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutChange::Rows { stride, more } => write!(f, "rows={stride}+{more}"),
            LayoutChange::Align(to) => write!(f, "align={to}"),
            LayoutChange::Colour { stride } => write!(f, "colour={stride}"),
            LayoutChange::Split { stride, from, to } => write!(f, "split={stride}:{from}..{to}"),
            LayoutChange::LargePages => f.write_str("pages=2m"),
            LayoutChange::Apart(bytes) => write!(f, "apart={bytes}"),
            LayoutChange::Order(order) => write!(f, "order={order}"),
        }
    }
}

impl fmt::Display for ObjectLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:#x}+{}", self.change, self.start, self.size)
    }
}

#[cfg(test)]
mod tests;
