//! Samples become rows of values, with their counts.

pub(crate) mod access;
pub(crate) mod access_shapes;
pub(crate) mod aggregates;
pub(crate) mod collector;
pub(crate) mod counters;
pub(crate) mod distribution;
pub(crate) mod event;
pub(crate) mod fields;
pub(crate) mod inclusive;
pub(crate) mod late_names;
pub(crate) mod members;
pub(crate) mod memory_change;
pub(crate) mod pending;
pub mod registers;
pub(crate) mod room;
pub(crate) mod row_count;
pub(crate) mod row_counter;
pub(crate) mod sample_holder;
pub(crate) mod sampled;
pub(crate) mod site_counts;
pub(crate) mod sum;
pub(crate) mod tally;
pub(crate) mod time_order;
pub(crate) mod weight;
