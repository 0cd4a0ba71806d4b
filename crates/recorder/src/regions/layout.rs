//! Words of the memory that both ends map.
//!
//! | word | what |
//! |---|---|
//! | 0 | [`MAGIC`] |
//! | 8 | marks that were begun to be written |
//! | 16 | marks that were read, or given up |
//! | 24 | marks that found no room |
//! | 32 on | [`SLOTS`] slots of [`SLOT`] words |
//!
//! A slot: number of its mark, from 1 on, written last; time, CLOCK_MONOTONIC
//! in ns; process and thread; side and length of the name; the name.

use perfdata::region::LONGEST_NAME;

pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"HMREGN1\0");

pub(super) const BEGUN: usize = 8;
pub(super) const READ: usize = 16;
pub(super) const NO_ROOM: usize = 24;
pub(super) const FRONT: usize = 32;

/// Marks that wait at most; a power of two.
pub(super) const SLOTS: usize = 1 << 15;
/// Words of one.
pub(super) const SLOT: usize = 4 + NAME;
/// Words of a name.
pub(super) const NAME: usize = (LONGEST_NAME + 1) / 8;

pub(super) const NUMBER: usize = 0;
pub(super) const TIME: usize = 1;
pub(super) const TASK: usize = 2;
pub(super) const WHAT: usize = 3;

pub(super) const WORDS: usize = FRONT + SLOTS * SLOT;

pub(super) const BEGIN: u64 = 1;
pub(super) const END: u64 = 2;

/// Where the slot of a mark begins, by its number from 0 on.
pub(super) fn slot(number: u64) -> usize {
    let index = usize::try_from(number % SLOTS as u64).unwrap_or(0);
    FRONT + index * SLOT
}
