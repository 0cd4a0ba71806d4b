//! The caches and TLBs that are modelled.

use crate::model::{Level, Shape};

/// Sizes and ways of each level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Geometry {}

impl Geometry {
    /// Where each structure lies in the model's memory.
    pub fn shape(&self) -> Shape {
        let l1d = Level { sets: 64, ways: 8, start: 0 };
        Shape { l1d, ..Shape::default() }
    }
}
