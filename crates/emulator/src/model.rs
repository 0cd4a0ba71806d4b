//! A model of caches and TLBs: pure, without std, over slices that the
//! caller owns. It says of each access what hit, what missed and what it cost.

mod ahead;
mod core;
mod directory;
mod first;
mod forward;
mod miss_reason;
mod order;
mod outcome;
mod owners;
mod pages;
mod prefetch;
mod quick;
mod seen_lines;
mod shadow;
mod shape;
mod stack;
mod uncore;

pub use self::core::{Core, DataAccess, LineTables, Table};
pub use miss_reason::MissReason;
pub use outcome::{
    AccessOutcome, CacheLevel, Events, LOADS, LineSource, STORES, TranslationSource,
};
pub use shadow::{ShadowShape, Shadows};
pub use shape::{AccessCosts, LevelShape, MAX_HUGE_PAGES, Shape};
pub use uncore::{SingleCoreUncore, Uncore};

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
mod tests {
    //! The model against a plain one, and against counts worked out by hand.

    mod machine;
    mod plain;
    mod random;
    mod stack;
    mod truth;
}
