//! Standing sessions: sampling that the configuration asks for, for weeks.
//!
//! A worker of its own keeps each: finds the target, and finds it again after
//! it restarts; writes what is sampled into segments ([`crate::store`]); and
//! shows them, and what is sampled now, to those who may read.

mod follow;
mod history;
mod keeper;
mod process_table;
mod readers;
mod recorded_stream;
mod role;
mod spool;
mod target;
mod writer;

pub(crate) use follow::follow;
pub(crate) use keeper::{StandingSession, keep_sampling};
pub use role::{KernelCounting, StandingSpec, TargetDescription};
