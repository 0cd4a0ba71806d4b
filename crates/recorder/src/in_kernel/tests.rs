//! Real hits: page faults of this process.

#![allow(clippy::print_stderr, reason = "a test that skips says why")]

mod accepted;
mod aggregates;
mod callers;
mod choosing;
mod hits;
#[cfg(feature = "interleavings")]
mod interleavings;
mod refusals;
mod tracepoints;
