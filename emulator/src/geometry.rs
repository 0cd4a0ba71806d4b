//! The caches and TLBs that are modelled.

/// Sizes and ways of each level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Geometry {}
