//! Samples become rows of atoms, with their counts.

pub(crate) mod access;
pub(crate) mod access_totals;
pub(crate) mod addresses;
pub(crate) mod aggregates;
pub(crate) mod by_line;
pub(crate) mod counters;
pub(crate) mod distribution;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod held;
pub(crate) mod inclusive;
pub(crate) mod members;
pub(crate) mod miss_streams;
pub mod registers;
pub(crate) mod room;
pub(crate) mod row_count;
pub(crate) mod row_counter;
pub(crate) mod sampled;
pub(crate) mod sampling;
pub(crate) mod shared_lines;
pub(crate) mod site_counts;
pub(crate) mod spots;
pub(crate) mod tally;
pub(crate) mod two_rounds;
pub(crate) mod weight;
