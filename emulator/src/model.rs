//! A model of caches and TLBs: pure, without std, over slices that the
//! caller owns. It says of each access what hit, what missed and what it cost.

mod first;
mod shape;

pub use first::{First, Found};
pub use shape::{Level, Shape};

/// Size of a line in bytes.
pub const LINE: u64 = 64;
