//! Layouts as text: `rows=2048+64@0x4bb000+512k`.

use super::{HUGE_PAGE, LayoutChange, ObjectLayout, RowOrder};
use crate::geometry::bytes;
use std::str::FromStr;

/// The largest object, and the largest number: what follows from both stays
/// within the model's room for one object.
const LARGEST: u64 = 1 << 40;
/// Rows may be so much longer in all: padding of many bytes for each byte.
const MAX_PADDING: u64 = 1 << 42;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectLayoutError {
    #[error(
        "{0:?} is no change of an object's layout; write rows=STRIDE+BYTES, align=BYTES, \
         colour=STRIDE, split=STRIDE:FROM..TO, pages=2m, apart=BYTES or order=STRIDE:FROM..TO/..."
    )]
    Change(String),
    #[error("{0:?} is no object; write START+SIZE behind the @, as in @0x4bb000+512k")]
    Object(String),
    #[error("{layout:?}: {what}")]
    Size { layout: String, what: String },
}

impl FromStr for LayoutChange {
    type Err = ObjectLayoutError;

    /// Sizes in bytes, also with k, m or g behind (powers of 1024).
    fn from_str(text: &str) -> Result<LayoutChange, ObjectLayoutError> {
        let lower = text.to_ascii_lowercase();
        let change = lower.split_once('=').and_then(|(name, value)| match name {
            "rows" => {
                let (stride, more) = value.split_once('+')?;
                Some(LayoutChange::Rows { stride: size(stride)?, more: size(more)? })
            }
            "align" => Some(LayoutChange::Align(size(value)?)),
            "colour" => Some(LayoutChange::Colour { stride: size(value)? }),
            "split" => {
                let (stride, part) = value.split_once(':')?;
                let (from, to) = part.split_once("..")?;
                Some(LayoutChange::Split {
                    stride: size(stride)?,
                    from: bytes(from)?,
                    to: size(to)?,
                })
            }
            "pages" => (bytes(value)? == HUGE_PAGE).then_some(LayoutChange::LargePages),
            "apart" => Some(LayoutChange::Apart(size(value)?)),
            "order" => Some(LayoutChange::Order(RowOrder::parse(value)?)),
            _ => None,
        });
        change.ok_or_else(|| ObjectLayoutError::Change(text.to_owned()))
    }
}

pub(super) fn size(text: &str) -> Option<u64> {
    bytes(text).filter(|size| (1..=LARGEST).contains(size))
}

impl FromStr for ObjectLayout {
    type Err = ObjectLayoutError;

    /// `CHANGE@START+SIZE`: the start in hexadecimal.
    fn from_str(text: &str) -> Result<ObjectLayout, ObjectLayoutError> {
        let (change, object) = text.split_once('@').unwrap_or((text, ""));
        let change = change.parse()?;
        let parts = object.strip_prefix("0x").and_then(|object| {
            let (start, length) = object.split_once('+')?;
            let start = u64::from_str_radix(start, 16).ok()?;
            Some((start, size(&length.to_ascii_lowercase())?))
        });
        let (start, size) = parts.ok_or_else(|| ObjectLayoutError::Object(object.to_owned()))?;
        let layout = ObjectLayout { start, size, change };
        match layout.objection() {
            None => Ok(layout),
            Some(what) => Err(ObjectLayoutError::Size { layout: text.to_owned(), what }),
        }
    }
}

impl ObjectLayout {
    fn objection(&self) -> Option<String> {
        let ObjectLayout { start, size, change } = *self;
        if start.checked_add(size).is_none_or(|end| end > super::BEYOND) {
            return Some(format!("programs have no memory from {:#x} on", super::BEYOND));
        }
        let stride = match change {
            LayoutChange::Rows { stride, .. }
            | LayoutChange::Colour { stride }
            | LayoutChange::Split { stride, .. }
            | LayoutChange::Apart(stride)
            | LayoutChange::Order(RowOrder { stride, .. }) => stride,
            LayoutChange::Align(to) => {
                let none = !to.is_power_of_two();
                return none.then(|| format!("{to} is no power of two"));
            }
            LayoutChange::LargePages => return None,
        };
        if stride > size {
            return Some(format!("rows of {stride} bytes are more than its {size}"));
        }
        let more = match change {
            LayoutChange::Split { from, to, .. } if from >= to || to > stride => {
                return Some(format!("{from}..{to} is no part of {stride} bytes"));
            }
            LayoutChange::Split { from, to, .. } if to - from == stride => {
                return Some(format!("{from}..{to} is all of it: nothing would be left"));
            }
            LayoutChange::Order(order) => match order.objection() {
                Some(what) => return Some(what),
                // Bytes of no piece are behind all rows.
                None => order.pitch,
            },
            LayoutChange::Rows { more, .. } => more,
            // Of any cache's way.
            LayoutChange::Colour { .. } => 1 << 24,
            _ => crate::model::LINE,
        };
        let rows = size.div_ceil(stride);
        let room = rows.checked_mul(stride.saturating_add(more));
        room.is_none_or(|room| room > MAX_PADDING)
            .then(|| format!("{rows} rows with {more} bytes more each are beyond the model's room"))
    }
}
