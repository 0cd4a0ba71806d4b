//! A model of caches and TLBs: pure, without std, over slices that the
//! caller owns. It says of each access what hit, what missed and what it cost.

mod ahead;
mod core;
mod directory;
mod first;
mod forward;
mod order;
mod outcome;
mod outside;
mod owners;
mod pages;
mod pages_seen;
mod prefetch;
mod quick;
mod reason;
mod shadow;
mod shape;
mod stack;

pub use self::core::{Core, DataAccess, LineTables, Table};
pub use outcome::{AccessOutcome, CacheLevel, Events, LOADS, LineHolder, PageHolder, STORES};
pub use outside::{Alone, Outside};
pub use reason::MissReason;
pub use shadow::{ShadowShape, Shadows};
pub use shape::{Costs, LARGE, LevelShape, Shape};

/// Size of a line in bytes.
pub const LINE: u64 = 64;

/// Bits of a line's word below its address: its state; 0 when there is none.
const STATE: u64 = 3;
const SHARED: u64 = 1;
/// Held by this thread's caches alone, as it is in memory.
const EXCLUSIVE: u64 = 2;
const MODIFIED: u64 = 3;

/// An index from a count of words: these always fit.
#[inline(always)]
fn word(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// Whether a word is that of a line, in whatever state.
#[inline(always)]
fn is(entry: u64, line: u64) -> bool {
    (entry ^ line).wrapping_sub(1) < STATE
}

#[cfg(test)]
mod tests;
